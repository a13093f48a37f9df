from typing import Any

import pytest
from tests.cli.clocks import Clock
from tests.cli.phases import row
from tests.cli.scenes import LAST_WORDS, result

from runner.cli.presenter.lines import Level, Line
from runner.cli.presenter.narration import Narrator
from runner.deliverables.model import Counts
from runner.events import (
    DeliverablesPlanned,
    ExitReason,
    Notice,
    RunEnded,
    RunEvent,
    RunStarted,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StatusChanged,
    StreamApiRetry,
    StreamError,
    StreamText,
    StreamThinking,
    StreamToolDenied,
    StreamToolResponse,
    Waiting,
)
from runner.marker import Instruction

SIX_PM = 1_795_284_000


def told(*events: RunEvent) -> list[Line]:
    narrator = Narrator(Clock(SIX_PM - 9840.0))
    return [line for event in events for line in narrator.lines(event)]


def texts(*events: RunEvent) -> list[str]:
    return [line.text for line in told(*events)]


def ended(outcome: SessionOutcome = SessionOutcome.COMPLETED, **values: Any) -> SessionEnded:
    facts = {"turns": 12, "cost_usd": 0.21, "duration_seconds": 83.0} | values
    return SessionEnded(2, Instruction.CODING, SessionResult(outcome, **facts))


def test_the_startup_display() -> None:
    facts = (("Working directory", "/srv/app"), ("Plan model", "opus"), ("Model", "sonnet"))
    assert texts(RunStarted("0.1.0", "Implementing SPEC.md", facts)) == [
        "Runner v0.1.0",
        "",
        "Implementing SPEC.md",
        "  Working directory: /srv/app",
        "  Plan model: opus",
        "  Model: sonnet",
    ]


def test_a_session_says_its_instruction_deliverable_and_model() -> None:
    event = SessionStarted(2, Instruction.CODING, 1, "sonnet", "UI-001", "Parse the arguments")
    assert texts(event) == ["", "Session 2: coding UI-001 Parse the arguments (sonnet)"]


def test_a_planning_session_has_no_deliverable() -> None:
    event = SessionStarted(1, Instruction.INITIALIZER, 1, "opus")
    assert texts(event) == ["", "Session 1: initializer (opus)"]


def test_a_finished_session_says_what_it_took() -> None:
    answer = SessionActivity(StreamToolResponse("t", "", is_error=False))
    assert texts(answer, ended()) == [
        "  Session 2 completed in 1m 23s (1 tool, 12 turns, $0.21)",
    ]


def test_tools_are_counted_for_each_session() -> None:
    answer = SessionActivity(StreamToolResponse("t", "", is_error=False))
    start = SessionStarted(2, Instruction.CODING, 1, "sonnet")
    assert texts(answer, start, ended())[-1] == (
        "  Session 2 completed in 1m 23s (12 turns, $0.21)"
    )


def test_a_failed_session_is_a_warning_with_its_error() -> None:
    lines = told(ended(SessionOutcome.CRASHED, error="The agent process died."))
    assert [line.text for line in lines] == [
        "  Session 2 crashed after 1m 23s (12 turns, $0.21)",
        "    The agent process died.",
    ]
    assert {line.level for line in lines} == {Level.WARNING}


def test_an_error_that_ends_the_run_is_said_once() -> None:
    failed = ended(SessionOutcome.EXECUTION_ERROR, error="No key", fatal=True)
    last = RunEnded(result(exit_reason=ExitReason.FAILED, message="No key"))
    assert [text for text in texts(failed, last) if "No key" in text] == ["Error: No key"]


def test_an_error_that_does_not_end_the_run_is_said_before_what_follows() -> None:
    failed = ended(SessionOutcome.EXECUTION_ERROR, error="No key", fatal=True)
    last = RunEnded(result(exit_reason=ExitReason.BUDGET_EXCEEDED, message="Spent"))
    assert texts(failed, last)[1] == "    No key"


@pytest.mark.parametrize("outcome", SessionOutcome)
def test_every_outcome_has_words(outcome: SessionOutcome) -> None:
    assert texts(ended(outcome))[0].startswith("  Session 2 ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Done.", "  “Done.”"),
        (LAST_WORDS, "  “The parser accepts every form the spec names, and its tests pass.”"),
        ("# Only a heading", "  “Only a heading”"),
        ("\n\n- a point\n- another", "  “a point”"),
        ("```\ncode\n```", "  “code”"),
        ("x" * 500, f"  “{'x' * 159}…”"),
    ],
)
def test_the_last_words_are_one_short_line(text: str, words: str) -> None:
    assert texts(ended(text=text))[0] == words


@pytest.mark.parametrize("text", ["", " \n ", "---"])
def test_a_silent_agent_has_no_last_words(text: str) -> None:
    assert len(texts(ended(text=text))) == 1


@pytest.mark.parametrize(
    ("status", "tag"),
    [("passed", "[PASS]"), ("blocked", "[BLOCKED]"), ("pending", "[PENDING]"), ("odd", "[ODD]")],
)
def test_a_status_change_has_its_tag(status: str, tag: str) -> None:
    assert texts(StatusChanged("UI-001", status, "Parse")) == [f"{tag} UI-001 Parse"]


def test_a_plan_names_its_deliverables() -> None:
    assert texts(DeliverablesPlanned(("A", "B"))) == ["Planned 2 deliverables: A, B"]


def test_a_denied_command_is_shown_with_the_reason() -> None:
    denied = StreamToolDenied("Bash", {"command": "rm -rf\n/"}, "It leaves the project.")
    assert texts(SessionActivity(denied)) == [
        "[DENIED] Bash: rm -rf /",
        "         It leaves the project.",
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("Write", {"file_path": "/etc/passwd", "content": "x"}, "Write: /etc/passwd"),
        ("mcp__runner__verify", {"deliverableId": "A"}, 'verify: {"deliverableId": "A"}'),
    ],
)
def test_a_denied_call_names_what_it_is_about(
    name: str, arguments: dict[str, Any], shown: str
) -> None:
    assert (
        texts(SessionActivity(StreamToolDenied(name, arguments, "No.")))[0] == f"[DENIED] {shown}"
    )


@pytest.mark.parametrize(("attempt", "count"), [(1, 0), (2, 0), (3, 1), (4, 1)])
def test_api_retries_stay_from_the_third_on(attempt: int, count: int) -> None:
    assert len(texts(SessionActivity(StreamApiRetry(attempt, 10, 4.0, 529, "overloaded")))) == count


def test_a_lasting_retry_is_a_warning() -> None:
    (line,) = told(SessionActivity(StreamApiRetry(3, 10, 4.0, 529, "overloaded")))
    assert line.text == "  Warning: API retry 3 of 10 (529 overloaded) in 4s"
    assert line.is_for_stderr


def test_an_error_inside_a_session_waits_for_the_session_result() -> None:
    assert told(SessionActivity(StreamError("The tool server went away."))) == []


@pytest.mark.parametrize("event", [StreamThinking("deep"), StreamText("words")])
def test_thinking_and_talking_leave_no_line(event: StreamThinking | StreamText) -> None:
    assert texts(SessionActivity(event)) == []


def test_a_quota_wait_says_how_long_and_until_when() -> None:
    assert texts(Waiting(9840, "quota exceeded", SIX_PM)) == [
        "Waiting 2h 44m: quota exceeded; resets at 6:00 PM UTC"
    ]


def test_a_wait_that_is_measured_again_is_told_once() -> None:
    assert len(texts(Waiting(9840, "quota", SIX_PM), Waiting(9830, "quota", SIX_PM))) == 1


def test_a_second_wait_after_a_session_is_told_again() -> None:
    assert sum("Waiting" in text for text in texts(Waiting(2, "x"), ended(), Waiting(2, "x"))) == 2


@pytest.mark.parametrize(
    ("level", "text", "is_for_stderr"),
    [
        ("info", "Careful.", False),
        ("warning", "Warning: Careful.", True),
        ("error", "Error: Careful.", True),
        ("unheard-of", "Warning: Careful.", True),
    ],
)
def test_notices(level: str, text: str, is_for_stderr: bool) -> None:
    lines = told(Notice(level, "Careful.", "Look again."))
    assert [line.text for line in lines] == [text, "  Look again."]
    assert {line.is_for_stderr for line in lines} == {is_for_stderr}


def test_the_end_of_a_run() -> None:
    assert texts(RunEnded(result())) == [
        "",
        "Overall: 4 session(s), 2/3 deliverables passed, cost=$0.41, duration=1h 1m 1s",
        "All achievable deliverables passed",
        "  Blocked: UI-003",
        "  Read .runner-note.md for what blocks UI-003.",
    ]


@pytest.mark.parametrize(
    ("reason", "details", "count"),
    [
        (ExitReason.ALL_VERIFIED, {"verified": 3}, "3/3"),
        (ExitReason.ALL_VERIFIED, {}, "3/3"),
        (ExitReason.MAX_ITERATIONS, {"verified": 2}, "2/3"),
        (ExitReason.MAX_ITERATIONS, {}, "0/3"),
    ],
)
def test_sync_ends_with_what_was_verified(
    reason: ExitReason, details: dict[str, Any], count: str
) -> None:
    event = RunEnded(result(command="sync", exit_reason=reason), details)
    assert f"4 session(s), {count} verified, cost=" in texts(event)[1]


def test_a_failed_run_ends_with_an_error() -> None:
    run = result(exit_reason=ExitReason.FAILED, message="The key was refused.", blocked_ids=())
    error, hint = told(RunEnded(run))[2:]
    assert (error.text, error.level) == ("Error: The key was refused.", Level.ERROR)
    assert hint.is_for_stderr


@pytest.mark.parametrize(
    "reason", [ExitReason.MAX_ITERATIONS, ExitReason.QUOTA_EXCEEDED, ExitReason.ALL_PASSED]
)
def test_other_ends_belong_to_the_output(reason: ExitReason) -> None:
    lines = told(RunEnded(result(exit_reason=reason, counts=Counts())))
    assert {line.level for line in lines} == {Level.FINAL}


def test_a_quota_end_says_when_to_come_back() -> None:
    run = result(
        exit_reason=ExitReason.QUOTA_EXCEEDED,
        message="Quota exceeded",
        quota_resets_at=SIX_PM,
        blocked_ids=(),
        hint=None,
    )
    assert texts(RunEnded(run))[3:] == ["  Resets at 6:00 PM UTC"]


def test_a_reset_that_was_told_is_not_told_twice() -> None:
    run = result(message="Quota exceeded, resets at six", quota_resets_at=SIX_PM)
    assert not any("Resets" in text for text in texts(RunEnded(run)))


def test_advice_of_several_lines_keeps_its_lines() -> None:
    hint = "Decide:\n  runner session resume"
    assert texts(RunEnded(result(blocked_ids=(), hint=hint)))[-2:] == [
        "  Decide:",
        "    runner session resume",
    ]


def test_the_end_of_a_run_tells_how_phases_stand_and_what_they_took() -> None:
    took = {"agent_sessions": 2, "agent_seconds": 61.0, "cost_usd": 0.12}
    item = {"id": "UI-001", "agent_sessions": 1, "agent_seconds": 40.0, "cost_usd": 0.1}
    closed = {"gate_status": "passed", "verdict": "pass", "duration_seconds": 60.0}
    phase = row(verified_at="now", **closed, **took)
    phases = [{**phase, "deliverables": [item]}]
    assert texts(RunEnded(result(), {"phases": phases}))[:5] == [
        "",
        "Phase p: 2/2 passed, verified, gate passed (pass), closed after 1m",
        "  2 sessions, 1m 1s, $0.12",
        "    UI-001: 1 session, 40s, $0.10",
        "",
    ]


def test_a_phase_that_is_not_closed_names_its_review() -> None:
    phase = row(gate_status="failed", verdict="fail", review_path=".runner/review.md")
    assert "  review: .runner/review.md" in texts(RunEnded(result(), {"phases": [phase]}))


def test_phases_are_left_out_of_a_quiet_output() -> None:
    levels = {line.level for line in told(RunEnded(result(), {"phases": [row()]}))[:2]}
    assert levels == {Level.INFO}


def test_the_overall_line_tells_what_was_only_claimed() -> None:
    phases = [row(gate_status=None, duration_seconds=60.0)]
    assert "2/3 deliverables passed (2 claimed, not proved)," in _overall(phases)


def test_the_overall_line_counts_no_work_of_a_phase_whose_review_failed() -> None:
    phases = [row(gate_status="failed", verdict="fail", verified_at="now")]
    assert "0/3 deliverables passed (2 claimed)," in _overall(phases)


def _overall(phases: list[dict[str, Any]]) -> str:
    said = texts(RunEnded(result(), {"phases": phases}))
    (overall,) = [text for text in said if text.startswith("Overall:")]
    return overall
