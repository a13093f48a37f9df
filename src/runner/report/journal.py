"""Steps, reviews and what else a session's journal tells, read from its end."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ulid import ULID

from runner.report.facts import Event, EvidenceFact, FindingFact, Review, StepFact
from runner.report.words import Words, moment, name, table

PAGE = 500
MOST_ENTRIES = 200_000
_STEPS, _REVIEWS, _EVENTS = 40, 10, 150
_NOTE, _TEXT = 1_000, 600
_TYPE_OF_GATE = "run_fidelity_gate"

PageOf = Callable[[int, int | None], Any]
"""(limit, end) → a page of a journal, as `Journal.page`. Raises OSError."""


@dataclass(slots=True)
class OfPhase:
    """What a phase's entries tell, newest first; `total` counts the steps."""

    total: int = 0
    steps: list[StepFact] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    receipts: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Told:
    """What a journal tells.

    Attributes:
        evidence: by deliverable.
        events: newest first.
        last_at: when the newest entry was written.
    """

    phases: dict[str, OfPhase] = field(default_factory=dict)
    evidence: dict[str, EvidenceFact] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    entries: int = 0
    last_at: datetime | None = None


def entries_of(page_of: PageOf) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of a journal, newest first, a page at a time. Raises OSError."""
    end: int | None = None
    while True:
        page = page_of(PAGE, end)
        yield from page.entries
        end = page.next_end
        if end is None:
            return


class JournalReader:
    """Makes of entries what a report tells of them.

    Args:
        words: cleans and bounds the texts.
        checkpoints: the commit of each step that has one.
    """

    def __init__(self, words: Words, checkpoints: Mapping[str, str]) -> None:
        self.told = Told()
        self._words = words
        self._checkpoints = checkpoints

    def read(self, entries: Iterable[Mapping[str, Any]]) -> Told:
        """Take in entries, newest first. Raises what reading them raises."""
        for entry in entries:
            if self.told.entries >= MOST_ENTRIES:
                self._words.omit("journal entries or more", 1)
                break
            self.told.entries += 1
            self.told.last_at = self.told.last_at or moment(entry.get("at"))
            self._take(entry, table(entry.get("data")))
        return self.told

    def _take(self, entry: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        kind, step_id = entry.get("entry_type"), name(data.get("step_id"))
        if kind == "gate" and entry.get("title") == "Review made":
            return  # what the gate made of it is told by the entry that follows
        if kind in ("step", "gate") and step_id is not None:
            self._step(entry, data, step_id)
        else:
            self._event(entry)

    def _step(self, entry: Mapping[str, Any], data: Mapping[str, Any], step_id: str) -> None:
        phase = self.told.phases.setdefault(name(data.get("phase_id")) or "", OfPhase())
        phase.total += 1
        task_id = name(data.get("task_id"))
        if task_id is not None:
            self._evidence(entry, data, step_id, task_id)
        receipt = name(data.get("receipt_hash"))
        if data.get("step_type") == "execute_verification" and len(phase.receipts) < _REVIEWS:
            phase.receipts[step_id] = receipt or ""
        if entry.get("entry_type") == "gate" and len(phase.reviews) < _REVIEWS:
            phase.reviews.append(self._review(entry, data))
        if len(phase.steps) < _STEPS:
            phase.steps.append(self._made(entry, data, step_id))
        else:
            self._words.omit("older steps", 1)

    def _made(self, entry: Mapping[str, Any], data: Mapping[str, Any], step_id: str) -> StepFact:
        kind = name(data.get("step_type")) or _TYPE_OF_GATE
        outcome = name(data.get("outcome")) or "?"
        if entry.get("entry_type") == "gate":
            outcome = "success" if data.get("gate_passed") is True else "not passed"
        return StepFact(
            step_id=step_id,
            type=kind,
            title=name(entry.get("title")) or "?",
            outcome=outcome,
            at=moment(entry.get("at")),
            started_at=_issued_at(step_id),
            phase_id=name(data.get("phase_id")),
            task_id=name(data.get("task_id")),
            note=self._words.text(data.get("note"), _NOTE),
            checkpoint=self._checkpoints.get(step_id, ""),
        )

    def _evidence(
        self, entry: Mapping[str, Any], data: Mapping[str, Any], step_id: str, task_id: str
    ) -> None:
        known = self.told.evidence.get(task_id, EvidenceFact())
        outcome = name(data.get("outcome")) or "?"
        if not known.step_id or (outcome == "success" and known.outcome != "success"):
            known = EvidenceFact(
                at=moment(entry.get("at")),
                step_id=step_id,
                outcome=outcome,
                note=self._words.text(data.get("note"), _NOTE),
                checkpoint=self._checkpoints.get(step_id, ""),
                failures=known.failures,
            )
        if outcome == "failure":
            known = replace(known, failures=known.failures + 1)
        self.told.evidence[task_id] = known

    def _review(self, entry: Mapping[str, Any], data: Mapping[str, Any]) -> Review:
        found = data.get("findings")
        titles = found if isinstance(found, list) else []
        return Review(
            at=moment(entry.get("at")),
            attempt_id=name(data.get("gate_attempt_id")) or "",
            verdict=name(data.get("verdict")) or "?",
            passed=data.get("gate_passed") is True,
            summary=self._words.text(data.get("note"), _NOTE),
            findings=tuple(
                self._titled(title) for title in self._words.first(titles, 50, "findings")
            ),
            path=name(data.get("review_path")) or "",
        )

    def _titled(self, text: Any) -> FindingFact:
        severity, _, title = self._words.text(text, _TEXT).partition(": ")
        return FindingFact(severity, title) if title else FindingFact("finding", severity)

    def _event(self, entry: Mapping[str, Any]) -> None:
        if len(self.told.events) >= _EVENTS:
            self._words.omit("older journal entries", 1)
            return
        self.told.events.append(
            Event(
                moment(entry.get("at")),
                name(entry.get("entry_type")) or "?",
                self._words.text(entry.get("title"), 200),
                self._words.text(entry.get("content"), _TEXT),
            )
        )


def _issued_at(step_id: str) -> datetime | None:
    """Return when a step was issued: its id begins with that."""
    with suppress(ValueError, OverflowError, TypeError):
        return ULID.from_str(step_id.removeprefix("step_")).datetime
    return None
