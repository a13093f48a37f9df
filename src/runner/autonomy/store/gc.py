"""Remove what is no longer needed: expired sessions, orphaned locks, leftovers of crashes.

Runs outside every lock of a request, takes each lock it needs without waiting, and leaves
alone whatever is held.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from runner.autonomy.calls import note_collected
from runner.autonomy.enums import SessionStatus
from runner.autonomy.models import SessionState
from runner.autonomy.store.index import ActiveIndex
from runner.autonomy.store.layout import Layout
from runner.autonomy.store.sessions import SessionFiles
from runner.errors import LockTimeoutError, RunnerError
from runner.files import locked, sweep_temporary

TERMINAL_DAYS = 7
FAILED_DAYS = 30


class Collector:
    """Collects the garbage of one workspace.

    Args:
        layout: the workspace's files.
        files: its sessions.
        index: its active index.
        forget: removes what else there is of a session, each by its id.
    """

    def __init__(
        self,
        layout: Layout,
        files: SessionFiles,
        index: ActiveIndex,
        forget: Sequence[Callable[[str], None]] = (),
    ) -> None:
        self._layout = layout
        self._files = files
        self._index = index
        self._forget = forget

    def collect(self, now: datetime) -> int:
        """Remove what has expired, and return how many sessions that were. Never raises."""
        removed = 0
        with contextlib.suppress(OSError):
            self._sweep_leftovers()
        for session_id in list(self._files.ids()):
            with contextlib.suppress(RunnerError, OSError):
                removed += self._remove_if_expired(session_id, now)
        with contextlib.suppress(RunnerError, OSError):
            self._remove_orphaned_locks()
        with contextlib.suppress(OSError):
            self._remove_orphaned_records(now)
        return removed

    def _sweep_leftovers(self) -> None:
        """Remove half-written session files; nobody else writes while the lock is held."""
        for path in self._layout.sessions.glob(".auto_*.json.*.tmp"):
            session_id = path.name[1:].split(".", 1)[0]
            with contextlib.suppress(RunnerError), _free(self._layout.session_lock(session_id)):
                path.unlink(missing_ok=True)

    def _remove_if_expired(self, session_id: str, now: datetime) -> int:
        state = self._files.read(session_id)
        if state is None or not has_expired(state, now):
            return 0
        with _free(self._layout.session_lock(session_id)):
            state = self._files.read(session_id)
            if state is None or not has_expired(state, now):
                return 0
            self._index.remove(state.spec_id, session_id)
            self._layout.journal(session_id).unlink(missing_ok=True)
            for forget in self._forget:
                forget(session_id)
            self._files.delete(session_id)
            note_collected(state.status)
        return 1

    def _remove_orphaned_records(self, now: datetime) -> None:
        """Remove what is left of sessions that were reset, when they would have expired."""
        sessions = set(self._files.ids())
        limit = (now - timedelta(days=FAILED_DAYS)).timestamp()
        root = self._layout.root
        reviews, receipts = root.glob("reviews/auto_*-*.md"), root.glob("receipts/auto_*-*.json")
        for path in (*self._layout.journals.glob("auto_*.jsonl"), *reviews, *receipts):
            owner = path.stem.partition("-")[0]
            with contextlib.suppress(FileNotFoundError):
                if owner not in sessions and path.lstat().st_mtime < limit:
                    path.unlink()

    def _remove_orphaned_locks(self) -> None:
        """Remove locks of sessions and specs that have no session any more.

        Removing a lock's file while holding it is safe: a process that opened it before and gets the
        lock afterwards sees that the file is gone, and starts over.
        """
        sessions = set(self._files.ids())
        specs = set(self._index.read())
        for path in list(self._layout.locks.glob("session_auto_*.lock")):
            if path.stem.removeprefix("session_") not in sessions:
                _remove_free_lock(path)
        for path in list(self._layout.locks.glob("spec_*.lock")):
            if path.stem.removeprefix("spec_") not in specs:
                _remove_free_lock(path)
        with contextlib.suppress(LockTimeoutError), _free(self._layout.index_lock):
            sweep_temporary(self._layout.index.parent, 0.0)


def has_expired(state: SessionState, now: datetime) -> bool:
    """Say whether a session has rested long enough to be removed."""
    age = now - state.updated_at
    if state.status.is_terminal:
        return age > timedelta(days=TERMINAL_DAYS)
    return state.status is SessionStatus.FAILED and age > timedelta(days=FAILED_DAYS)


def _remove_free_lock(path: Path) -> None:
    with contextlib.suppress(RunnerError), _free(path):
        path.unlink(missing_ok=True)


@contextmanager
def _free(lock: Path) -> Iterator[None]:
    """Hold the lock if it is free. Raises LockTimeoutError at once otherwise."""
    with locked(lock, 0.0):
        yield
