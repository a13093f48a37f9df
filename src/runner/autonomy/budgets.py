"""How long each command may take (seed 000 «Timeout and Cancellation Budgets»).

Commands that the seed does not name get the budget of their nearest relative.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runner.autonomy.codes import ErrorCode, RefusedError

TIMEOUT_PARAM = "timeout_seconds"


class Budget(NamedTuple):
    """Seconds: what holds unless the caller says otherwise, and the most it may say."""

    default: float
    most: float


SHORT = Budget(5, 15)

BUDGETS: Mapping[tuple[str, str], Budget] = {
    ("session", "start"): Budget(10, 30),
    ("session", "rebase"): Budget(10, 30),
    ("step", "next"): Budget(15, 45),
    ("step", "report"): Budget(15, 45),
    ("review", "gate"): Budget(120, 300),
}


def budget_of(group: str, command: str) -> Budget:
    """Return the budget of a command."""
    return BUDGETS.get((group, command), SHORT)


def chosen_seconds(group: str, command: str, wanted: Any) -> float:
    """Return the seconds that a call has; `wanted` is what the caller said, None for nothing.

    Raises:
        RefusedError: VALIDATION_ERROR when that is no positive number, or more than allowed.
    """
    budget = budget_of(group, command)
    if wanted is None:
        return budget.default
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if not is_number or not 0 < wanted <= budget.most:
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            f"{TIMEOUT_PARAM}: must be more than 0 and at most {budget.most:g} seconds.",
            details={"field": TIMEOUT_PARAM, "maximum": budget.most},
        )
    return float(wanted)
