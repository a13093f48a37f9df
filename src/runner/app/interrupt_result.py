"""The result of a run that is ended on the spot, before it could say so itself."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from runner.deliverables.model import Counts, StatusFile
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


class LastWords:
    """A sink that keeps count of a run, passes every event on, and can tell the result at any time.

    Args:
        project_dir: its deliverables are in the result as they are then.
        command: `run` or `sync`.
        sink: gets every event.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        project_dir: Path,
        command: str,
        sink: RunSink,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._project_dir = project_dir
        self._command = command
        self._sink = sink
        self._clock = clock
        self._started = clock()
        self._sessions = self._iterations = 0
        self._cost = self._open_cost = 0.0
        self._told = False

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
                self._told = True
            case _:
                pass
        self._sink(event)

    def tell(self, signal_number: int) -> None:
        """Tell the sink that the run was interrupted, unless its end was told."""
        if self._told:
            return
        self._told = True
        file = self._deliverables()
        self._sink(
            RunEnded(
                RunResult(
                    command=self._command,
                    exit_reason=ExitReason.INTERRUPTED,
                    message="User interrupted",
                    hint="It was ended at once; what was saved until then stands.",
                    spec_id=file.spec_id if file else derive_spec_id(self._project_dir),
                    counts=file.counts if file else Counts(),
                    iterations=self._iterations,
                    agent_sessions=self._sessions,
                    duration_seconds=self._clock() - self._started,
                    total_cost_usd=self._cost + self._open_cost,
                    blocked_ids=tuple(d.id for d in file.blocked) if file else (),
                    signal_number=signal_number,
                )
            )
        )

    def _deliverables(self) -> StatusFile | None:
        with suppress(RunnerError):
            return StatusRepository(status_path(self._project_dir)).load()
        return None
