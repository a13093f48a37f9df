"""Connect the next agent session while the present one still runs.

Connecting costs most of a second and no API call. An agent that was connected ahead and is
not wanted after all is closed.
"""

from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from runner.errors import RunnerError
from runner.ports import AgentFactory, AgentSession, SessionPlan


class ConnectAhead:
    """Hands out connected sessions, and keeps at most one ready.

    Use as an async context manager inside the task group given to it.
    """

    def __init__(self, factory: AgentFactory, tasks: TaskGroup) -> None:
        self._factory = factory
        self._tasks = tasks
        self._ready: _Pending | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.discard()

    def prepare(self, plan: SessionPlan) -> None:
        """Start connecting a session for `plan`, unless one is on its way."""
        if self._ready is None:
            self._ready = _Pending(plan)
            self._tasks.start_soon(self._ready.connect, self._factory)

    async def take(self, plan: SessionPlan) -> AgentSession:
        """Return a session connected for `plan`, the prepared one where it fits.

        Raises:
            AgentStartError: none could be connected.
        """
        ready = self._ready
        if ready is not None:
            session = await ready.wait()
            self._ready = None
            if session is not None and ready.plan == plan:
                return session
            if session is not None:
                self._tasks.start_soon(session.close)
        return await self._factory.connect(plan)

    async def discard(self) -> None:
        """Close what was prepared and not taken."""
        ready, self._ready = self._ready, None
        if ready is not None:
            await ready.cancel()


class _Pending:
    """A session on its way."""

    def __init__(self, plan: SessionPlan) -> None:
        self.plan = plan
        self._done = anyio.Event()
        self._scope = anyio.CancelScope()
        self._session: AgentSession | None = None

    async def connect(self, factory: AgentFactory) -> None:
        try:
            with self._scope:
                self._session = await factory.connect(self.plan)
        except RunnerError:
            # Whoever takes it connects again and sees the error then.
            self._session = None
        finally:
            self._done.set()

    async def wait(self) -> AgentSession | None:
        await self._done.wait()
        return self._session

    async def cancel(self) -> None:
        with anyio.CancelScope(shield=True):
            self._scope.cancel()
            await self._done.wait()
            if self._session is not None:
                await self._session.close()


class KeptSession:
    """At most one agent session that has completed its work and is still connected.

    Args:
        below_pct: sessions whose context is at least this full are not kept; None keeps none.
    """

    def __init__(self, below_pct: int | None) -> None:
        self._below = below_pct
        self._plan: SessionPlan | None = None
        self._session: AgentSession | None = None
        self.usage_pct = 0

    def wants(self, plan: SessionPlan) -> bool:
        """Whether a session of this kind is kept at all: reviews are always fresh."""
        return self._below is not None and plan.instruction.is_iteration

    async def take(self, plan: SessionPlan) -> AgentSession | None:
        """Return the kept session where it fits; one that does not fit is closed."""
        session, fits = self._session, self._plan == plan
        self._session, self.usage_pct = None, 0
        if session is not None and not fits:
            await session.close()
            return None
        return session

    async def put(self, plan: SessionPlan, session: AgentSession) -> None:
        """Keep the session if its context has room, else close it."""
        usage = await session.context_usage()
        if self._below is None or usage is None or usage >= self._below:
            await session.close()
            return
        self._plan, self._session, self.usage_pct = plan, session, usage

    async def close(self) -> None:
        """Close what is kept."""
        session, self._session, self.usage_pct = self._session, None, 0
        if session is not None:
            await session.close()
