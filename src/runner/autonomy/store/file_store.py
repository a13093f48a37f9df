"""The store in files: sessions and journals under their locks, repaired when they are read."""

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from runner.autonomy.calls import seconds_left
from runner.autonomy.engine.auditing import audit_gates
from runner.autonomy.integrity import AuditError
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import (
    GateEvidence,
    JournalEntry,
    JournalHead,
    LostSession,
    Outbox,
    SessionState,
    TaskChange,
)
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.anchors import Anchor
from runner.autonomy.store.documents import Documents
from runner.autonomy.store.gc import Collector
from runner.autonomy.store.index import ActiveIndex
from runner.autonomy.store.journal import Journal, chain
from runner.autonomy.store.layout import Layout
from runner.autonomy.store.port import Loaded, Page, Remains, Tail
from runner.autonomy.store.sessions import SessionFiles
from runner.autonomy.store.trust import Trust
from runner.deliverables.workspace import ensure_state_directory
from runner.errors import RunnerError, StateCorruptError, StateError, StateWriteError
from runner.files import locked, read_regular


# The order is what makes it safe: once the journal has the last entry, the statuses are set. So
# the journal's last number tells whether an outbox was applied, and applying it twice changes
# nothing.
class EntryLog(Protocol):
    """The part of a journal that `settle` needs; `Journal` describes the methods."""

    def tail(self) -> Tail: ...

    def append(
        self,
        entries: Sequence[JournalEntry],
        *,
        tail: Tail | None = None,
        lines: Mapping[int, bytes] | None = None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left of an outbox, and why; `appended` when the journal has got longer."""

    outbox: Outbox
    warnings: tuple[str, ...] = ()
    appended: bool = False


def settle(
    outbox: Outbox,
    journal: EntryLog,
    source: SpecSource,
    *,
    tail: Tail | None = None,
    lines: Mapping[int, bytes] | None = None,
) -> Settled:
    """Apply what was not applied yet. Nothing here stops the session: problems are warnings.

    Args:
        outbox: of the state as written.
        journal: the session's.
        source: holds the statuses.
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
_REVIEW_BYTES = 1024 * 1024


class FileSessionStore:
    """The `SessionStore` that keeps sessions in files.

    The index and the deliverables' statuses have locks of their own, which are taken last.
    """

    def __init__(
        self,
        workspace: Path,
        source: SpecSource,
        trust: Trust,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self._workspace = workspace
        self._layout = Layout.of(workspace)
        self._anchors = trust.anchors(workspace)
        self._files = SessionFiles(self._layout, trust.sealer(workspace), self._anchors)
        self._index = ActiveIndex(self._layout, self._rebuild_index, lock_seconds)
        self._documents = Documents(self._layout, workspace)
        self._source = source
        self._lock_seconds = lock_seconds

    @contextmanager
    def spec_lock(self, spec_id: str) -> Iterator[None]:
        self._prepare()
        with locked(self._layout.spec_lock(spec_id), seconds_left(self._lock_seconds)):
            yield

    @contextmanager
    def session_lock(self, session_id: str) -> Iterator[None]:
        with locked(self._layout.session_lock(session_id), seconds_left(self._lock_seconds)):
            yield

    def active(self) -> Mapping[str, str]:
        return self._index.read()

    def exists(self, session_id: str) -> bool:
        return self._files.exists(session_id)

    def ids(self) -> Iterator[str]:
        return self._files.ids()

    def stamps(self) -> Iterator[tuple[str, Hashable | None]]:
        return self._files.stamps()

    def read(self, session_id: str, *, refuse_older: bool = False) -> SessionState | None:
        # In this order: anchors follow the file, so what is written meanwhile is in none of them.
        anchor = self._anchors.read(session_id) if refuse_older else None
        state = self._files.read(session_id)
        if state is not None and _is_ahead(anchor, state):
            raise _older_copy(session_id)
        return state

    def load(self, session_id: str, *, audited: bool = False) -> Loaded | None:
        state = self._files.read(session_id)
        if state is None:
            return None
        journal = self._journal(session_id)
        tail, unreadable = _tail_of(journal)
        problem = self._examine(state, tail)
        settled = settle(state.outbox, journal, self._source, tail=tail)
        if settled.outbox is not state.outbox:
            state = state.evolve(outbox=settled.outbox)
        warnings = (*filter(None, (unreadable, problem)), *settled.warnings)
        if audited:
            problem = problem or self._audit(state)
        return Loaded(state, warnings, problem, None if settled.appended else tail)

    def inspect(self, session_id: str) -> Loaded | None:
        state = self._files.read(session_id)
        if state is None:
            return None
        tail, unreadable = _tail_of(self._journal(session_id))
        try:
            problem = self._examine(state, tail)
        except AuditError:
            # Another caller may have written between the two reads: read again under the lock.
            with self.session_lock(session_id):
                return self.load(session_id)
        self.heal(session_id)
        return Loaded(state, tuple(filter(None, (unreadable, problem))), problem)

    def commit(self, state: SessionState, tail: Tail | None = None) -> Loaded:
        head = state.journal_head
        new = [entry for entry in state.outbox.entries if entry.seq > head.seq]
        lines, last = chain(new, head.line_hash)
        if new:
            state = state.evolve(journal_head=JournalHead(seq=new[-1].seq, line_hash=last))
        if state.state_version == 1:  # before the file, so that no session is without an entry
            self._index.put(state.spec_id, state.id)
        self._files.write(state)
        journal = self._journal(state.id)
        settled = settle(state.outbox, journal, self._source, tail=tail, lines=lines)
        return Loaded(state, (*settled.warnings, *self._note(state)))

    def heal(self, session_id: str) -> None:
        with contextlib.suppress(RunnerError, OSError):
            state = self._files.read(session_id)
            if state is None or not state.outbox.entries:
                return
            if self._journal(session_id).tail().seq >= state.outbox.entries[-1].seq:
                return
            with locked(self._layout.session_lock(session_id), 0.0):
                self.load(session_id)

    def vanished(self) -> tuple[LostSession, ...]:
        try:
            found = tuple(self._vanished())
        except OSError:  # of which the commit warns
            return ()
        return tuple(
            LostSession(session_id=session_id, spec_id=anchor.spec_id, last_seen_at=seen)
            for session_id, anchor in found
            if (seen := self._anchors.noted_at(session_id)) is not None
        )

    def owner_of(self, session_id: str) -> str | None:
        anchor = self._anchors.read(session_id)
        if anchor is not None:
            return anchor.spec_id
        try:
            entries = self._index.read()
        except StateError:
            return None
        return next((spec for spec, session in entries.items() if session == session_id), None)

    def remains_of(self, session_id: str) -> Remains:
        tail, anchor = self._journal(session_id).tail(), self._anchors.read(session_id)
        head = JournalHead(seq=tail.seq, line_hash=tail.line_hash)
        return Remains(head, 0 if anchor is None else anchor.version)

    def remove(self, session_id: str, spec_id: str | None) -> None:
        self._files.delete(session_id)
        if spec_id is not None:
            self._index.remove(spec_id, session_id)
        self._anchors.forget(session_id)

    def collect_garbage(self, now: datetime) -> int:
        self._anchors.sweep(now)
        if not self._layout.root.is_dir():
            return 0  # nothing was ever kept here, and nothing is made
        self._source.sweep_leftovers()
        forget = (self._anchors.forget, self._documents.forget)
        return Collector(self._layout, self._files, self._index, forget).collect(now)

    def page(self, session_id: str, limit: int, end: int | None = None) -> Page | None:
        journal = self._journal(session_id)
        if end is not None and not journal.has_line_end(end):
            return None
        return journal.page(limit, end)

    def add_entry(self, entry: JournalEntry) -> None:
        journal = self._journal(entry.session_id)
        journal.append([entry.evolve(seq=journal.tail().seq + 1)])

    def review_path(self, session_id: str, phase_id: str, gate_attempt_id: str) -> str:
        return self._documents.review_path(session_id, phase_id, gate_attempt_id)

    def write_review(self, evidence: GateEvidence, source: str | None = None) -> None:
        self._documents.write_review(evidence, source)

    def read_review(self, path: str) -> bytes:
        folder = self._layout.root / "reviews"
        return read_regular(self._workspace / path, limit=_REVIEW_BYTES, within=folder)

    def write_receipt(self, session_id: str, step_id: str, content: str) -> None:
        self._documents.write_receipt(session_id, step_id, content)

    def _journal(self, session_id: str) -> Journal:
        return Journal(self._layout.journal(session_id))

    def _prepare(self) -> None:
        """Make the project's state folder, which keeps itself out of the user's commits.

        Raises:
            StateWriteError: it can't be made, or it is a link that leads out of the project.
        """
        if not self._layout.root.is_relative_to(self._workspace):
            return
        ensure_state_directory(self._workspace)
        for folder in self._layout.folders:
            if folder.is_symlink() and not _is_inside(folder, self._workspace):
                raise StateWriteError(
                    f"{folder} is a symbolic link that leads out of the project.",
                    hint="Replace it by a folder.",
                )

    def _audit(self, state: SessionState) -> str | None:
        """Return what is wrong with the session's journal and receipts, None when nothing is.

        Reads all of them, so it is for what happens rarely.
        """
        try:
            broken = self._journal(state.id).first_break()
            receipts = set(self._documents.receipt_hashes(state.id))
        except OSError as error:
            return f"The journal or the receipts can't be read: {error.strerror}."
        if broken is not None:
            return f"The journal of {state.id} is broken at line {broken} or the one before."
        for phase_id, gate in state.phase_gates.items():
            if gate.receipt_hash is not None and gate.receipt_hash not in receipts:
                return f"The verification receipt of {phase_id} is missing or was changed."
        return None

    def _examine(self, state: SessionState, tail: Tail | None) -> str | None:
        """Return what is wrong with the journal, None when nothing is. The state wins over it.

        Raises:
            AuditError: the state is an older copy, or its gates can't be as it says.
        """
        if _is_ahead(self._anchors.read(state.id), state):
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
        """Write the session's anchor outside the workspace; a failure is a warning."""
        anchor = Anchor(state.state_version, not state.status.is_terminal, state.spec_id)
        try:
            self._anchors.write(state.id, anchor)
            return self._forget_vanished(state) if state.state_version == 1 else ()
        except OSError as error:
            return (f"The session can't be noted outside the workspace: {error.strerror}.",)

    def _forget_vanished(self, state: SessionState) -> tuple[str, ...]:
        """Give up sessions that vanished with all their files; a new one replaces them.

        Raises OSError.
        """
        gone = [session_id for session_id, _ in self._vanished() if session_id != state.id]
        for session_id in gone:
            self._anchors.forget(session_id)
        return tuple(
            f"The session {session_id} vanished with all its files." for session_id in gone
        )

    def _vanished(self) -> Iterator[tuple[str, Anchor]]:
        for session_id, anchor in self._anchors.live():
            if self._files.has_vanished(session_id):
                yield session_id, anchor

    def _rebuild_index(self) -> dict[str, str]:
        """Find the live sessions when the index is gone.

        Raises:
            StateCorruptError: a session can't be read, so its spec is unknown.
        """
        live: dict[str, str] = {}
        for session_id in sorted(self._files.ids()):
            if self._files.has_vanished(session_id):
                continue
            try:
                state = self._files.read(session_id)
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
