"""Which session is the live one of a spec.

The entry is written before the session's file. An entry that points to no session, or to a
terminal one, is stale and may be replaced; so a session without an entry cannot come about.
"""

import json
from collections.abc import Callable
from pathlib import Path

from runner.autonomy.calls import seconds_left
from runner.autonomy.store.layout import Layout, is_session_id
from runner.autonomy.store.regular import is_replaced, read_regular
from runner.errors import StateCorruptError, StateError
from runner.files import locked, write_atomic, write_error

Entries = dict[str, str]


class ActiveIndex:
    """Spec id → session id, in one file under its own lock, which is always taken last.

    Args:
        layout: the workspace's files.
        rebuild: what to fill the index with when its file is gone.
        lock_timeout: seconds to wait for another writer.
    """

    def __init__(self, layout: Layout, rebuild: Callable[[], Entries], lock_timeout: float) -> None:
        self._layout = layout
        self._rebuild = rebuild
        self._lock_timeout = lock_timeout

    def read(self) -> Entries:
        """Return all entries, stale ones included.

        Raises:
            StateCorruptError: the file is damaged. It fails closed: no session can be started.
        """
        path = self._layout.index
        try:
            return _parse(read_regular(path), path)
        except FileNotFoundError:
            return self._rebuild()
        except OSError as error:
            if is_replaced(error):
                raise _damaged(path) from error
            raise StateError(
                f"{path} can't be read: {error.strerror}.",
                hint="Check the owner and permissions of the file and its folder, and the disk; "
                "then try again.",
            ) from error

    def put(self, spec_id: str, session_id: str) -> None:
        """Make the session the live one of its spec. Raises StateWriteError."""
        self._change(lambda entries: {**entries, spec_id: session_id})

    def remove(self, spec_id: str, session_id: str) -> None:
        """Take the entry out, if it still points to that session. Raises StateWriteError.

        A missing index is not recreated here: reading rebuilds it from the sessions.
        """
        if not self._layout.index.exists() or self.read().get(spec_id) != session_id:
            return

        def without(entries: Entries) -> Entries:
            gone = (spec_id, session_id)
            return {spec: session for spec, session in entries.items() if (spec, session) != gone}

        self._change(without)

    def _change(self, change: Callable[[Entries], Entries]) -> None:
        path = self._layout.index
        with locked(self._layout.index_lock, seconds_left(self._lock_timeout)):
            changed = change(self.read())
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise write_error(path, error) from error
            document = {"_schema_version": 1, "active": changed}
            write_atomic(path, json.dumps(document, indent=2, sort_keys=True) + "\n")


def _parse(content: bytes, path: Path) -> Entries:
    try:
        document = json.loads(content)
        active = document["active"]
        if document["_schema_version"] == 1 and all(map(is_session_id, active.values())):
            return dict(active)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise _damaged(path)


def _damaged(path: Path) -> StateCorruptError:
    return StateCorruptError(
        f"{path} is damaged.", hint="Remove it; it is built again from the sessions."
    )
