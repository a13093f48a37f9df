"""Keep an agent session over a step boundary, while its context has room (`--reuse-session`)."""

from runner.ports import AgentSession, SessionPlan


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
