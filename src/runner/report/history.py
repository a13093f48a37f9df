"""Agent sessions of a report, from the history that runs keep (`loop.history`)."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from runner.records.agent_sessions import DENIED, ENDED, RUN_ENDED, STARTED, WAITING
from runner.report.facts import Denial, Event, ModelUse, RunFact, SessionFact, Took
from runner.report.words import Words, amount, count, moment, name, rows

_ERROR, _TEXT, _INPUT, _REASON = 600, 500, 500, 500
_MOST_SESSIONS = 20_000
_DENIALS, _RUNS, _WAITS = 200, 100, 100

Within = Callable[[datetime], bool]


@dataclass(slots=True)
class History:
    """What the history tells of the time that a report is about.

    Attributes:
        all_sessions: how many the history holds, of any time.
        uses: what was taken of each model, by phase; None where it was for none.
        damaged: how many of its lines can't be read.
    """

    sessions: list[SessionFact] = field(default_factory=list)
    denials: list[Denial] = field(default_factory=list)
    runs: deque[RunFact] = field(default_factory=lambda: deque(maxlen=_RUNS))
    waits: deque[Event] = field(default_factory=lambda: deque(maxlen=_WAITS))
    uses: dict[str | None, dict[str, ModelUse]] = field(default_factory=dict)
    all_sessions: int = 0
    damaged: int = 0

    @property
    def took(self) -> Took:
        """What all of its sessions took."""
        return sum(map(took_by, self.sessions), Took())

    def models_of(self, phases: Iterable[str | None]) -> list[ModelUse]:
        """Return what was taken of each model in these phases together, the dearest first."""
        found: dict[str, ModelUse] = {}
        for phase_id in phases:
            for use in self.uses.get(phase_id, {}).values():
                found[use.model] = found.get(use.model, ModelUse(use.model)) + use
        return sorted(found.values(), key=lambda use: (-use.cost_usd, -use.tokens, use.model))


def took_by(session: SessionFact) -> Took:
    """Return what one session took."""
    return Took(session.cost_usd, session.seconds, 1)


class HistoryReader:
    """Makes a history of lines, oldest first.

    Args:
        within: says whether a time belongs to the report.
        words: cleans and bounds the texts.
    """

    def __init__(self, within: Within, words: Words) -> None:
        self.history = History()
        self._within = within
        self._words = words
        self._open: dict[tuple[str, int], int] = {}
        self._denied: deque[tuple[Mapping[str, Any], datetime, int]] = deque(maxlen=_DENIALS)

    def read(self, lines: Iterable[Mapping[str, Any] | None]) -> History:
        """Take in the lines; None is one that is damaged. Raises what reading them raises."""
        for line in lines:
            at = moment(line.get("at")) if line is not None else None
            if line is None or at is None:
                self.history.damaged += 1
                continue
            self._take(line, at)
        self.history.denials = [self._denial(*denied) for denied in self._denied]
        return self.history

    def _take(self, line: Mapping[str, Any], at: datetime) -> None:
        event = line.get("event")
        key = (str(line.get("run")), count(line.get("number")))
        if event == STARTED:
            self.history.all_sessions += 1
            if self._within(at) and len(self.history.sessions) < _MOST_SESSIONS:
                self._begin(line, at, key)
        elif event == RUN_ENDED:
            if self._within(at):
                self.history.runs.append(self._run(line, at))
        elif event == WAITING:
            if self._within(at):
                self.history.waits.append(self._wait(line, at))
        elif key in self._open and event == DENIED:
            self._deny(line, at, self._open[key])
        elif key in self._open and event == ENDED:
            self._end(line, at, self._open.pop(key))

    def _begin(self, line: Mapping[str, Any], at: datetime, key: tuple[str, int]) -> None:
        self._open[key] = len(self.history.sessions)
        self.history.sessions.append(
            SessionFact(
                number=len(self.history.sessions) + 1,
                run=name(line.get("run")) or "",
                command=name(line.get("command")) or "",
                instruction=name(line.get("instruction")) or "?",
                model=name(line.get("model")) or "?",
                started_at=at,
                task_id=name(line.get("task_id")),
                phase_id=name(line.get("phase_id")),
                step_id=name(line.get("step_id")),
            )
        )

    def _deny(self, line: Mapping[str, Any], at: datetime, position: int) -> None:
        session = self.history.sessions[position]
        self.history.sessions[position] = replace(session, denied=session.denied + 1)
        self._denied.append((line, at, session.number))

    def _denial(self, line: Mapping[str, Any], at: datetime, session: int) -> Denial:
        return Denial(
            at,
            session,
            name(line.get("name")) or "?",
            self._words.text(line.get("input"), _INPUT),
            self._words.text(line.get("reason"), _REASON),
        )

    def _end(self, line: Mapping[str, Any], at: datetime, position: int) -> None:
        session = self.history.sessions[position]
        used = [self._used(row) for row in rows(line.get("tokens"))[:20]]
        for use in used:
            self._add(session.phase_id, use)
        self.history.sessions[position] = replace(
            session,
            ended_at=at,
            seconds=amount(line.get("seconds")),
            outcome=name(line.get("outcome")) or "?",
            error=self._words.text(line.get("error"), _ERROR),
            text=self._words.text(line.get("text"), _TEXT),
            cost_usd=amount(line.get("cost_usd")),
            turns=count(line.get("turns")),
            tools=count(line.get("tools")),
            denied=max(count(line.get("denied")), session.denied),
            retries=count(line.get("retries")),
            tokens=sum(use.tokens for use in used) if used else None,
        )

    def _used(self, row: Mapping[str, Any]) -> ModelUse:
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        counts = {key: count(row.get(key)) for key in names}
        model = name(row.get("model")) or "?"
        return ModelUse(model, 1, **counts, cost_usd=amount(row.get("cost_usd")))

    def _add(self, phase_id: str | None, use: ModelUse) -> None:
        models = self.history.uses.setdefault(phase_id, {})
        models[use.model] = models.get(use.model, ModelUse(use.model)) + use

    def _wait(self, line: Mapping[str, Any], at: datetime) -> Event:
        reason = self._words.text(line.get("reason"), _ERROR)
        seconds = round(amount(line.get("seconds")))
        return Event(at, "wait", "Waiting", f"Up to {timedelta(seconds=seconds)} h: {reason}")

    def _run(self, line: Mapping[str, Any], at: datetime) -> RunFact:
        return RunFact(
            at,
            name(line.get("run")) or "",
            name(line.get("command")) or "",
            name(line.get("exit_reason")) or "?",
            self._words.text(line.get("message"), _ERROR),
            self._words.text(line.get("hint"), _ERROR),
            count(line.get("agent_sessions")),
            amount(line.get("seconds")),
            amount(line.get("cost_usd")),
        )
