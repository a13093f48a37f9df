"""Session files: sealed, read, migrated, written in one piece."""

import json
import os
import time
from collections.abc import Hashable, Iterator
from pathlib import Path

from pydantic import ValidationError

from runner.autonomy.enums import SCHEMA_VERSION
from runner.autonomy.integrity import SealBrokenError
from runner.autonomy.migrations import Json, MigrationError, migrate
from runner.autonomy.models import SessionState
from runner.autonomy.spec.source import CLOCK_TICK_NS
from runner.autonomy.store.anchors import Anchors
from runner.autonomy.store.layout import Layout, is_session_id
from runner.autonomy.store.port import SessionVanishedError
from runner.autonomy.store.regular import is_replaced, read_regular
from runner.autonomy.store.trust import Sealer
from runner.errors import StateCorruptError, StateError
from runner.files import write_atomic, write_error


class SessionFiles:
    """The session files of one workspace. Locking is the caller's business.

    A live session whose file was deleted is still one of them, and a damaged one.
    """

    def __init__(self, layout: Layout, sealer: Sealer, anchors: Anchors) -> None:
        self._layout = layout
        self._sealer = sealer
        self._anchors = anchors

    def read(self, session_id: str) -> SessionState | None:
        """Return the session, None when there is none.

        Raises:
            StateCorruptError: the file is damaged, belongs to another session, or was deleted
                although the session is live (SessionVanishedError when its journal is gone,
                too); SealBrokenError when it was changed from outside.
            MigrationError: it has a schema that this program can't bring to its own.
            StateError: it can't be read now.
        """
        path = self._layout.session(session_id)
        try:
            content = read_regular(path)
        except FileNotFoundError:
            if not self._is_anchored(session_id):
                return None
            kind = SessionVanishedError if self.has_vanished(session_id) else StateCorruptError
            raise kind(
                f"{path} was deleted, but its session is not over.",
                hint="Restore it, make it anew with runner session resume --force, or give it up: "
                f"runner session reset --session-id {session_id}",
            ) from None
        except OSError as error:
            raise _unreadable(session_id, path, error) from error
        opened = self._sealer.open(content)
        if opened is None:
            raise _unsealed(content, path)
        state = parse_state(opened, path)
        if state.id != session_id:
            raise StateCorruptError(f"{path} holds another session, {state.id}.")
        return state

    def write(self, state: SessionState) -> None:
        """Replace the session's file. Raises StateWriteError; the old state stands then."""
        path = self._layout.session(state.id)
        try:
            if not os.path.isdir(self._layout.sessions):  # noqa: PTH112 - a third of the cost
                path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(path, error) from error
        content = state.model_dump_json(by_alias=True).encode("utf-8", "surrogatepass")
        write_atomic(path, self._sealer.close(content))

    def delete(self, session_id: str) -> None:
        """Remove the session's file, if it is there. Raises StateWriteError."""
        path = self._layout.session(session_id)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise write_error(path, error) from error

    def exists(self, session_id: str) -> bool:
        return os.path.lexists(self._layout.session(session_id)) or self._is_anchored(session_id)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all sessions, in no particular order."""
        found = set()
        if self._layout.sessions.is_dir():
            for path in self._layout.sessions.iterdir():
                if path.suffix == ".json" and is_session_id(path.stem):
                    found.add(path.stem)
        yield from found
        yield from (name for name, _ in self._anchors.live(besides=found))

    def stamps(self) -> Iterator[tuple[str, Hashable | None]]:
        """Yield the sessions, each with what its file's metadata says. Raises OSError.

        No stamp for a file that was just written: it may change again within a tick of the clock.
        """
        folder, seen = self._layout.sessions, set()
        if not folder.is_dir():
            return
        settled = time.time_ns() - CLOCK_TICK_NS
        with os.scandir(folder) as entries:
            for entry in entries:
                name, dot, kind = entry.name.partition(".")
                if (dot, kind) != (".", "json") or not is_session_id(name):
                    continue
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                seen.add(name)
                stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
                yield name, stamp if found.st_mtime_ns < settled else None
        yield from ((name, None) for name, _ in self._anchors.live(besides=seen))

    def has_vanished(self, session_id: str) -> bool:
        """Whether nothing at all is left of a session, as after `git clean`."""
        left = (self._layout.session(session_id), self._layout.journal(session_id))
        return not any(map(os.path.lexists, left))

    def _is_anchored(self, session_id: str) -> bool:
        anchor = self._anchors.read(session_id)
        return anchor is not None and anchor.live


def parse_state(content: bytes, path: Path) -> SessionState:
    """Return the session that a file's bytes say, migrated to the current schema."""
    try:
        state = SessionState.model_validate_json(content)
    except ValidationError:
        return _parse_slowly(content, path)
    return state if state.schema_version == SCHEMA_VERSION else _parse_slowly(content, path)


def _unreadable(session_id: str, path: Path, error: OSError) -> StateError:
    """Return why a file can't be read: something else stands in its place, or for the moment."""
    if is_replaced(error):
        return StateCorruptError(
            f"{path} is no regular file any more.",
            hint="Take away what stands there, then restore the file, or give the session up: "
            f"runner session reset --session-id {session_id}",
        )
    return StateError(
        f"{path} can't be read: {error.strerror}.",
        hint="Check the owner and permissions of the file and its folder, and the disk; then try "
        "again.",
    )


def _unsealed(content: bytes, path: Path) -> Exception:
    """Return what is wrong with a file whose seal is missing or does not fit."""
    try:
        _document(content, path)
    except (StateCorruptError, MigrationError) as error:
        return error
    return SealBrokenError(
        f"{path} was changed from outside, or comes from another place, user or machine.",
        path.stem,
    )


def _parse_slowly(content: bytes, path: Path) -> SessionState:
    """Find out what is wrong with a file, or bring an old one up to date."""
    migrated = _document(content, path)
    try:
        return SessionState.model_validate_json(json.dumps(migrated))
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise StateCorruptError(f"{path} is damaged: {place or 'a value'} is wrong.") from error


def _document(content: bytes, path: Path) -> Json:
    """Return the JSON of a file in the current schema."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StateCorruptError(f"{path} is damaged: it is no JSON.") from error
    if not isinstance(document, dict):
        raise StateCorruptError(f"{path} is damaged: it is no JSON object.")
    try:
        return migrate(document)
    except MigrationError as error:
        raise MigrationError(f"{path}: {error.message}", hint=error.hint) from error
