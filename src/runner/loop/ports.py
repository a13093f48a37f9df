"""The seams of the loop: what it needs from an agent and from a presenter."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from runner.loop.events import RunEvent, SessionResult, StreamEvent
from runner.marker import Instruction

StreamSink = Callable[[StreamEvent], None]
RunSink = Callable[[RunEvent], None]


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What decides how an agent session is connected.

    Attributes:
        instruction: decides the tools and the policy.
        model: model name or alias, e.g. "sonnet".
        thinking_tokens: thinking budget in tokens, None for none.
        max_cost_usd: the session's own spending limit in US dollars, None for none.
    """

    instruction: Instruction
    model: str
    thinking_tokens: int | None = None
    max_cost_usd: float | None = None


class AgentSession(Protocol):
    """One connected agent with a fresh context. Runs one prompt, then is closed."""

    async def run(self, prompt: str, *, task_id: str | None, sink: StreamSink) -> SessionResult:
        """Send the prompt and drive the agent to its result.

        Never raises for anything the agent or the API does; that is what the result's
        outcome says.

        Args:
            prompt: the text, delivered verbatim.
            task_id: the only deliverable whose status this session may set, or None.
            sink: receives the stream events as they happen.
        """
        ...

    async def interrupt(self) -> None:
        """Ask the agent to stop now; `run` then returns with outcome INTERRUPTED."""
        ...

    async def close(self) -> None:
        """End the agent process and everything it started. May be called twice."""
        ...


class AgentFactory(Protocol):
    """Makes agent sessions."""

    async def connect(self, plan: SessionPlan) -> AgentSession:
        """Start an agent process for `plan`.

        Raises:
            AgentStartError: it could not be started.
        """
        ...
