"""How much may still be spent: the limits of a run, of a session and of the whole spec together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpecBudget:
    """`[budget] total` of runner.toml, which holds over all runs of a spec.

    Attributes:
        total_usd: US dollars for the spec.
        spent_before_usd: what earlier runs have spent of it.
    """

    total_usd: float
    spent_before_usd: float = 0.0

    def spent_usd(self, run_usd: float) -> float:
        """Return what was spent over all runs, given what this one has cost so far."""
        return self.spent_before_usd + run_usd

    def left_usd(self, run_usd: float) -> float:
        """Return what is left; negative when more was spent than there was."""
        return self.total_usd - self.spent_usd(run_usd)


def session_budget(
    run_usd: float,
    *,
    session_limit: float | None,
    run_limit: float | None,
    spec: SpecBudget | None,
) -> float | None:
    """Return what the next agent session may cost at most, None for no limit.

    Args:
        run_usd: what the run has cost so far.
        session_limit: `--max-session-cost`.
        run_limit: `--max-cost`.
        spec: the budget over all runs.
    """
    left = (
        session_limit,
        None if run_limit is None else run_limit - run_usd,
        None if spec is None else spec.left_usd(run_usd),
    )
    known = [amount for amount in left if amount is not None]
    return min(known) if known else None
