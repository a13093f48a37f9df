"""A session store in memory: the second implementation of `SessionStore`.

It keeps what was committed as JSON, as a database would, and no files at all. Nothing outside of
this process can touch it, so it has no seals, no anchors and nothing that could vanish.
"""

import json
import threading
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.autonomy.calls import note_collected
from runner.autonomy.engine.auditing import audit_gates
from runner.autonomy.integrity import AuditError
from runner.autonomy.models import (
    GateEvidence,
    JournalEntry,
    JournalHead,
    LostSession,
    SessionState,
)
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.documents import render_review
from runner.autonomy.store.file_store import settle
from runner.autonomy.store.gc import has_expired
from runner.autonomy.store.journal import chain
from runner.autonomy.store.port import GENESIS, Loaded, Page, Remains, Tail
from runner.errors import LockTimeoutError


class MemoryJournal:
    """One session's entries, each with the hash of the one before."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.last = GENESIS

    def tail(self) -> Tail:
        return Tail(len(self.lines), self.last, len(self.lines))

    def append(
        self,
        entries: Sequence[JournalEntry],
        *,
        tail: Tail | None = None,
        lines: Mapping[int, bytes] | None = None,
    ) -> None:
        new = [entry for entry in entries if entry.seq > len(self.lines)]
        chained, self.last = chain(new, self.last)
        self.lines += chained.values()


class MemoryStore:
    """Sessions of one workspace, gone with the process."""

    def __init__(
        self, workspace: Path, source: SpecSource, trust: object, lock_seconds: float = 0.0
    ) -> None:
        self._source = source
        self._lock_seconds = lock_seconds
        self._states: dict[str, str] = {}
        self._active: dict[str, str] = {}
        self._journals: defaultdict[str, MemoryJournal] = defaultdict(MemoryJournal)
        self._reviews: dict[str, bytes] = {}
        self._receipts: dict[tuple[str, str], str] = {}
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        lock = self._locks[name]
        if not lock.acquire(timeout=self._lock_seconds):
            raise LockTimeoutError(f"{name} is locked.")
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def spec_lock(self, spec_id: str) -> Iterator[None]:
        with self._locked(f"spec {spec_id}"):
            yield

    @contextmanager
    def session_lock(self, session_id: str) -> Iterator[None]:
        with self._locked(f"session {session_id}"):
            yield

    def active(self) -> Mapping[str, str]:
        return dict(self._active)

    def exists(self, session_id: str) -> bool:
        return session_id in self._states

    def ids(self) -> Iterator[str]:
        yield from list(self._states)

    def stamps(self) -> Iterator[tuple[str, Hashable | None]]:
        yield from list(self._states.items())

    def read(self, session_id: str, *, refuse_older: bool = False) -> SessionState | None:
        content = self._states.get(session_id)
        return None if content is None else SessionState.model_validate_json(content)

    def load(self, session_id: str, *, audited: bool = False) -> Loaded | None:
        state = self.read(session_id)
        if state is None:
            return None
        problem = audit_gates(state)
        if problem is not None:
            raise AuditError(problem, session_id)
        settled = settle(state.outbox, self._journals[session_id], self._source)
        return Loaded(state.evolve(outbox=settled.outbox), settled.warnings)

    def inspect(self, session_id: str) -> Loaded | None:
        return self.load(session_id)

    def heal(self, session_id: str) -> None:
        self.load(session_id)

    def commit(self, state: SessionState, tail: Tail | None = None) -> Loaded:
        journal = self._journals[state.id]
        new = [entry for entry in state.outbox.entries if entry.seq > state.journal_head.seq]
        if new:
            _, last = chain(new, state.journal_head.line_hash)
            state = state.evolve(journal_head=JournalHead(seq=new[-1].seq, line_hash=last))
        if state.state_version == 1:
            self._active[state.spec_id] = state.id
        self._states[state.id] = state.model_dump_json(by_alias=True)
        return Loaded(state, settle(state.outbox, journal, self._source).warnings)

    def vanished(self) -> tuple[LostSession, ...]:
        return ()

    def owner_of(self, session_id: str) -> str | None:
        state = self.read(session_id)
        return None if state is None else state.spec_id

    def remains_of(self, session_id: str) -> Remains:
        tail, state = self._journals[session_id].tail(), self.read(session_id)
        head = JournalHead(seq=tail.seq, line_hash=tail.line_hash)
        return Remains(head, 0 if state is None else state.state_version)

    def remove(self, session_id: str, spec_id: str | None) -> None:
        self._states.pop(session_id, None)
        if spec_id is not None and self._active.get(spec_id) == session_id:
            del self._active[spec_id]

    def collect_garbage(self, now: datetime) -> int:
        states = [state for session_id in self.ids() if (state := self.read(session_id))]
        expired = [state for state in states if has_expired(state, now)]
        for state in expired:
            self.remove(state.id, state.spec_id)
            self._journals.pop(state.id, None)
            note_collected(state.status)
        return len(expired)

    def page(self, session_id: str, limit: int, end: int | None = None) -> Page | None:
        lines = self._journals[session_id].lines
        if end is not None and not 0 < end <= len(lines):
            return None
        stop = len(lines) if end is None else end
        start = max(stop - limit, 0)
        entries: list[dict[str, Any]] = [json.loads(line) for line in lines[start:stop]]
        return Page(tuple(reversed(entries)), start or None)

    def add_entry(self, entry: JournalEntry) -> None:
        journal = self._journals[entry.session_id]
        journal.append([entry.evolve(seq=journal.tail().seq + 1)])

    def review_path(self, session_id: str, phase_id: str, gate_attempt_id: str) -> str:
        return f"reviews/{session_id}-{phase_id}-{gate_attempt_id}.md"

    def write_review(self, evidence: GateEvidence, source: str | None = None) -> None:
        path = self.review_path(evidence.session_id, evidence.phase_id, evidence.gate_attempt_id)
        self._reviews[path] = render_review(evidence, source).encode("utf-8", "replace")

    def read_review(self, path: str) -> bytes:
        if path not in self._reviews:
            raise FileNotFoundError(path)
        return self._reviews[path]

    def write_receipt(self, session_id: str, step_id: str, content: str) -> None:
        self._receipts[session_id, step_id] = content
