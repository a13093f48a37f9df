"""The store: sessions with their journals, under their locks, healed when they are read."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner.autonomy.calls import seconds_left
from runner.autonomy.engine.auditing import audit_gates
from runner.autonomy.integrity import AuditError
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import JournalHead, LostSession, Outbox, SessionState, TaskChange
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.anchors import Anchor
from runner.autonomy.store.documents import Documents
from runner.autonomy.store.gc import Collector
from runner.autonomy.store.index import ActiveIndex
from runner.autonomy.store.journal import Journal, Tail, chain
from runner.autonomy.store.layout import Layout
from runner.autonomy.store.sessions import SessionFiles
from runner.autonomy.store.trust import Trust
from runner.deliverables.workspace import ensure_state_directory
from runner.errors import RunnerError, StateCorruptError, StateError, StateWriteError
from runner.files import locked

# The order is what makes it safe: once the journal has the last entry, the statuses are set. So
# the journal's last number tells whether an outbox was applied, and applying it twice changes
# nothing.


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left of an outbox, and why; `appended` when the journal has got longer."""

    outbox: Outbox
    warnings: tuple[str, ...] = ()
    appended: bool = False


def settle(
    outbox: Outbox,
    journal: Journal,
    source: SpecSource,
    *,
    tail: Tail | None = None,
    lines: Mapping[int, bytes] | None = None,
) -> Settled:
    """Apply what was not applied yet. Nothing here stops the session: problems are warnings.

    Args:
        outbox: of the state as written.
        journal: the session's.
        source: where the statuses stand.
        tail: the journal's end as read under the lock that is held still.
        lines: entries as they were chained already.
    """
    if not outbox.entries and not outbox.changes:
        return Settled(outbox)
    try:
        tail = tail or journal.tail()
    except OSError as error:
        return Settled(outbox, (f"The journal can't be read: {error.strerror}.",))
    pending = tuple(entry for entry in outbox.entries if entry.seq > tail.seq)
    if not pending:
        return Settled(Outbox())
    left = Outbox(entries=pending, changes=outbox.changes)
    try:
        _set_statuses(outbox.changes, source)
    except RunnerError as error:
        return Settled(left, (f"A deliverable's status is not written yet: {error}",))
    try:
        journal.append(pending, tail=tail, lines=lines)
    except StateError as error:
        entries_left = Outbox(entries=pending)
        warning = f"A journal entry is not written yet: {error}"
        return Settled(entries_left, (warning,), appended=True)  # perhaps in part
    return Settled(Outbox(), appended=True)


def _set_statuses(changes: Sequence[TaskChange], source: SpecSource) -> None:
    if not changes:
        return
    tasks = source.read().tasks  # without a spec, the changes wait until it is back
    due = [c for c in changes if c.task_id in tasks and tasks[c.task_id].status is not c.status]
    if due:
        source.apply(due)


LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as read under its lock.

    Attributes:
        warnings: what could not be healed, and the problem.
        problem: what is wrong with its journal, None when nothing is.
        tail: where its journal ends while the lock is held, None when that has to be read anew.
    """

    state: SessionState
    warnings: tuple[str, ...] = ()
    problem: str | None = None
    tail: Tail | None = None


class SessionStore:
    """Sessions of one workspace.

    Locks are taken in one order: spec, session, then index or status. Whoever changes a
    session holds its lock from reading to committing.
    """

    def __init__(
        self,
        workspace: Path,
        source: SpecSource,
        trust: Trust,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self._workspace = workspace
        self.layout = Layout.of(workspace)
        self.anchors = trust.anchors(workspace)
        self.files = SessionFiles(self.layout, trust.sealer(workspace), self.anchors)
        self.index = ActiveIndex(self.layout, self._rebuild_index, lock_seconds)
        self.documents = Documents(self.layout, workspace)
        self._source = source
        self._lock_seconds = lock_seconds

    def prepare(self) -> None:
        """Make the project's state folder, which keeps itself out of the user's commits.

        Raises:
            StateWriteError: it can't be made, or it is a link that leads out of the project.
        """
        if not self.layout.root.is_relative_to(self._workspace):
            return
        ensure_state_directory(self._workspace)
        for folder in self.layout.folders:
            if folder.is_symlink() and not _is_inside(folder, self._workspace):
                raise StateWriteError(
                    f"{folder} is a symbolic link that leads out of the project.",
                    hint="Replace it by a folder.",
                )

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

        Raises:
            StateCorruptError: it can't be used; AuditError when it is not the latest that was
                written, or its gates can't be as it says.
        """
        state = self.files.read(session_id)
        if state is None:
            return None
        journal = self.journal(session_id)
        tail, unreadable = _tail_of(journal)
        problem = self._examine(state, tail)
        settled = settle(state.outbox, journal, self._source, tail=tail)
        if settled.outbox is not state.outbox:
            state = state.evolve(outbox=settled.outbox)
        warnings = (*filter(None, (unreadable, problem)), *settled.warnings)
        return Loaded(state, warnings, problem, None if settled.appended else tail)

    def inspect(self, session_id: str) -> Loaded | None:
        """Return the session for those who only read, checked like one that is loaded.

        Raises what `load` raises.
        """
        state = self.files.read(session_id)
        if state is None:
            return None
        tail, unreadable = _tail_of(self.journal(session_id))
        try:
            problem = self._examine(state, tail)
        except AuditError:
            # Somebody may have written between two of our readings: look again undisturbed.
            with self.session_lock(session_id):
                return self.load(session_id)
        self.heal(session_id)
        return Loaded(state, tuple(filter(None, (unreadable, problem))), problem)

    def latest(self, session_id: str) -> SessionState | None:
        """Return the session for those who write nothing at all, not even to heal it.

        Raises what reading its file raises, and AuditError where that is an older copy.
        """
        # In this order: notes follow the file, so what is written meanwhile is in none of them.
        anchor = self.anchors.read(session_id)
        state = self.files.read(session_id)
        if state is not None and _is_ahead(anchor, state):
            raise _older_copy(session_id)
        return state

    def audit(self, state: SessionState) -> str | None:
        """Return what is wrong with the session's journal and receipts, None when nothing is.

        Reads all of them, so it is for what happens rarely.
        """
        try:
            broken = self.journal(state.id).first_break()
            receipts = set(self.documents.receipt_hashes(state.id))
        except OSError as error:
            return f"The journal or the receipts can't be read: {error.strerror}."
        if broken is not None:
            return f"The journal of {state.id} is broken at line {broken} or the one before."
        for phase_id, gate in state.phase_gates.items():
            if gate.receipt_hash is not None and gate.receipt_hash not in receipts:
                return f"The verification receipt of {phase_id} is missing or was changed."
        return None

    def commit(self, state: SessionState, tail: Tail | None = None) -> Loaded:
        """Write the session, then apply what follows; return it as written.

        Needs the session's lock; `tail` is what `load` found under the same hold of it, if
        nothing was committed since. Raises StateWriteError: nothing has changed then.
        """
        head = state.journal_head
        new = [entry for entry in state.outbox.entries if entry.seq > head.seq]
        lines, last = chain(new, head.line_hash)
        if new:
            state = state.evolve(journal_head=JournalHead(seq=new[-1].seq, line_hash=last))
        self.files.write(state)
        journal = self.journal(state.id)
        settled = settle(state.outbox, journal, self._source, tail=tail, lines=lines)
        return Loaded(state, (*settled.warnings, *self._note(state)))

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

    def _examine(self, state: SessionState, tail: Tail | None) -> str | None:
        """Return what is wrong with the journal, None when nothing is. The state wins over it.

        Raises:
            AuditError: the state is an older copy, or its gates can't be as it says.
        """
        if _is_ahead(self.anchors.read(state.id), state):
            raise _older_copy(state.id)
        problem = audit_gates(state)
        if problem is not None:
            raise AuditError(problem, state.id)
        head = state.journal_head
        if tail is None:
            return None
        if tail.seq > head.seq:
            raise AuditError("The journal is ahead of the session's file.", state.id)
        first = state.outbox.entries[0].seq if state.outbox.entries else head.seq + 1
        if tail.seq < first - 1:
            return f"The journal of {state.id} lost entries after number {tail.seq}."
        if tail.seq == head.seq and tail.line_hash != head.line_hash:
            return f"The last entry in the journal of {state.id} was changed from outside."
        return None

    def _note(self, state: SessionState) -> tuple[str, ...]:
        """Note outside the workspace how the session stands; failing to is a warning."""
        anchor = Anchor(state.state_version, not state.status.is_terminal, state.spec_id)
        try:
            self.anchors.write(state.id, anchor)
            return self._forget_vanished(state) if state.state_version == 1 else ()
        except OSError as error:
            return (f"The session can't be noted outside the workspace: {error.strerror}.",)

    def _forget_vanished(self, state: SessionState) -> tuple[str, ...]:
        """Give up sessions that vanished with all their files; a new one replaces them.

        Raises OSError.
        """
        gone = [session_id for session_id, _ in self._vanished() if session_id != state.id]
        for session_id in gone:
            self.anchors.forget(session_id)
        return tuple(
            f"The session {session_id} vanished with all its files." for session_id in gone
        )

    def vanished(self) -> tuple[LostSession, ...]:
        """Return the live sessions of which nothing is left but their notes; a start replaces them."""
        try:
            found = tuple(self._vanished())
        except OSError:  # of which the commit warns
            return ()
        return tuple(
            LostSession(session_id=session_id, spec_id=anchor.spec_id, last_seen_at=seen)
            for session_id, anchor in found
            if (seen := self.anchors.noted_at(session_id)) is not None
        )

    def _vanished(self) -> Iterator[tuple[str, Anchor]]:
        for session_id, anchor in self.anchors.live():
            if self.files.has_vanished(session_id):
                yield session_id, anchor

    def collect_garbage(self, now: datetime) -> int:
        """Remove expired sessions and leftovers; return how many sessions that were."""
        self.anchors.sweep(now)
        if not self.layout.root.is_dir():
            return 0  # nothing was ever kept here, and nothing is made
        self._source.sweep_leftovers()
        forget = (self.anchors.forget, self.documents.forget)
        return Collector(self.layout, self.files, self.index, forget).collect(now)

    def _rebuild_index(self) -> dict[str, str]:
        """Find the live sessions when the index is gone.

        Raises:
            StateCorruptError: a session can't be read, so nobody knows whose it is.
        """
        live: dict[str, str] = {}
        for session_id in sorted(self.files.ids()):
            if self.files.has_vanished(session_id):
                continue
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


def _is_inside(path: Path, folder: Path) -> bool:
    """Say whether a path leads into a folder, once all links are followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


def _is_ahead(anchor: Anchor | None, state: SessionState) -> bool:
    return anchor is not None and anchor.version > state.state_version


def _older_copy(session_id: str) -> AuditError:
    return AuditError("The session's file is an older copy of itself.", session_id)


def _tail_of(journal: Journal) -> tuple[Tail | None, str | None]:
    """Return the journal's end, or None and why it can't be read."""
    try:
        return journal.tail(), None
    except OSError as error:
        return None, f"The journal can't be read: {error.strerror}."
