"""Drive one agent session under a time limit, and stop it in order when asked to."""

from dataclasses import replace

import anyio

from runner.events import SessionActivity, SessionOutcome, SessionResult
from runner.ports import AgentSession, RunSink

ANSWER_SECONDS = 0.7
"""How long an agent that was asked to stop may take to answer before its process is ended."""


class Drive:
    """Runs sessions one at a time; `stop` ends the one that runs.

    Args:
        session_timeout_seconds: bounds each session.
    """

    def __init__(self, session_timeout_seconds: float) -> None:
        self._timeout = session_timeout_seconds
        self._stop = anyio.Event()
        self._scope: anyio.CancelScope | None = None
        self._in_session = False
        self._session: AgentSession | None = None
        self._timed_out = False

    async def context_usage(self) -> int | None:
        """Return how full the running session's context is, in percent, None without one."""
        return None if self._session is None else await self._session.context_usage()

    def stop(self) -> None:
        """End what runs inside `scope`: a session in order, a wait at once."""
        self._stop.set()
        if self._scope is not None and not self._in_session:
            self._scope.cancel()

    def scope(self) -> anyio.CancelScope:
        """Return what is to be entered around everything that `stop` ends."""
        self._scope = anyio.CancelScope()
        return self._scope

    async def run(
        self,
        session: AgentSession,
        prompt: str,
        *,
        task_id: str | None,
        sink: RunSink,
        keep: bool = False,
    ) -> SessionResult:
        """Run the session to its result and close it.

        A session that was stopped or took too long has outcome INTERRUPTED or TIMED_OUT.

        Args:
            session: a connected one.
            prompt: the text.
            task_id: the deliverable it is bound to, None for none.
            sink: is told what happens.
            keep: whether it stays open when it has completed.
        """
        kept = False
        self._in_session = True
        self._session = session
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._interrupt_in_time, session)
                result = await session.run(
                    prompt, task_id=task_id, sink=lambda event: sink(SessionActivity(event))
                )
                stopped = self._stop.is_set()
                timed_out = self._timed_out
                tasks.cancel_scope.cancel()
            completed = result.outcome is SessionOutcome.COMPLETED
            kept = keep and completed and not (stopped or timed_out)
        finally:
            self._in_session = False
            self._session = None
            if not kept:
                await session.close()
        return self._judged(result, stopped=stopped, timed_out=timed_out)

    async def _interrupt_in_time(self, session: AgentSession) -> None:
        self._timed_out = False
        with anyio.move_on_after(self._timeout):
            await self._stop.wait()
        self._timed_out = not self._stop.is_set()
        with anyio.move_on_after(ANSWER_SECONDS):
            await session.interrupt()
            await anyio.sleep(ANSWER_SECONDS)
        await session.close()

    def _judged(self, result: SessionResult, *, stopped: bool, timed_out: bool) -> SessionResult:
        if stopped:
            return replace(
                result, outcome=SessionOutcome.INTERRUPTED, error="The session was interrupted."
            )
        if timed_out:
            minutes = self._timeout / 60
            return replace(
                result,
                outcome=SessionOutcome.TIMED_OUT,
                error=f"The session took longer than its {minutes:g} minutes and was ended.",
            )
        return result
