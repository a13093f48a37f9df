"""When a run ends, and why: seed 001 §3.4 as one ordered table of small named rules.

The rules are pure. The first that answers ends the run; the order is the seed's priority,
with the conditions it does not know put where they can't hide a more important one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.errors import IntegrityError, RunnerError
from runner.events import ExitReason, SessionOutcome, SessionResult
from runner.quota.waiting import QuotaStand
from runner.records.spending import SpecBudget
from runner.text.messages import format_cost, plural

_NAMED = 5
_REASON_CHARACTERS = 200
UNBLOCK = (
    "Provide what is missing (agents write the reasons into .runner-note.md, too), then set "
    '"blocked": false in .runner/status.json and run again.'
)

STALL_LIMIT = 3
"""Sessions in a row that neither passed their deliverable nor changed a file."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What bounds a run.

    Attributes:
        max_iterations: agent sessions at most, None for no limit.
        max_retries: failed sessions in a row that are tried again.
        max_cost_usd: US dollars for the whole run, None for no limit.
        spec_budget: what may be spent on the spec over all runs, None for no limit.
    """

    max_iterations: int | None = None
    max_retries: int = 3
    max_cost_usd: float | None = None
    spec_budget: SpecBudget | None = None

    @property
    def bounds_cost(self) -> bool:
        """Whether a session's own limit depends on what was spent before it."""
        return self.max_cost_usd is not None or self.spec_budget is not None


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a run stands between two sessions.

    Attributes:
        file: the deliverables, None before they were planned.
        last: the result of the last session, None before the first.
        quota: what was decided about the usage limit that `last` ended at.
        iterations: sessions that count against the limit.
        sessions: agent sessions that were started.
        consecutive_errors: failed sessions in a row.
        stalls: sessions in a row without any progress.
        interrupted: whether the user or the system asked to stop.
    """

    limits: RunLimits
    file: StatusFile | None = None
    last: SessionResult | None = None
    quota: QuotaStand | None = None
    iterations: int = 0
    sessions: int = 0
    cost_usd: float = 0.0
    consecutive_errors: int = 0
    stalls: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ends.

    Attributes:
        message: for people.
        hint: what they can do next.
        needs_person: whether somebody has to look although the run ended in order.
        actions: what the result object recommends, where no session is asked.
    """

    reason: ExitReason
    message: str
    hint: str | None = None
    needs_person: bool = False
    actions: tuple[Mapping[str, str], ...] = ()


class RunEndedError(Exception):
    """There is a reason to end the run; raised before a session that would be paid for."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.message)
        self.ending = ending


Rule = Callable[[Situation], Ending | None]


def evaluate(situation: Situation, rules: Sequence[Rule] | None = None) -> Ending | None:
    """Return why the run ends here, or None when it goes on.

    Args:
        situation: where the run stands.
        rules: the most important first; all of them when left out.
    """
    return next((ending for rule in rules or RULES if (ending := rule(situation))), None)


def broken_off(error: RunnerError) -> Ending:
    """Return the ending of a run in which something failed that is not the agent's."""
    violated = isinstance(error, IntegrityError)
    reason = ExitReason.BLOCKED_RUNTIME if violated else ExitReason.ERROR
    return Ending(reason, error.message, error.hint)


def interrupted(situation: Situation) -> Ending | None:
    """Priority 1: the user's word comes before everything."""
    if not situation.interrupted:
        return None
    return Ending(
        ExitReason.INTERRUPTED,
        "User interrupted",
        "Everything up to here is saved; `runner run` goes on from here.",
    )


def quota_exceeded(situation: Situation) -> Ending | None:
    """Priority 2: a usage limit that is not waited for."""
    if situation.last is None or situation.last.outcome is not SessionOutcome.QUOTA_EXCEEDED:
        return None
    if situation.quota is not None and situation.quota.goes_on:
        return None
    said = situation.last.error or ""
    end = "" if said.endswith((".", "?", "!")) else "."
    advice = situation.quota.advice if situation.quota else ""
    return Ending(ExitReason.QUOTA_EXCEEDED, "Quota exceeded", f"{said}{end} {advice}".strip())


def all_passed(situation: Situation) -> Ending | None:
    """Priority 3: the goal."""
    if situation.file is None or not situation.file.all_achievable_passed:
        return None
    return passed_ending(situation.file)


def passed_ending(file: StatusFile | None) -> Ending:
    """Return how a run ends in which everything achievable has passed."""
    if file is None or not file.blocked:
        return Ending(ExitReason.ALL_PASSED, "All achievable deliverables passed")
    counts = file.counts
    told = [f"Partly passed: {counts.passed} of {plural(counts.total, 'deliverable')}"]
    told += [_blocked_because(deliverable) for deliverable in file.blocked[:_NAMED]]
    told += [_waits(file, deliverable) for deliverable in file.unreachable[:_NAMED]]
    unnamed = max(len(file.blocked) - _NAMED, 0) + max(len(file.unreachable) - _NAMED, 0)
    told += [f"{unnamed} more are blocked or wait"] if unnamed else []
    return Ending(ExitReason.PARTLY_PASSED, "; ".join(told), UNBLOCK)


def _blocked_because(deliverable: Deliverable) -> str:
    why = " ".join((deliverable.blocked_reason or "no reason given").split())
    short = why if len(why) <= _REASON_CHARACTERS else f"{why[:_REASON_CHARACTERS]}…"
    return f"{deliverable.id} is blocked ({short})"


def _waits(file: StatusFile, deliverable: Deliverable) -> str:
    return f"{deliverable.id} waits for {', '.join(file.unmet_dependencies(deliverable)[:_NAMED])}"


def all_blocked(situation: Situation) -> Ending | None:
    """Priority 4: there is work, and all of it needs something from outside."""
    if situation.file is None or not situation.file.all_blocked:
        return None
    return Ending(
        ExitReason.ALL_BLOCKED,
        "; ".join(
            [
                f"All {situation.file.counts.total} deliverables are blocked",
                *(_blocked_because(d) for d in situation.file.blocked[:_NAMED] if d.blocked_reason),
            ]
        ),
        UNBLOCK,
    )


def nothing_active(situation: Situation) -> Ending | None:
    """A plan without one active deliverable can neither pass nor be worked on."""
    file = situation.file
    if file is None or not file.deliverables or file.active:
        return None
    return Ending(
        ExitReason.FAILED,
        "Every deliverable in .runner/status.json is deprecated",
        "Move .runner/status.json away to have SPEC.md planned again.",
    )


def nothing_runnable(situation: Situation) -> Ending | None:
    """What is left waits for something that this run can't pass (DESIGN §5)."""
    file = situation.file
    if file is None or not file.active or file.runnable:
        return None
    pending = (d for d in file.active if d.status is Status.PENDING)
    waiting = [d for d in pending if file.unmet_dependencies(d)]
    if not waiting:
        return None
    first = waiting[0]
    needs = ", ".join(file.unmet_dependencies(first))
    return Ending(
        ExitReason.ALL_BLOCKED,
        f"No deliverable can be worked on: {first.id} waits for {needs}",
        "Unblock what it waits for, or correct dependsOn in .runner/status.json.",
    )


def fatal_error(situation: Situation) -> Ending | None:
    """Trying again can't help."""
    if situation.last is None or not situation.last.fatal:
        return None
    return Ending(ExitReason.FAILED, situation.last.error or "The agent session failed")


def budget_exceeded(situation: Situation) -> Ending | None:
    """The run spent what it may."""
    limit = situation.limits.max_cost_usd
    if limit is None or situation.cost_usd < limit:
        return None
    return Ending(
        ExitReason.BUDGET_EXCEEDED,
        f"Budget of {format_cost(limit)} is spent ({format_cost(situation.cost_usd)})",
        "Everything up to here is saved; run again with a new --max-cost to go on.",
    )


def spec_budget_exceeded(situation: Situation) -> Ending | None:
    """The runs together spent what the spec may cost."""
    budget = situation.limits.spec_budget
    if budget is None or budget.left_usd(situation.cost_usd) > 0:
        return None
    spent = budget.spent_usd(situation.cost_usd)
    return Ending(
        ExitReason.BUDGET_EXCEEDED,
        f"The spec's budget of {format_cost(budget.total_usd)} is spent "
        f"({format_cost(spent)} over all runs)",
        "Everything up to here is saved; to go on, raise `total` under [budget] in "
        ".runner/runner.toml.",
    )


def max_iterations(situation: Situation) -> Ending | None:
    """Priority 5."""
    limit = situation.limits.max_iterations
    if limit is None or situation.iterations < limit:
        return None
    return Ending(
        ExitReason.MAX_ITERATIONS,
        f"Max iterations ({limit}) reached",
        "Everything up to here is saved; `runner run` goes on from here.",
    )


def max_retries_exceeded(situation: Situation) -> Ending | None:
    """Priority 6: failed sessions in a row."""
    if situation.consecutive_errors <= situation.limits.max_retries:
        return None
    said = (situation.last.error if situation.last else None) or "The agent session failed"
    return Ending(
        ExitReason.MAX_RETRIES_EXCEEDED,
        f"{_failures(situation.consecutive_errors)}: {said}",
        "When the cause is mended, `runner run` goes on from here.",
    )


def _failures(count: int) -> str:
    if count == 1:
        return "The session failed"
    return f"{count} sessions in a row failed; the last one"


def stalled(situation: Situation) -> Ending | None:
    """Sessions that change nothing would go on for ever, and each costs money."""
    if situation.stalls < STALL_LIMIT:
        return None
    said = " ".join((situation.last.text if situation.last else "").split())[:300]
    return Ending(
        ExitReason.STALLED,
        f"{STALL_LIMIT} sessions in a row changed nothing"
        + (f"; the agent last said: {said}" if said else ""),
        "A clearer SPEC.md, a missing tool or a denied command is the usual cause; "
        "`runner run --debug` shows what the agent tries.",
    )


RULES: tuple[Rule, ...] = (
    interrupted,
    quota_exceeded,
    all_passed,
    all_blocked,
    nothing_active,
    nothing_runnable,
    fatal_error,
    budget_exceeded,
    spec_budget_exceeded,
    max_iterations,
    max_retries_exceeded,
    stalled,
)
"""All of them, by priority."""

PLAN_RULES: tuple[Rule, ...] = (all_passed, all_blocked, nothing_active, nothing_runnable)
"""What the deliverables alone decide. In a run it is the control plane that asks for them."""

SESSION_RULES: tuple[Rule, ...] = tuple(r for r in RULES if r not in (*PLAN_RULES, stalled))
"""Of `run`, before each session that counts; stalls are steps that fail there."""

REVIEW_RULES: tuple[Rule, ...] = tuple(r for r in SESSION_RULES if r is not max_iterations)
"""Of `run`, before each session that is no iteration."""
