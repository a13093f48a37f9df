"""What a run was asked to do, and what it needs from outside."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from runner.loop.termination import RunLimits
from runner.marker import Instruction
from runner.ports import AgentFactory, Deliverables, RunSink, SessionGuard
from runner.quota.waiting import WaitPolicy


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run was asked to do.

    Attributes:
        project_dir: absolute path.
        spec_id: identifies the spec in the result.
        review_model: the plan model where None.
        thinking_tokens: thinking budget in tokens, None for none.
        max_session_cost_usd: US dollars for one agent session, None for no limit.
        session_timeout_seconds: bounds one agent session.
        quota: whether and how long usage limits are waited for.
        reuse_below_pct: an agent session goes on with further work while its context is less full
            than this; None for a fresh session each time.
        connects_ahead: whether an agent may be started while another one is at work.
    """

    project_dir: Path
    spec_id: str
    model: str
    plan_model: str
    limits: RunLimits
    review_model: str | None = None
    thinking_tokens: int | None = None
    max_session_cost_usd: float | None = None
    session_timeout_seconds: float = 3600.0
    quota: WaitPolicy = field(default_factory=WaitPolicy)
    reuse_below_pct: int | None = None
    connects_ahead: bool = True

    def model_for(self, instruction: Instruction) -> str:
        """Return the model that sessions with this instruction have."""
        if instruction is Instruction.REVIEW:
            return self.review_model or self.plan_model
        return self.plan_model if instruction.is_planning else self.model


@dataclass(frozen=True, slots=True)
class SessionDependencies:
    """What sessions need from outside.

    Attributes:
        deliverables: read anew before and after every session.
        factory: makes agent sessions.
        instruction_text: returns the text of an instruction by its name.
        sink: is told what happens.
        guards: look at every session, in this order.
        sleep: waits a number of seconds.
    """

    deliverables: Deliverables
    factory: AgentFactory
    instruction_text: Callable[[str], str]
    sink: RunSink
    guards: Sequence[SessionGuard] = ()
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
