"""Signs of life, with how full the agent's context is, while a run works (seed 000)."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from runner.loop.plane import Plane, PlaneRefusedError

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
