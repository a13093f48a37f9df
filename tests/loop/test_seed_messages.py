"""Seed 001 §8.8 and §8.9: what a run and a sync say at their end, row by row."""

from dataclasses import replace

import pytest
from tests.loop.fakes import COMPLETED, deliverable

from runner.deliverables.model import Status, StatusFile
from runner.deliverables.verification import VerificationTracker
from runner.events import ExitReason, SessionOutcome, SessionResult
from runner.loop.syncing import SyncFlow
from runner.loop.termination import Ending, RunLimits, Situation, evaluate

PASSED, BLOCKED, PENDING = Status.PASSED, Status.BLOCKED, Status.PENDING
LIMITED = SessionResult(SessionOutcome.QUOTA_EXCEEDED, error="resets 6pm (UTC)")


def standing(*statuses: Status) -> Situation:
    found = tuple(deliverable(number, status) for number, status in enumerate(statuses, 1))
    return Situation(RunLimits(), file=StatusFile("s", deliverables=found), last=COMPLETED)


def of_run(situation: Situation) -> Ending | None:
    return evaluate(situation)


def of_sync(situation: Situation, *, verified: int | None = None) -> Ending | None:
    """Judge a sync in which so many deliverables were verified; all when left out."""
    ids = [d.id for d in situation.file.active] if situation.file else []
    tracker = VerificationTracker()
    tracker.start(ids)
    for name in ids[:verified]:
        tracker.mark(name)
    return evaluate(situation, SyncFlow(tracker).rules)


INTERRUPTED = replace(standing(PENDING), interrupted=True)
AT_THE_LIMIT = replace(standing(PENDING), limits=RunLimits(max_iterations=7), iterations=7)
OUT_OF_QUOTA = replace(standing(PENDING), last=LIMITED)


@pytest.mark.parametrize(
    ("found", "reason", "message"),
    [
        (of_run(standing(PASSED)), ExitReason.ALL_PASSED, "All achievable deliverables passed"),
        (of_sync(standing(PASSED, PENDING)), ExitReason.ALL_VERIFIED,
         "All 2 deliverables verified"),
        (of_run(standing(BLOCKED, BLOCKED)), ExitReason.ALL_BLOCKED,
         "All 2 deliverables are blocked"),
        # Programs look for the seed's sentence, also where people would say it otherwise.
        (of_sync(standing(PASSED)), ExitReason.ALL_VERIFIED, "All 1 deliverables verified"),
        (of_run(standing(BLOCKED)), ExitReason.ALL_BLOCKED, "All 1 deliverables are blocked"),
        (of_run(AT_THE_LIMIT), ExitReason.MAX_ITERATIONS, "Max iterations (7) reached"),
        (of_sync(AT_THE_LIMIT, verified=0), ExitReason.MAX_ITERATIONS,
         "Max iterations (7) reached"),
        (of_run(OUT_OF_QUOTA), ExitReason.QUOTA_EXCEEDED, "Quota exceeded"),
        (of_sync(OUT_OF_QUOTA, verified=0), ExitReason.QUOTA_EXCEEDED, "Quota exceeded"),
        (of_run(INTERRUPTED), ExitReason.INTERRUPTED, "User interrupted"),
        (of_sync(INTERRUPTED, verified=0), ExitReason.INTERRUPTED, "User interrupted"),
    ],
)  # fmt: skip
def test_each_reason_has_the_message_of_the_seed(
    found: Ending | None, reason: ExitReason, message: str
) -> None:
    assert found is not None
    assert (found.reason, found.message) == (reason, message)


@pytest.mark.parametrize("statuses", [(PASSED,), (PASSED, PASSED), (BLOCKED, BLOCKED)])
def test_a_sync_goes_on_until_everything_is_verified(statuses: tuple[Status, ...]) -> None:
    assert of_sync(standing(*statuses), verified=len(statuses) - 1) is None


@pytest.mark.parametrize("statuses", [(PASSED,), (BLOCKED,)])
def test_the_first_session_of_a_sync_comes_before_any_goal(statuses: tuple[Status, ...]) -> None:
    assert evaluate(standing(*statuses), SyncFlow(VerificationTracker()).rules) is None


@pytest.mark.parametrize(
    ("statuses", "description"),
    [
        ((PASSED, PASSED), "Verification complete, all passed."),
        ((PASSED, PENDING), "Verification complete, 1 not implemented yet."),
        ((PASSED, BLOCKED, PENDING), "Verification complete, 1 blocked, 1 pending."),
        ((BLOCKED, BLOCKED), "Verification complete, all blocked."),
    ],
)
def test_a_complete_verification_is_described_by_its_statuses(
    statuses: tuple[Status, ...], description: str
) -> None:
    found = of_sync(standing(*statuses))
    assert found is not None
    assert found.hint == description
