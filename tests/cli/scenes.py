"""Realistic event sequences. As a program it plays one: `python scenes.py FORMAT PACE [quiet|debug]`."""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from runner.cli.presenter import OutputFormat, make_presenter
from runner.deliverables.model import Counts
from runner.events import (
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
    StreamEnd,
    StreamText,
    StreamThinking,
    StreamToolDenied,
    StreamToolInvocation,
    StreamToolResponse,
    Waiting,
)
from runner.marker import Instruction

LAST_WORDS = "## Done\n\nThe parser accepts **every** form the spec names, and its tests pass."


_FINISHED = RunResult(
    command="run",
    exit_reason=ExitReason.ALL_PASSED,
    message="All achievable deliverables passed",
    spec_id="todo-cli",
    counts=Counts(total=3, passed=2, blocked=1, pending=0),
    iterations=3,
    agent_sessions=4,
    duration_seconds=3661.4,
    total_cost_usd=0.412,
    blocked_ids=("UI-003",),
    hint="Read .runner-note.md for what blocks UI-003.",
)


def result(**changes: Any) -> RunResult:
    """A finished run, with changes."""
    return replace(_FINISHED, **changes)


def tool(name: str, number: int = 1, **arguments: object) -> Iterator[RunEvent]:
    """A tool call and its answer."""
    yield SessionActivity(StreamToolInvocation(f"t{number}", name, arguments))
    yield SessionActivity(StreamToolResponse(f"t{number}", "ok\nsecond line", is_error=False))


def planning() -> Iterator[RunEvent]:
    """The startup display and a planning session."""
    yield RunStarted(
        "0.1.0",
        "Implementing SPEC.md",
        (
            ("Working directory", "/home/ada/projects/todo-cli"),
            ("Plan model", "opus"),
            ("Model", "sonnet"),
        ),
    )
    yield Notice("warning", "The sandbox is off.", "Install socat and run again.")
    yield SessionStarted(1, Instruction.INITIALIZER, 1, "opus")
    yield SessionActivity(StreamThinking("The spec names three parts."))
    yield from tool("Read", file_path="SPEC.md")
    yield from tool("mcp__runner__create", deliverables=[])
    yield DeliverablesPlanned(("UI-001", "UI-002", "UI-003"))
    yield SessionActivity(StreamEnd())
    done = SessionResult(SessionOutcome.COMPLETED, "Planned.", None, 0.06, 4, 41.2)
    yield SessionEnded(1, Instruction.INITIALIZER, done)


def coding() -> Iterator[RunEvent]:
    """A coding session with everything in it, and one that fails."""
    yield SessionStarted(2, Instruction.CODING, 2, "sonnet", "UI-001", "Parse the arguments")
    yield SessionActivity(StreamThinking(""))
    for number in range(7):
        yield from tool("Bash", number, command="pytest -q")
    yield SessionActivity(
        StreamToolDenied("Bash", {"command": "git push --force"}, "Pushing is the user's to do.")
    )
    for attempt in (1, 2, 3):
        yield SessionActivity(StreamApiRetry(attempt, 10, 2.0**attempt, 529, "overloaded_error"))
    yield SessionActivity(StreamText("Almost there."))
    yield StatusChanged("UI-001", "passed", "Parse the arguments")
    yield StatusChanged("UI-003", "blocked", "Send mail when a task is due")
    yield StatusChanged("UI-002", "pending", "Store the tasks")
    done = SessionResult(SessionOutcome.COMPLETED, LAST_WORDS, None, 0.21, 12, 83.0)
    yield SessionEnded(2, Instruction.CODING, done)
    yield SessionStarted(3, Instruction.CODING, 3, "sonnet", "UI-002", "Store the tasks")
    yield SessionActivity(StreamToolInvocation("t1", "Write", {"file_path": "store.py"}))
    failed = SessionResult(
        SessionOutcome.CRASHED, "", "The agent process ended with status 1.", 0.02, 1, 12.0
    )
    yield SessionEnded(3, Instruction.CODING, failed)
    yield Waiting(2.0, "the session failed, retry 1 of 3")


def whole_run() -> Iterator[RunEvent]:
    """A run from the startup display to the Overall line."""
    yield from planning()
    yield from coding()
    yield SessionStarted(4, Instruction.CODING, 3, "sonnet", "UI-002", "Store the tasks")
    yield from tool("Edit", file_path="store.py")
    yield StatusChanged("UI-002", "passed", "Store the tasks")
    done = SessionResult(SessionOutcome.COMPLETED, "Stored.", None, 0.12, 6, 61.0)
    yield SessionEnded(4, Instruction.CODING, done)
    yield RunEnded(result())


def main() -> None:
    """Play the whole run on the real streams, `PACE` seconds between the events."""
    output_format, pace, *flags = sys.argv[1:]
    presenter = make_presenter(
        output_format=cast("OutputFormat", output_format),
        quiet="quiet" in flags,
        debug="debug" in flags,
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
    )
    with presenter:
        for event in whole_run():
            presenter(event)
            time.sleep(float(pace))


if __name__ == "__main__":
    main()
