"""The control plane as the loop calls it: one request at a time, off the event loop."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio

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


class Plane:
    """Sends requests to the control plane of one workspace.

    Args:
        sink: is told each warning of an answer, once.
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

    async def ask(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        """Run a command and return its data. A request that was begun is always finished.

        Raises:
            PlaneRefusedError: it was refused.
        """
        return await self._ask(self._control_plane, group, command, params)

    async def record_review(self, **params: Any) -> dict[str, Any]:
        """Record the verdict of a review that this run has just made; return its evidence.

        No role may bring verdicts from outside under `unattended`; this one is our own.

        Raises:
            PlaneRefusedError: it was refused.
        """
        return await self._ask(self._own, "review", "gate", params)

    async def _ask(
        self, plane: ControlPlanePort, group: str, command: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        async with self._lock:
            envelope = await anyio.to_thread.run_sync(partial(plane.call, group, command, **params))
        data: dict[str, Any] = envelope["data"]
        if not envelope["success"]:
            raise PlaneRefusedError(str(envelope["error"]), data)
        for warning in envelope["meta"].get("warnings", ()):
            if warning not in self._warned:
                self._warned.add(warning)
                self._sink(Notice("warning", warning))
        return data


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
            await self._plane.ask(
                "step",
                "heartbeat",
                session_id=self._session_id,
                context_usage_pct=max(0, min(usage_pct, 100)),
            )
