"""The control plane as the loop calls it: one request at a time, off the event loop."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio

from runner.autonomy.client import GateAnswer, SessionAnswer, SessionView
from runner.autonomy.inputs import StepReport
from runner.deliverables.review import ReviewVerdict
from runner.errors import RunnerError
from runner.events import Notice
from runner.ports import ControlPlanePort, RunSink


class PlaneRefusedError(RunnerError):
    """The control plane refused a request, and nothing was changed.

    Attributes:
        code: the `error_code` of CONTRACT §6.
        data: what the refusal says for programs.
    """

    def __init__(self, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message, hint=data.get("remediation"))
        self.code = str(data.get("error_code"))
        self.data = dict(data)
        self.details: Mapping[str, Any] = data.get("details") or {}


class Plane:
    """Sends requests to the control plane of one workspace.

    A request that was begun is always finished. Every method raises PlaneRefusedError when the
    control plane refuses it.

    Args:
        sink: gets each warning of an answer, once.
        own: the same control plane for what the program itself decides, whatever role the run has;
            `control_plane` where None.
    """

    def __init__(
        self, control_plane: ControlPlanePort, sink: RunSink, *, own: ControlPlanePort | None = None
    ) -> None:
        self._control_plane = control_plane
        self._own = own or control_plane
        self._sink = sink
        self._lock = anyio.Lock()
        self._warned: set[str] = set()

    async def start(self, spec_id: str, options: Mapping[str, Any]) -> SessionView:
        """Start a session of the spec; `options` as `session start` takes them."""
        return SessionView.of(await self._ask("session", "start", spec_id=spec_id, **options))

    async def status(self, session_id: str) -> SessionView:
        """Return a session."""
        return SessionView.of(await self._ask("session", "status", session_id=session_id))

    async def live(self, spec_id: str) -> SessionView:
        """Return the live session of the spec."""
        return SessionView.of(await self._ask("session", "status", spec_id=spec_id))

    async def latest(self, spec_id: str) -> SessionAnswer | None:
        """Return the spec's session that changed last, live or not."""
        rows = (await self._ask("session", "list", spec_id=spec_id, limit=1))["sessions"]
        return SessionAnswer.of(rows[0]) if rows else None

    async def resume(self, session_id: str, *, force: bool = False) -> SessionView:
        """Set a paused session going again, a failed one with `force`."""
        forced = {"force": True} if force else {}
        return SessionView.of(await self._ask("session", "resume", session_id=session_id, **forced))

    async def pause(self, session_id: str, reason: str) -> None:
        """Pause a running session."""
        await self._ask("session", "pause", session_id=session_id, reason=reason)

    async def next(self, session_id: str, report: StepReport | None = None) -> SessionAnswer:
        """Report the outstanding step, if `report` is given, and return the next one."""
        result = {} if report is None else {"last_step_result": _dump(report)}
        return SessionAnswer.of(await self._ask("step", "next", session_id=session_id, **result))

    async def report(self, session_id: str, report: StepReport) -> None:
        """Report the outstanding step without asking for the next one."""
        await self._ask("step", "report", session_id=session_id, last_step_result=_dump(report))

    async def replay(self, session_id: str) -> SessionAnswer:
        """Return the last answer again."""
        return SessionAnswer.of(await self._ask("step", "replay", session_id=session_id))

    async def heartbeat(self, session_id: str, usage_pct: int) -> None:
        """Say that work goes on, and how full the agent's context is."""
        await self._ask("step", "heartbeat", session_id=session_id, context_usage_pct=usage_pct)

    async def block(self, task_id: str, reason: str, proof: str | None) -> None:
        """Mark a deliverable as blocked."""
        proved = {"autonomy_step_proof": proof} if proof else {}
        await self._ask("task", "block", task_id=task_id, reason=reason, **proved)

    async def record_review(
        self, session_id: str, phase_id: str, step_id: str, review: ReviewVerdict
    ) -> GateAnswer:
        """Record the verdict of a review that this run has just made; return its evidence.

        No role may bring verdicts from outside under `unattended`; this one is our own.
        """
        data = await self._send(
            self._own,
            "review",
            "gate",
            {
                "session_id": session_id,
                "phase_id": phase_id,
                "step_id": step_id,
                "verdict": review.verdict.value,
                "summary": review.summary,
                "findings": [finding.as_tool_input() for finding in review.findings],
            },
        )
        return GateAnswer.model_validate(data)

    async def _ask(self, group: str, command: str, **params: Any) -> Mapping[str, Any]:
        return await self._send(self._control_plane, group, command, params)

    async def _send(
        self, plane: ControlPlanePort, group: str, command: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        async with self._lock:
            envelope = await anyio.to_thread.run_sync(partial(plane.call, group, command, **params))
        data: Mapping[str, Any] = envelope["data"]
        if not envelope["success"]:
            raise PlaneRefusedError(str(envelope["error"]), data)
        for warning in envelope["meta"].get("warnings", ()):
            if warning not in self._warned:
                self._warned.add(warning)
                self._sink(Notice("warning", warning))
        return data


def _dump(report: StepReport) -> Mapping[str, Any]:
    return report.model_dump(mode="json", exclude_unset=True)


INTERVAL_SECONDS = 30.0
"""Well inside the ten minutes after which a caller counts as gone."""


class Heartbeats:
    """Beats for one autonomous session.

    Args:
        measure: returns the usage of the running agent's context in percent, None when there
            is no agent or it can't be told.
    """

    def __init__(
        self,
        plane: Plane,
        session_id: str,
        measure: Callable[[], Awaitable[int | None]],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._plane = plane
        self._session_id = session_id
        self._measure = measure
        self._interval = interval_seconds

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            # Between two sessions nothing is in any context: the next one begins afresh.
            await self.beat(await self._measure() or 0)
            await anyio.sleep(self._interval)

    async def beat(self, usage_pct: int) -> None:
        """Send one sign of life. A refusal changes nothing: the next report will tell."""
        with suppress(PlaneRefusedError):
            await self._plane.heartbeat(self._session_id, max(0, min(usage_pct, 100)))
