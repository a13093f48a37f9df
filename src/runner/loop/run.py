"""The loop behind `runner run` and `runner sync`, from its start to its result.

What comes next is decided by a `Flow`, agent sessions are run by `Sessions`; here a run begins,
is stopped, and becomes a result.
"""

import time
from contextlib import suppress
from typing import Any, Protocol

import anyio

from runner.deliverables.model import StatusFile
from runner.errors import RunnerError
from runner.events import ExitReason, RunEnded, RunResult
from runner.loop.drive import Drive
from runner.loop.endings import with_proof
from runner.loop.prefetch import ConnectAhead
from runner.loop.sessions import Sessions
from runner.loop.settings import RunSettings, SessionDependencies
from runner.loop.termination import Ending, RunEndedError, Situation, broken_off, interrupted
from runner.quota.waiting import QuotaWait
from runner.records.baseline import with_baseline


class Flow(Protocol):
    """Decides which agent session comes next, and when the goal is reached."""

    command: str

    async def run(self, sessions: Sessions) -> Ending:
        """Run sessions until there is a reason to end.

        Raises:
            RunEndedError: a reason was found before a session.
        """
        ...

    async def wind_up(self) -> None:
        """Put down what is not written yet; the run ends, for whatever reason."""
        ...

    def achieved(self) -> object:
        """Return a value that differs when something was achieved beyond statuses and files."""
        ...

    def details(self) -> dict[str, Any]:
        """Return what the result object says beyond the common part."""
        ...


class Run:
    """One `runner run` or `runner sync`.

    Args:
        flow: what the command decides.
        quota: decides about usage limits; made from the settings when left out.
        drive: runs single sessions; made from the settings when left out.
    """

    def __init__(
        self,
        settings: RunSettings,
        around: SessionDependencies,
        flow: Flow,
        *,
        quota: QuotaWait | None = None,
        drive: Drive | None = None,
    ) -> None:
        self._settings = settings
        self._around = around
        self._flow = flow
        self._drive = drive or Drive(settings.session_timeout_seconds)
        self._quota = quota or QuotaWait(settings.quota, sleep=around.sleep)
        self._sessions: Sessions | None = None
        self._stopped = False
        self._signal_number: int | None = None

    def stop(self, signal_number: int) -> None:
        """Ask the run to end now, in order; it then returns INTERRUPTED."""
        self._signal_number = signal_number
        self._stopped = True
        if self._sessions is not None:
            self._sessions.interrupt()
        self._drive.stop()

    async def execute(self) -> RunResult:
        """Run until there is a reason to end, tell the sink, and return the result.

        What goes wrong on the way is the result, with what was done and spent until then.
        """
        started = time.monotonic()
        try:
            ending = await self._until_ending()
        except* RunnerError as group:
            # Task groups wrap what is raised in them; people are told the error itself.
            ending = broken_off(_first(group))
        details = self._flow.details()
        if details.get("phases"):
            rows = with_baseline(
                self._settings.project_dir, details["phases"], self._deliverables()
            )
            details = {**details, "phases": rows}
        ending = with_proof(ending, details.get("phases") or ())
        result = self._result(ending, time.monotonic() - started)
        self._around.sink(RunEnded(result, details))
        return result

    async def _until_ending(self) -> Ending:
        async with (
            anyio.create_task_group() as tasks,
            ConnectAhead(self._around.factory, tasks) as ahead,
        ):
            sessions = self._sessions = Sessions(
                self._settings,
                self._around,
                drive=self._drive,
                ahead=ahead,
                quota=self._quota,
                achieved=self._flow.achieved,
            )
            if self._stopped:
                sessions.interrupt()
            return await self._flowing(sessions)
        # Reached only if a context manager swallowed an error: then the run must not look done.
        return Ending(ExitReason.ERROR, "The run ended without a reason")

    async def _flowing(self, sessions: Sessions) -> Ending:
        ending: Ending | None = None
        try:
            with self._drive.scope():
                ending = await self._flow.run(sessions)
        except RunEndedError as end:
            ending = end.ending
        finally:
            with anyio.CancelScope(shield=True):
                await sessions.close()
                await self._flow.wind_up()
        situation = sessions.look()
        if ending is not None:
            return ending
        return interrupted(situation) or Ending(ExitReason.ERROR, "The run was cut off")

    def _result(self, ending: Ending, duration_seconds: float) -> RunResult:
        now = self._sessions.situation if self._sessions else Situation(self._settings.limits)
        file = now.file or self._deliverables()
        quota = ending.reason is ExitReason.QUOTA_EXCEEDED
        return RunResult.of(
            file,
            command=self._flow.command,
            exit_reason=ending.reason,
            message=ending.message,
            hint=ending.hint,
            spec_id=self._settings.spec_id,
            iterations=now.iterations,
            agent_sessions=now.sessions,
            duration_seconds=duration_seconds,
            total_cost_usd=now.cost_usd,
            signal_number=self._signal_number,
            quota_resets_at=now.last.quota_resets_at if quota and now.last else None,
            needs_person=ending.needs_person,
        )

    def _deliverables(self) -> StatusFile | None:
        """Return the deliverables of a run that broke off before it looked at them."""
        with suppress(RunnerError):
            return self._around.deliverables.load()
        return None


def _first(group: ExceptionGroup[RunnerError]) -> RunnerError:
    first: RunnerError | ExceptionGroup[RunnerError] = group
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first
