"""The options of a run (seed 001 §7.1, CONTRACT §1)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.config import catalogue

if TYPE_CHECKING:
    from runner.config.resolve import Chosen


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for; `of` takes it from the checked options of a command.

    Attributes:
        max_iterations: agent sessions at most, None for no limit.
        max_retries: failed sessions in a row that are tried again.
        thinking_tokens: thinking budget in tokens, None for off.
        max_cost_usd: US dollars for the whole run, None for no limit.
        max_session_cost_usd: US dollars for one agent session, None for no limit.
        budget_usd: US dollars for the spec over all runs (`[budget] total`), None for no limit.
        session_timeout_minutes: bounds one agent session.
        wait_for_quota: whether usage limits are waited for.
        max_wait_hours: the longest wait for one usage limit.
        review_model: the plan model where None.
        posture: sets the defaults of the control plane; None for what the surroundings say.
        gate_policy: what a verdict means; None for the posture's.
        gates: whether phases are reviewed at all.
        plan_review: whether a plan is reviewed before work on it begins.
        one_phase: whether to end where a phase does.
        max_consecutive_errors: failed steps in a row; None for the posture's.
        max_review_cycles: reviews of one phase; None for the posture's.
        max_sessions_per_deliverable: agent sessions of a run on one deliverable.
        reuse_session: whether an agent session goes on with the next step while it has room.
    """

    max_iterations: int | None = catalogue.MAX_ITERATIONS.default
    max_retries: int = catalogue.MAX_RETRIES.default
    model: str = catalogue.MODEL.default
    plan_model: str = catalogue.PLAN_MODEL.default
    thinking_tokens: int | None = catalogue.THINKING.default
    max_cost_usd: float | None = catalogue.MAX_COST.default
    max_session_cost_usd: float | None = catalogue.MAX_SESSION_COST.default
    budget_usd: float | None = None
    session_timeout_minutes: float = catalogue.SESSION_TIMEOUT.default
    wait_for_quota: bool = catalogue.WAIT_FOR_QUOTA.default
    max_wait_hours: float = catalogue.MAX_WAIT.default
    allow_destructive: bool = catalogue.ALLOW_DESTRUCTIVE.default
    review_model: str | None = catalogue.REVIEW_MODEL.default
    posture: str | None = catalogue.POSTURE.default
    gate_policy: str | None = catalogue.GATE_POLICY.default
    gates: bool = True
    plan_review: bool = catalogue.PLAN_REVIEW.default
    one_phase: bool = catalogue.ONE_PHASE.default
    max_consecutive_errors: int | None = catalogue.MAX_CONSECUTIVE_ERRORS.default
    max_review_cycles: int | None = catalogue.MAX_REVIEW_CYCLES.default
    max_sessions_per_deliverable: int = catalogue.MAX_SESSIONS_PER_DELIVERABLE.default
    reuse_session: bool = catalogue.REUSE_SESSION.default
    sandbox: bool = True
    sandbox_network: bool = True

    @classmethod
    def of(cls, chosen: "Chosen", *, sandbox: bool | None = None) -> "RunOptions":
        """Return the options that run and sync have in common, and those of run where given.

        Args:
            sandbox: decides about the sandbox for a command without the option.
        """
        return cls(
            max_iterations=chosen[catalogue.MAX_ITERATIONS],
            max_retries=chosen[catalogue.MAX_RETRIES],
            model=chosen[catalogue.MODEL],
            plan_model=chosen[catalogue.PLAN_MODEL],
            thinking_tokens=chosen[catalogue.THINKING],
            max_cost_usd=chosen[catalogue.MAX_COST],
            max_session_cost_usd=chosen[catalogue.MAX_SESSION_COST],
            budget_usd=chosen.file.budget.total,
            session_timeout_minutes=chosen[catalogue.SESSION_TIMEOUT],
            wait_for_quota=chosen[catalogue.WAIT_FOR_QUOTA],
            max_wait_hours=chosen[catalogue.MAX_WAIT],
            allow_destructive=chosen.get(catalogue.ALLOW_DESTRUCTIVE),
            review_model=chosen[catalogue.REVIEW_MODEL],
            posture=chosen[catalogue.POSTURE],
            gate_policy=chosen.get(catalogue.GATE_POLICY),
            gates=not chosen.get(catalogue.NO_GATES),
            plan_review=chosen.get(catalogue.PLAN_REVIEW),
            one_phase=chosen.get(catalogue.ONE_PHASE),
            max_consecutive_errors=chosen.get(catalogue.MAX_CONSECUTIVE_ERRORS),
            max_review_cycles=chosen.get(catalogue.MAX_REVIEW_CYCLES),
            max_sessions_per_deliverable=chosen.get(catalogue.MAX_SESSIONS_PER_DELIVERABLE),
            reuse_session=chosen.get(catalogue.REUSE_SESSION),
            sandbox=not chosen.get(catalogue.NO_SANDBOX) if sandbox is None else sandbox,
            sandbox_network=chosen.get(catalogue.SANDBOX_NETWORK) == "open",
        )
