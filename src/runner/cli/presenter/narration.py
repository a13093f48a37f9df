"""The permanent lines of a run, for every presenter that writes for people (seed 001 §3.5, §8.9)."""

import json
import time
from collections.abc import Callable
from typing import Any

from runner.app.exit_codes import EXIT_CODES, FAILURE, SUCCESS
from runner.app.result import verified_count
from runner.cli.presenter.activity import retry_label, tool_label
from runner.cli.presenter.lines import BLANK, Level, Line, Tone, line
from runner.events import (
    Checking,
    DeliverablesPlanned,
    ExitReason,
    Notice,
    RunEnded,
    RunEvent,
    RunResult,
    RunStarted,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StatusChanged,
    StreamApiRetry,
    StreamToolDenied,
    StreamToolResponse,
    Waiting,
)
from runner.records.phases import Proof, proof_of
from runner.report.phase_lines import effort_text, progress_text, standing
from runner.text.durations import (
    format_duration,
    format_remaining,
    format_reset_time,
)
from runner.text.messages import format_cost, plural
from runner.text.safe import cut, inert, inert_lines

_ID_LIMIT = 80
_TITLE_LIMIT = 200
_INPUT_LIMIT = 160
_REASON_LIMIT = 400
_MESSAGE_LIMIT = 1000
_LAST_WORDS_LIMIT = 160
_RETRIES_KEPT_QUIET = 2
_MARKDOWN_LEAD = "#>*-_ \t"

_STATUS_TAGS = {
    "passed": ("[PASS]", Tone.GOOD),
    "blocked": ("[BLOCKED]", Tone.CAUTION),
    "pending": ("[PENDING]", Tone.FAINT),
}

_OUTCOMES = {
    SessionOutcome.COMPLETED: "completed in",
    SessionOutcome.EXECUTION_ERROR: "failed after",
    SessionOutcome.QUOTA_EXCEEDED: "met the usage limit after",
    SessionOutcome.BUDGET_EXCEEDED: "reached its budget after",
    SessionOutcome.MAX_TURNS: "reached its limit of turns after",
    SessionOutcome.TIMED_OUT: "ran out of time after",
    SessionOutcome.INTERRUPTED: "interrupted after",
    SessionOutcome.CRASHED: "crashed after",
}
_CALM_OUTCOMES = (SessionOutcome.COMPLETED, SessionOutcome.INTERRUPTED)


def describe_input(name: str, arguments: dict[str, Any]) -> str:
    """Return what a tool call is about: a command, a path, or the arguments as JSON."""
    if name == "Bash" and "command" in arguments:
        return inert(str(arguments["command"]), _INPUT_LIMIT)
    for key in ("file_path", "path", "url"):
        if key in arguments:
            return inert(str(arguments[key]), _INPUT_LIMIT)
    return inert(json.dumps(arguments, ensure_ascii=False, default=str), _INPUT_LIMIT)


class Narrator:
    """Turns run events into the lines that stay.

    Args:
        wall: seconds since the epoch.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._tools = 0
        self._wait: tuple[str, float | None] | None = None
        self._held: list[Line] = []
        self._fatal: str | None = None

    def lines(self, event: RunEvent) -> list[Line]:
        """Return the lines that `event` adds, mostly none."""
        if isinstance(event, SessionActivity):
            return self._activity(event)
        held, self._held = self._held, []
        if isinstance(event, RunEnded) and event.result.message == self._fatal:
            held = []  # the end of the run says it
        return held + self._lasting(event)

    def _lasting(self, event: RunEvent) -> list[Line]:
        waiting, self._wait = self._wait, None
        match event:
            case SessionActivity() | Checking():
                return []
            case RunStarted():
                return _run_started(event)
            case SessionStarted():
                self._tools = 0
                return _session_started(event)
            case SessionEnded():
                why = _why_it_failed(event.result)
                if event.result.fatal:  # mostly the run ends with it, and says so itself
                    self._held, self._fatal, why = why, event.result.error, []
                return [*_session_ended(event, self._tools), *why]
            case StatusChanged():
                return [_status_changed(event)]
            case DeliverablesPlanned():
                return [_planned(event)]
            case Notice():
                return _notice(event)
            case RunEnded():
                return _run_ended(event, self._wall())
            case Waiting():
                self._wait = (event.reason, event.resets_at)
                # A loop that measures a wait again says so with the same event: one line is enough.
                return [] if self._wait == waiting else [self._waiting(event)]

    def _activity(self, activity: SessionActivity) -> list[Line]:
        match activity.event:
            case StreamToolResponse():
                self._tools += 1
                return []
            case StreamToolDenied() as denied:
                return _denied(denied)
            case StreamApiRetry(attempt=attempt) as retry if attempt > _RETRIES_KEPT_QUIET:
                return [_lasting_retry(retry)]
            case _:
                return []

    def _waiting(self, event: Waiting) -> Line:
        why = [inert(event.reason, _MESSAGE_LIMIT)] if event.reason else []
        if event.resets_at is not None:
            why.append(f"resets at {format_reset_time(event.resets_at, self._wall())}")
        return line(": ".join([f"Waiting {format_remaining(event.seconds)}", "; ".join(why)]))


def _run_started(event: RunStarted) -> list[Line]:
    facts = [
        Line(((f"  {inert(f'{label}:')} ", Tone.FAINT), (inert(value), Tone.NORMAL)), whole=True)
        for label, value in event.facts
    ]
    title = line(f"Runner v{event.version}", Tone.STRONG)
    return [title, BLANK, line(inert(event.message, _MESSAGE_LIMIT)), *facts]


_OF_SCOPE = {"plan": "review of the plan", "spec": "review of the whole specification"}


def _session_started(event: SessionStarted) -> list[Line]:
    about = [_OF_SCOPE.get(event.scope or "", event.instruction.value)]
    if event.task_id:
        about.append(inert(event.task_id, _ID_LIMIT))
    if event.task_title:
        about.append(inert(event.task_title, _TITLE_LIMIT))
    spans = (
        (f"Session {event.number}", Tone.STRONG),
        (f": {' '.join(about)}", Tone.NORMAL),
        (f" ({inert(event.model, _ID_LIMIT)})", Tone.FAINT),
    )
    return [BLANK, Line(spans)]


def _session_ended(event: SessionEnded, tools: int) -> list[Line]:
    result = event.result
    counted = [plural(tools, "tool")] if tools else []
    facts = ", ".join([*counted, plural(result.turns, "turn"), format_cost(result.cost_usd)])
    text = (
        f"  Session {event.number} {_OUTCOMES[result.outcome]} "
        f"{format_duration(result.duration_seconds)} ({facts})"
    )
    if result.outcome in _CALM_OUTCOMES:
        return [*_last_words(result), line(text, Tone.FAINT)]
    return [*_last_words(result), line(text, Tone.CAUTION, Level.WARNING)]


def _why_it_failed(result: SessionResult) -> list[Line]:
    if result.outcome in _CALM_OUTCOMES or not result.error:
        return []
    error = f"    {inert(result.error, _MESSAGE_LIMIT)}"
    return [line(error, Tone.CAUTION, Level.WARNING)]


def _last_words(result: SessionResult) -> list[Line]:
    """The agent's own summary: the first line of its last message that is not a heading."""
    if result.text == result.error:
        return []
    lines = [raw.strip() for raw in result.text[: _LAST_WORDS_LIMIT * 20].splitlines()]
    telling = [raw for raw in lines if raw.strip(_MARKDOWN_LEAD) and not raw.startswith("```")]
    if not telling:
        return []
    chosen = next((raw for raw in telling if not raw.startswith("#")), telling[0])
    words = inert(chosen.lstrip(_MARKDOWN_LEAD).replace("**", ""), _LAST_WORDS_LIMIT)
    return [Line(((f"  “{words}”", Tone.FAINT),), clip=True)] if words else []


def _status_changed(event: StatusChanged) -> Line:
    status = inert(event.status, _ID_LIMIT)
    tag, tone = _STATUS_TAGS.get(status, (f"[{status.upper()}]", Tone.NORMAL))
    text = f" {inert(event.deliverable_id, _ID_LIMIT)} {inert(event.description, _TITLE_LIMIT)}"
    return Line(((tag, tone), (text.rstrip(), Tone.NORMAL)), hang=len(tag) + 1)


def _lasting_retry(event: StreamApiRetry) -> Line:
    text = f"  Warning: {retry_label(event)} in {format_remaining(event.delay_seconds)}"
    return line(text, Tone.CAUTION, Level.WARNING)


def _planned(event: DeliverablesPlanned) -> Line:
    names = ", ".join(inert(name, _ID_LIMIT) for name in event.ids)
    text = f"Planned {plural(len(event.ids), 'deliverable')}"
    return line(f"{text}: {names}" if names else text)


def _denied(event: StreamToolDenied) -> list[Line]:
    tag = "[DENIED]"
    call = f" {tool_label(event.name)}: {describe_input(event.name, event.input)}"
    reason = f"{' ' * len(tag)} {inert(event.reason, _REASON_LIMIT)}"
    return [
        Line(((tag, Tone.CAUTION), (call, Tone.NORMAL)), whole=True),
        Line(((reason, Tone.FAINT),), hang=len(tag) + 1),
    ]


_NOTICES = {
    "info": ("", Tone.NORMAL, Level.INFO),
    "warning": ("Warning: ", Tone.CAUTION, Level.WARNING),
    "error": ("Error: ", Tone.BAD, Level.ERROR),
}


def _notice(event: Notice) -> list[Line]:
    prefix, tone, level = _NOTICES.get(event.level, _NOTICES["warning"])
    lines = [line(f"{prefix}{inert(event.message, _MESSAGE_LIMIT)}", tone, level)]
    if event.hint:
        lines.append(line(f"  {inert(event.hint, _MESSAGE_LIMIT)}", Tone.FAINT, level))
    return lines


def _run_ended(event: RunEnded, now: float) -> list[Line]:
    result = event.result
    termination = _termination(event)
    hint = (cut(text, _MESSAGE_LIMIT) for text in inert_lines(result.hint or ""))
    advice = (_reset(result, now), *hint)
    return [
        *_phases(event),
        line("", level=Level.FINAL),
        _overall(event),
        termination,
        *(line(f"  {text}", level=Level.FINAL) for text in (_blocked(result),) if text),
        # What to do about an error goes where the error went.
        *(line(f"  {text}", level=termination.level) for text in advice if text),
    ]


def _phases(event: RunEnded) -> list[Line]:
    """How the phases stand, and what they and their deliverables took over all runs."""
    lines = [BLANK] if event.details.get("phases") else []
    for row in event.details.get("phases") or ():
        name = inert(row["phase_id"], _ID_LIMIT)
        parts = [progress_text(row), *standing(row)]
        lines.append(line(f"Phase {name}: {', '.join(parts)}"))
        if effort := effort_text(row):
            lines.append(line(f"  {effort}", Tone.FAINT))
        if row["review_path"] and row["gate_status"] not in ("passed", "waived", None):
            lines.append(line(f"  review: {inert(row['review_path'])}", Tone.FAINT))
        for item in row["deliverables"]:
            text = f"    {inert(item['id'], _ID_LIMIT)}: {effort_text(item)}"
            lines.append(line(text, Tone.FAINT))
    return lines


def _overall(event: RunEnded) -> Line:
    result, counts = event.result, event.result.counts
    proof = _proof(event)
    done = f"{proof.passed}/{counts.total} deliverables passed{_remark(event)}"
    if result.command == "sync":
        verified = verified_count(event.details)
        if verified is None:
            verified = counts.total if result.exit_reason is ExitReason.ALL_VERIFIED else 0
        done = f"{verified}/{counts.total} verified"
    text = (
        f"Overall: {result.agent_sessions} session(s), {done}, "
        f"cost={format_cost(result.total_cost_usd)}, "
        f"duration={format_duration(result.duration_seconds)}"
    )
    return line(text, Tone.STRONG, Level.FINAL)


def _proof(event: RunEnded) -> Proof:
    return proof_of(event.result.counts.passed, event.details.get("phases") or ())


def _remark(event: RunEnded) -> str:
    """Say how many are only claimed, where the phases are known."""
    return _proof(event).remark if event.details.get("phases") else ""


def _termination(event: RunEnded) -> Line:
    result = event.result
    code = EXIT_CODES[result.exit_reason]
    message = inert(result.message, _MESSAGE_LIMIT)
    if code == FAILURE:
        return line(f"Error: {message}", Tone.BAD, Level.ERROR)
    partly = result.exit_reason is ExitReason.PARTLY_PASSED
    good = code == SUCCESS and not partly and not _remark(event)
    return line(message, Tone.GOOD if good else Tone.CAUTION, Level.FINAL)


def _blocked(result: RunResult) -> str:
    names = ", ".join(inert(name, _ID_LIMIT) for name in result.blocked_ids)
    return f"Blocked: {names}" if names else ""


def _reset(result: RunResult, now: float) -> str:
    told = f"{result.message} {result.hint or ''}".lower()
    if result.quota_resets_at is None or "reset" in told:
        return ""
    return f"Resets at {format_reset_time(result.quota_resets_at, now)}"
