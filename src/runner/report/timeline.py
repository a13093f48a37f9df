"""The timeline of a report: where everything stands on one axis. Long idle times are folded."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from runner.report import formats
from runner.report.facts import PhaseFact, Report, SessionFact
from runner.text.durations import format_duration

WIDTH, LABELS, MARGIN = 1120.0, 170.0, 24.0
LANE, HEAD = 34.0, 26.0
_FOLD = 46.0
_MOST_LANES, _MOST_FOLDS, _MOST_BARS = 30, 8, 1500
_LEAST_BAR, _TICK = 3.0, 96.0
_IDLE = timedelta(minutes=5)
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_FAILED = ("execution_error", "crashed", "timed_out")


@dataclass(frozen=True, slots=True)
class Bar:
    """An agent session: `kind` is its instruction."""

    x: float
    y: float
    width: float
    kind: str
    failed: bool
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A verification or a gate; `kind` is one of both, `good` whether it passed."""

    x: float
    y: float
    kind: str
    good: bool
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A row with its label."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A time on the axis; `is_day` for the first of a day."""

    x: float
    label: str
    is_day: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """An idle time that was folded."""

    x: float
    width: float
    label: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is drawn, in user units of the picture."""

    height: float
    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    folds: tuple[Fold, ...]
    kinds: tuple[str, ...]
    width: float = WIDTH
    labels: float = LABELS


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of time that is drawn to scale."""

    begin: datetime
    end: datetime
    x: float
    width: float

    def place(self, at: datetime) -> float:
        whole = (self.end - self.begin).total_seconds()
        share = (at - self.begin).total_seconds() / whole if whole else 0.5
        return self.x + self.width * min(max(share, 0.0), 1.0)


class _Axis:
    def __init__(self, busy: Sequence[tuple[datetime, datetime]]) -> None:
        stretches = _stretches(busy)
        room = WIDTH - LABELS - MARGIN - _FOLD * (len(stretches) - 1)
        lengths = [max((end - begin).total_seconds(), 1.0) for begin, end in stretches]
        x, self.parts = LABELS + MARGIN / 2, []
        for (begin, end), length in zip(stretches, lengths, strict=True):
            width = room * length / sum(lengths)
            self.parts.append(_Part(begin, end, x, width))
            x += width + _FOLD

    def x(self, at: datetime) -> float:
        part = next((p for p in self.parts if at <= p.end), self.parts[-1])
        return part.place(at)

    def folds(self) -> Iterator[Fold]:
        for before, after in pairwise(self.parts):
            idle = (after.begin - before.end).total_seconds()
            label = format_duration(idle - idle % 60 if idle > 3600 else idle)
            yield Fold(before.x + before.width, _FOLD, label.removesuffix(" 0m"))

    def ticks(self) -> Iterator[Tick]:
        drawn = sum(part.width for part in self.parts)
        seconds = sum((p.end - p.begin).total_seconds() for p in self.parts)
        fitting = seconds / max(drawn / _TICK, 1.0)
        step = next((step for step in _STEPS if step >= fitting), _STEPS[-1])
        day, last = "", -_TICK
        for part in self.parts:
            for at in _round_times(part, step):
                x = part.place(at)
                if x - last < _TICK * 0.6:
                    continue
                last = x
                now = f"{at.day} {formats.day(at).split()[1]}"
                shown = f"{at:%H:%M:%S}" if step < 60 else f"{at:%H:%M}"
                yield Tick(x, f"{now}, {shown}" if now != day else shown, now != day)
                day = now


def timeline_of(report: Report) -> Timeline | None:
    """Return the timeline, None where no time of anything is known."""
    busy = list(_busy(report))
    if not busy:
        return None
    axis = _Axis(busy)
    sessions = report.sessions[-_MOST_BARS:]
    lanes = _lanes(report, sessions)
    marks = [mark for phase in report.phases for mark in _marks(phase, axis, lanes)]
    return Timeline(
        height=HEAD + LANE * len(set(lanes.values())) + 8,
        lanes=tuple(_labels(report, lanes)),
        bars=tuple(_bar(session, axis, lanes) for session in sessions),
        marks=tuple(marks[-_MOST_BARS:]),
        ticks=tuple(axis.ticks()),
        folds=tuple(axis.folds()),
        kinds=tuple(dict.fromkeys(session.instruction for session in sessions)),
    )


def _busy(report: Report) -> Iterator[tuple[datetime, datetime]]:
    for session in report.sessions:
        yield session.started_at, session.ended_at or session.started_at
    for phase in report.phases:
        for step in phase.steps:
            if step.at is not None:
                # The time between issue and report may be a night that the work rested.
                yield step.at, step.at
        for run in phase.verifications:
            if run.at is not None:
                yield run.at, run.at


def _stretches(busy: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Return the times between the longest idle ones."""
    merged: list[tuple[datetime, datetime]] = []
    for begin, end in sorted(busy):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, max(begin, end)))
    work = sum(((end - begin) for begin, end in merged), timedelta())
    worth = max(_IDLE, work * 0.1)
    idle = [(after[0] - before[1], i) for i, (before, after) in enumerate(pairwise(merged), 1)]
    cuts = sorted(i for length, i in sorted(idle, reverse=True)[:_MOST_FOLDS] if length > worth)
    edges = [0, *cuts, len(merged)]
    return [(merged[a][0], max(end for _, end in merged[a:b])) for a, b in pairwise(edges)]


def _round_times(part: _Part, step: int) -> Iterator[datetime]:
    first = -(-int(part.begin.timestamp()) // step) * step
    for stamp in range(first, int(part.end.timestamp()) + 1, step):
        yield datetime.fromtimestamp(stamp, UTC)


def _lanes(report: Report, sessions: Sequence[SessionFact]) -> dict[str | None, int]:
    """Return the row of each phase, None being what belongs to no phase."""
    known = {phase.id for phase in report.phases}
    outside = any(session.phase_id not in known for session in sessions)
    lanes: dict[str | None, int] = {None: 0} if outside else {}
    for phase in report.phases:
        lanes[phase.id] = min(len(lanes), _MOST_LANES - 1)
    lanes.setdefault(None, 0)
    return lanes


def _labels(report: Report, lanes: dict[str | None, int]) -> Iterator[Lane]:
    titles: dict[int, list[str]] = {}
    for phase in report.phases:
        titles.setdefault(lanes[phase.id], []).append(phase.title)
    if lanes[None] not in titles:
        yield Lane(HEAD + LANE * lanes[None], "Outside of phases")
    for row, names in titles.items():
        yield Lane(HEAD + LANE * row, names[0] if len(names) == 1 else f"{len(names)} phases")


def _bar(session: SessionFact, axis: _Axis, lanes: dict[str | None, int]) -> Bar:
    begin = axis.x(session.started_at)
    width = max(axis.x(session.ended_at or session.started_at) - begin, _LEAST_BAR)
    about = " ".join(filter(None, (session.task_id or session.phase_id, f"({session.model})")))
    title = (
        f"Session {session.number}: {formats.instruction(session.instruction)} {about}, "
        f"{formats.outcome(session.outcome)}, {formats.duration(session.seconds)}, "
        f"{formats.cost(session.cost_usd)}"
    )
    row = lanes.get(session.phase_id, lanes[None])
    failed = session.outcome is None or session.outcome in _FAILED
    return Bar(begin, HEAD + LANE * row + 9, width, session.instruction, failed, title)


def _marks(phase: PhaseFact, axis: _Axis, lanes: dict[str | None, int]) -> Iterator[Mark]:
    y = HEAD + LANE * lanes[phase.id] + 17
    for run in phase.verifications:
        if run.at is not None:
            said = "passed" if run.passed else "failed"
            title = f"Verification of {phase.id} {said}, {formats.clock(run.at)}"
            yield Mark(axis.x(run.at), y, "verification", run.passed, title)
    for review in phase.reviews:
        if review.at is not None:
            said = "passed" if review.passed else "did not pass"
            title = f"Gate of {phase.id} {said} ({review.verdict}), {formats.clock(review.at)}"
            yield Mark(axis.x(review.at), y, "gate", review.passed, title)
