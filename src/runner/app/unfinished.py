"""The results of runs that can't make their own: interrupted at once, or never started."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.app.result import result_object
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.errors import RunnerError
from runner.events import (
    ExitReason,
    RunEnded,
    RunEvent,
    RunResult,
    SessionActivity,
    SessionEnded,
    SessionStarted,
    StreamUsage,
)
from runner.ports import RunSink


def startup_failure(
    command: str,
    directory: Path,
    code: int,
    message: str,
    hint: str | None,
    *,
    signal_number: int | None = None,
) -> Mapping[str, Any]:
    """Return the result object of a command that ended before it began.

    Args:
        directory: the project; its deliverables are counted.
        code: the exit code.
        message: why it did not begin.
        hint: what to do about it.
        signal_number: of the signal that kept it from beginning, None where something else did.
    """
    reason = ExitReason.ERROR if signal_number is None else ExitReason.INTERRUPTED
    result = _result(directory, command, reason, message, hint=hint, signal_number=signal_number)
    return {**result_object(RunEnded(result)), "exit_code": code}


class InterruptResult:
    """A subscriber that keeps count of a run, and can publish its result at any time.

    Args:
        directory: the project; its deliverables are in the result as they are then.
        command: `run` or `sync`.
        publish: gets the result.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        directory: Path,
        command: str,
        publish: RunSink,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._command = command
        self._publish = publish
        self._clock = clock
        self._started = clock()
        self._sessions = self._iterations = 0
        self._cost = self._open_cost = 0.0
        self._ended = False

    def __call__(self, event: RunEvent) -> None:
        """Take in one event."""
        match event:
            case SessionStarted():
                self._sessions, self._iterations = event.number, event.iteration
            case SessionActivity(event=StreamUsage(estimated_usd=amount)):
                self._open_cost = amount
            case SessionEnded():
                self._cost += event.result.cost_usd
                self._open_cost = 0.0
            case RunEnded():
                self._ended = True
            case _:
                pass

    def publish(self, signal_number: int) -> None:
        """Publish that the run was interrupted, unless its end has been published."""
        if self._ended:
            return
        self._ended = True
        result = _result(
            self._directory,
            self._command,
            ExitReason.INTERRUPTED,
            "User interrupted",
            hint="It was ended at once; everything saved before that is kept.",
            iterations=self._iterations,
            agent_sessions=self._sessions,
            duration_seconds=self._clock() - self._started,
            total_cost_usd=self._cost + self._open_cost,
            signal_number=signal_number,
        )
        self._publish(RunEnded(result))


def _result(
    directory: Path, command: str, reason: ExitReason, message: str, **more: Any
) -> RunResult:
    """Return a result with the project as far as it can be read."""
    plan = None
    spec_id = ""
    with suppress(RunnerError, OSError, ValueError):
        if directory.is_dir():
            spec_id = derive_spec_id(directory)
            plan = StatusRepository(status_path(directory)).load()
    return RunResult.of(
        plan,
        command=command,
        exit_reason=reason,
        message=message,
        spec_id=plan.spec_id if plan else spec_id,
        **more,
    )
