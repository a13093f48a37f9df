"""What a session may cost: the least of all that is left."""

from dataclasses import replace

import pytest
from tests.loop.fakes import COMPLETED, deliverable

from runner.deliverables.model import StatusFile
from runner.events import ExitReason
from runner.loop.termination import Ending, RunLimits, Situation, evaluate
from runner.records.spending import SpecBudget, session_budget


@pytest.mark.parametrize(
    ("session_limit", "run_limit", "spec", "expected"),
    [
        (None, None, None, None),
        (0.5, None, None, 0.5),
        (0.5, 3.0, None, 0.5),
        (5.0, 3.0, None, 2.0),
        (5.0, 3.0, SpecBudget(10.0, 8.5), 0.5),
        (None, None, SpecBudget(10.0, 4.0), 5.0),
        (0.25, 3.0, SpecBudget(10.0, 8.5), 0.25),
    ],
)
def test_a_session_may_cost_the_least_of_what_is_left(
    session_limit: float | None,
    run_limit: float | None,
    spec: SpecBudget | None,
    expected: float | None,
) -> None:
    assert (
        session_budget(1.0, session_limit=session_limit, run_limit=run_limit, spec=spec) == expected
    )


def _ending(spent_before: float, cost: float) -> Ending | None:
    working = Situation(
        RunLimits(spec_budget=SpecBudget(10.0, spent_before)),
        file=StatusFile("s", deliverables=(deliverable(1),)),
        last=COMPLETED,
    )
    return evaluate(replace(working, cost_usd=cost))


def test_a_run_goes_on_while_something_is_left_for_the_spec() -> None:
    assert _ending(9.0, 0.99) is None


@pytest.mark.parametrize(("before", "cost"), [(10.0, 0.0), (9.0, 1.0), (12.5, 0.0)])
def test_a_spent_budget_of_the_spec_ends_the_run(before: float, cost: float) -> None:
    found = _ending(before, cost)
    assert found is not None
    assert found.reason is ExitReason.BUDGET_EXCEEDED


def test_the_end_says_what_was_spent_and_where_to_raise_it() -> None:
    found = _ending(9.0, 1.5)
    assert found is not None
    assert found.message == "The spec's budget of $10.00 is spent ($10.50 over all runs)"
    assert "raise `total` under [budget] in .runner/runner.toml" in (found.hint or "")
