"""The store: sessions with their journals, under their locks, healed when they are read."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner.autonomy.calls import seconds_left
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import SessionState
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.gc import Collector
from runner.autonomy.store.index import ActiveIndex
from runner.autonomy.store.journal import Journal
from runner.autonomy.store.layout import Layout
from runner.autonomy.store.outbox import settle
from runner.autonomy.store.sessions import SessionFiles
from runner.deliverables.workspace import ensure_state_directory
from runner.errors import RunnerError, StateCorruptError
from runner.files import locked

LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as read under its lock; `warnings` say what could not be healed."""

    state: SessionState
    warnings: tuple[str, ...] = ()


class SessionStore:
    """Sessions of one workspace.

    Locks are taken in one order: spec, session, then index or status. Whoever changes a
    session holds its lock from reading to committing.
    """

    def __init__(
        self, workspace: Path, source: SpecSource, lock_seconds: float = LOCK_SECONDS
    ) -> None:
        self._workspace = workspace
        self.layout = Layout.of(workspace)
        self.files = SessionFiles(self.layout)
        self.index = ActiveIndex(self.layout, self._rebuild_index, lock_seconds)
        self._source = source
        self._lock_seconds = lock_seconds

    def prepare(self) -> None:
        """Make the project's state folder, which keeps itself out of the user's commits.

        Raises:
            StateWriteError: it can't be made, or it is a link that leads out of the project.
        """
        if self.layout.root.is_relative_to(self._workspace):
            ensure_state_directory(self._workspace)

    @contextmanager
    def spec_lock(self, spec_id: str) -> Iterator[None]:
        """Hold the lock of a spec. Raises LockTimeoutError."""
        with locked(self.layout.spec_lock(spec_id), seconds_left(self._lock_seconds)):
            yield

    @contextmanager
    def session_lock(self, session_id: str) -> Iterator[None]:
        """Hold the lock of a session. Raises LockTimeoutError."""
        with locked(self.layout.session_lock(session_id), seconds_left(self._lock_seconds)):
            yield

    def load(self, session_id: str) -> Loaded | None:
        """Return the session, and finish what its last transition left undone.

        Needs the session's lock.
        """
        state = self.files.read(session_id)
        if state is None:
            return None
        settled = settle(state.outbox, self.journal(session_id), self._source)
        return Loaded(state.evolve(outbox=settled.outbox), settled.warnings)

    def commit(self, state: SessionState) -> tuple[str, ...]:
        """Write the session, then apply what follows; return warnings about that.

        Needs the session's lock. Raises StateWriteError: nothing has changed then.
        """
        self.files.write(state)
        return settle(state.outbox, self.journal(state.id), self._source).warnings

    def heal(self, session_id: str) -> None:
        """Finish a transition that a crash cut short, for those who only read.

        Cheap when there is nothing to do; a session that somebody works on heals anyway.
        """
        with contextlib.suppress(RunnerError, OSError):
            state = self.files.read(session_id)
            if state is None or not state.outbox.entries:
                return
            if self.journal(session_id).tail().seq >= state.outbox.entries[-1].seq:
                return
            with locked(self.layout.session_lock(session_id), 0.0):
                self.load(session_id)

    def journal(self, session_id: str) -> Journal:
        return Journal(self.layout.journal(session_id))

    def collect_garbage(self, now: datetime) -> int:
        """Remove expired sessions and leftovers; return how many sessions that were."""
        self._source.sweep_leftovers()
        return Collector(self.layout, self.files, self.index).collect(now)

    def _rebuild_index(self) -> dict[str, str]:
        """Find the live sessions when the index is gone.

        Raises:
            StateCorruptError: a session can't be read, so nobody knows whose it is.
        """
        live: dict[str, str] = {}
        for session_id in sorted(self.files.ids()):
            try:
                state = self.files.read(session_id)
            except (StateCorruptError, MigrationError) as error:
                raise StateCorruptError(
                    f"The index of sessions is gone, and {session_id} can't be read.",
                    hint=f"Restore it, or remove it: runner session reset --session-id {session_id}",
                ) from error
            if state is not None and not state.status.is_terminal:
                live[state.spec_id] = session_id
        return live
