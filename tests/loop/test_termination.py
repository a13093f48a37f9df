"""Seed 001 §3.4, row by row."""

from dataclasses import replace
from datetime import date

import pytest
from tests.loop.fakes import COMPLETED, FAILED, deliverable

from runner.deliverables.model import Status, StatusFile
from runner.events import ExitReason, SessionOutcome, SessionResult
from runner.loop.termination import RULES, STALL_LIMIT, Ending, RunLimits, Situation, evaluate
from runner.quota.waiting import QuotaStand

WORKING = Situation(
    RunLimits(), file=StatusFile("s", deliverables=(deliverable(1),)), last=COMPLETED, iterations=1
)
PASSED = StatusFile("s", deliverables=(deliverable(1, Status.PASSED),))
QUOTA = SessionResult(SessionOutcome.QUOTA_EXCEEDED, error="resets 6pm (UTC)")
REFUSED_KEY = SessionResult(SessionOutcome.EXECUTION_ERROR, error="key refused", fatal=True)


def reason(situation: Situation) -> ExitReason | None:
    ending = evaluate(situation)
    return ending.reason if ending else None


def file_of(*statuses: Status) -> StatusFile:
    return StatusFile(
        "s", deliverables=tuple(deliverable(n, status) for n, status in enumerate(statuses, 1))
    )


def ending(situation: Situation) -> Ending:
    found = evaluate(situation)
    assert found is not None
    return found


def test_a_run_with_pending_work_goes_on() -> None:
    assert reason(WORKING) is None


def test_a_run_without_a_plan_goes_on() -> None:
    assert reason(Situation(RunLimits())) is None


def test_an_empty_plan_is_never_success() -> None:
    assert reason(replace(WORKING, file=StatusFile("s"))) is None


def test_an_interrupt_ends_the_run() -> None:
    assert reason(replace(WORKING, interrupted=True)) is ExitReason.INTERRUPTED


def test_a_usage_limit_ends_the_run() -> None:
    assert reason(replace(WORKING, last=QUOTA)) is ExitReason.QUOTA_EXCEEDED


def test_a_usage_limit_that_is_waited_for_does_not_end_the_run() -> None:
    assert reason(replace(WORKING, last=QUOTA, quota=QuotaStand(goes_on=True))) is None


def test_the_end_at_a_usage_limit_says_what_the_service_said_and_what_to_do() -> None:
    stand = QuotaStand(goes_on=False, advice="Run again then.")
    assert ending(replace(WORKING, last=QUOTA, quota=stand)).hint == (
        "resets 6pm (UTC). Run again then."
    )


def test_all_passed_is_the_goal() -> None:
    found = ending(replace(WORKING, file=PASSED))
    assert (found.reason, found.message) == (
        ExitReason.ALL_PASSED,
        "All achievable deliverables passed",
    )


def test_passed_beside_blocked_is_only_a_part() -> None:
    file = file_of(Status.PASSED, Status.BLOCKED)
    assert reason(replace(WORKING, file=file)) is ExitReason.PARTLY_PASSED


def test_all_blocked_ends_the_run() -> None:
    found = ending(replace(WORKING, file=file_of(Status.BLOCKED, Status.BLOCKED)))
    assert (found.reason, found.message) == (
        ExitReason.ALL_BLOCKED,
        "All 2 deliverables are blocked",
    )


def test_work_that_waits_for_blocked_work_ends_the_run_and_names_it() -> None:
    blocked, waiting = deliverable(1, Status.BLOCKED), deliverable(2, needs=("D-001",))
    found = ending(replace(WORKING, file=StatusFile("s", deliverables=(blocked, waiting))))
    assert found.reason is ExitReason.ALL_BLOCKED
    assert "D-002 waits for D-001" in found.message


def test_a_plan_of_deprecated_work_alone_is_a_failure() -> None:
    gone = replace(deliverable(1, Status.PASSED), deprecated_at=date(2026, 1, 2))
    assert reason(replace(WORKING, file=StatusFile("s", deliverables=(gone,)))) is ExitReason.FAILED


def test_an_error_that_no_retry_can_mend_ends_the_run() -> None:
    assert reason(replace(WORKING, last=REFUSED_KEY)) is ExitReason.FAILED


@pytest.mark.parametrize(("spent", "expected"), [(4.99, None), (5.0, ExitReason.BUDGET_EXCEEDED)])
def test_the_budget_ends_the_run_when_it_is_spent(
    spent: float, expected: ExitReason | None
) -> None:
    situation = replace(WORKING, limits=RunLimits(max_cost_usd=5.0), cost_usd=spent)
    assert reason(situation) is expected


def test_a_tiny_budget_is_told_with_the_digits_that_it_has() -> None:
    situation = replace(WORKING, limits=RunLimits(max_cost_usd=0.002), cost_usd=0.0025)
    assert ending(situation).message == "Budget of $0.0020 is spent ($0.0025)"


@pytest.mark.parametrize(("done", "expected"), [(1, None), (2, ExitReason.MAX_ITERATIONS)])
def test_iterations_end_the_run_at_their_limit(done: int, expected: ExitReason | None) -> None:
    situation = replace(WORKING, limits=RunLimits(max_iterations=2), iterations=done)
    assert reason(situation) is expected


@pytest.mark.parametrize(("errors", "expected"), [(3, None), (4, ExitReason.MAX_RETRIES_EXCEEDED)])
def test_retries_end_the_run_beyond_their_limit(errors: int, expected: ExitReason | None) -> None:
    situation = replace(WORKING, last=FAILED, consecutive_errors=errors)
    assert reason(situation) is expected


def test_the_last_error_is_named_when_retries_are_used_up() -> None:
    assert "API Error: 500" in ending(replace(WORKING, last=FAILED, consecutive_errors=4)).message


def test_sessions_without_progress_end_the_run_and_quote_the_agent() -> None:
    found = ending(replace(WORKING, stalls=STALL_LIMIT))
    assert found.reason is ExitReason.STALLED
    assert "done" in found.message


ALL_AT_ONCE = Situation(
    RunLimits(max_iterations=1, max_cost_usd=1.0),
    file=PASSED,
    last=QUOTA,
    iterations=9,
    cost_usd=9.0,
    consecutive_errors=9,
    stalls=9,
    interrupted=True,
)


@pytest.mark.parametrize(
    ("situation", "expected"),
    [
        (ALL_AT_ONCE, ExitReason.INTERRUPTED),
        (replace(ALL_AT_ONCE, interrupted=False), ExitReason.QUOTA_EXCEEDED),
        (replace(ALL_AT_ONCE, interrupted=False, last=REFUSED_KEY), ExitReason.ALL_PASSED),
        (
            replace(ALL_AT_ONCE, interrupted=False, last=FAILED, file=WORKING.file),
            ExitReason.BUDGET_EXCEEDED,
        ),
        (
            replace(WORKING, limits=RunLimits(max_iterations=1), consecutive_errors=9, last=FAILED),
            ExitReason.MAX_ITERATIONS,
        ),
    ],
)
def test_the_more_important_reason_wins(situation: Situation, expected: ExitReason) -> None:
    assert reason(situation) is expected


def test_every_rule_has_a_docstring_that_says_when_it_applies() -> None:
    assert [rule.__name__ for rule in RULES if not rule.__doc__] == []
