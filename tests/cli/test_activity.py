from dataclasses import replace

import pytest
from tests.cli.clocks import Clock
from tests.cli.scenes import result

from runner.cli.presenter.activity import Activity
from runner.events import (
    Checking,
    CheckStage,
    RunEnded,
    RunEvent,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StreamApiRetry,
    StreamEnd,
    StreamError,
    StreamEvent,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    StreamToolResponse,
    Waiting,
)
from runner.marker import Instruction

STARTED = SessionStarted(1, Instruction.CODING, 1, "sonnet")
ENDED = SessionEnded(1, Instruction.CODING, SessionResult(SessionOutcome.COMPLETED))
SIX_PM = 1_795_284_000.0  # 2026-11-21 18:00 UTC


def after(*events: RunEvent | StreamEvent, seconds: float = 5) -> str:
    """What a session says `seconds` after it began with `events`."""
    clock = Clock()
    activity = Activity(clock, clock)
    activity.update(STARTED)
    for event in events:
        activity.update(SessionActivity(event) if isinstance(event, StreamEvent) else event)
    clock.seconds += seconds
    return activity.text()


def tools(count: int) -> list[StreamEvent]:
    return [StreamToolResponse("t", "", is_error=False)] * count


def test_nothing_is_going_on_before_a_session() -> None:
    assert Activity().text() == ""


@pytest.mark.parametrize(
    ("events", "seconds", "text"),
    [
        ([], 0, "⚡ 0s Starting..."),
        ([StreamThinking("")], 5, "⚡ 5s Thinking..."),
        ([*tools(1), StreamToolInvocation("t", "bash", {})], 12, "⚡ 12s Running bash... (1 tool)"),
        (
            [*tools(3), StreamToolInvocation("t", "Read", {})],
            45,
            "⚡ 45s Running Read... (3 tools)",
        ),
        ([*tools(7), StreamText("")], 83, "⚡ 1m 23s Responding... (7 tools)"),
        ([*tools(42), StreamText("")], 3900, "⚡ 1h 5m Responding... (42 tools)"),
    ],
)
def test_the_line_of_the_seed(events: list[StreamEvent], seconds: float, text: str) -> None:
    assert after(*events, seconds=seconds) == text


def test_a_tool_answer_changes_the_count_alone() -> None:
    events = [StreamToolInvocation("t", "Read", {}), *tools(1)]
    assert after(*events) == "⚡ 5s Running Read... (1 tool)"


def test_an_error_changes_nothing() -> None:
    assert after(StreamThinking(""), StreamError("x")) == "⚡ 5s Thinking..."


def test_an_injected_tool_has_its_short_name() -> None:
    invocation = StreamToolInvocation("t", "mcp__runner__set_status", {})
    assert after(invocation) == "⚡ 5s Running set_status..."


def test_a_retry_is_shown_with_its_cause() -> None:
    retry = StreamApiRetry(2, 10, 4.0, 529, "overloaded_error")
    assert after(retry) == "⚡ 5s API retry 2 of 10 (529 overloaded_error)..."


def test_a_retry_without_an_answer_says_so() -> None:
    assert "(no answer)" in after(StreamApiRetry(1, 10, 1.0, None, ""))


@pytest.mark.parametrize("event", [StreamEnd(), ENDED, RunEnded(result())])
def test_the_line_goes_when_the_session_does(event: RunEvent | StreamEvent) -> None:
    assert after(StreamThinking(""), event) == ""


def test_a_new_session_counts_its_tools_from_zero() -> None:
    assert after(*tools(3), STARTED, seconds=0) == "⚡ 0s Starting..."


def test_the_waiting_line_of_the_seed() -> None:
    wall = Clock(SIX_PM - 9840)
    activity = Activity(wall=wall)
    activity.update(Waiting(9840, "quota exceeded", SIX_PM))
    assert activity.text() == "⏳ Waiting... 2h 44m remaining (resets at 6:00 PM UTC)"


def test_a_wait_follows_the_wall_clock() -> None:
    wall = Clock(SIX_PM - 9840)
    activity = Activity(wall=wall)
    activity.update(Waiting(9840, "quota exceeded", SIX_PM))
    wall.seconds = SIX_PM - 30  # the machine slept
    assert activity.text() == "⏳ Waiting... 30s remaining (resets at 6:00 PM UTC)"


def test_a_wait_without_a_reset_says_why() -> None:
    activity = Activity(wall=Clock())
    activity.update(Waiting(8, "the session failed"))
    assert activity.text() == "⏳ Waiting... 8s remaining (the session failed)"


def test_a_session_ends_the_wait() -> None:
    assert after(Waiting(8, "x"), STARTED, seconds=0) == "⚡ 0s Starting..."


RUNNING = Checking(CheckStage.RUNNING, command="make test", number=2, total=5)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Checking(CheckStage.PREPARING), "⚡ 5s Preparing a clean room for verification..."),
        (
            Checking(CheckStage.SETUP, command="npm ci"),
            "⚡ 5s Setting up for verification: npm ci",
        ),
        (RUNNING, "⚡ 5s Verifying 2 of 5: make test"),
        (replace(RUNNING, baseline=True), "⚡ 5s Trying before any work 2 of 5: make test"),
        (replace(RUNNING, command="a\x1b[2J\nb"), "⚡ 5s Verifying 2 of 5: a␛[2J b"),
        (Checking(CheckStage.ENDED, total=5), ""),
    ],
)
def test_the_runners_own_commands_are_shown(event: Checking, text: str) -> None:
    assert after(ENDED, event) == text


def test_each_command_has_a_time_of_its_own() -> None:
    clock = Clock()
    activity = Activity(clock, clock)
    activity.update(RUNNING)
    clock.seconds += 60
    activity.update(replace(RUNNING, number=3))
    assert activity.text() == "⚡ 0s Verifying 3 of 5: make test"


@pytest.mark.parametrize("event", [STARTED, ENDED, Waiting(60, "")])
def test_nothing_is_left_of_a_command_when_something_else_begins(event: RunEvent) -> None:
    assert "Verifying" not in after(RUNNING, event)
