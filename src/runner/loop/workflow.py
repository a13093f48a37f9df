"""What differs between `run` and `sync`: which session comes next, and when the goal is reached.

Seed 001, A.4 and A.5: a workflow is a pair of instructions, one that plans and one that works.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

from runner.deliverables.model import Deliverable, StatusFile
from runner.deliverables.verification import VerificationTracker
from runner.loop import termination
from runner.loop.events import ExitReason, SessionOutcome, SessionResult
from runner.loop.termination import Ending, Rule, Situation
from runner.marker import Instruction


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the next agent session is asked to do.

    Attributes:
        deliverable: the one it is bound to, None when it is not bound.
        briefing: what else its prompt has to say.
    """

    instruction: Instruction
    deliverable: Deliverable | None = None
    briefing: str | None = None


class Workflow(Protocol):
    """The part of the loop that a command decides."""

    command: str

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The reasons to end, the most important first."""
        ...

    @property
    def follower(self) -> Instruction | None:
        """The instruction of a session worth connecting ahead, None for none."""
        ...

    def choose(self, file: StatusFile | None) -> Assignment:
        """Return what to do next."""
        ...

    def settle(
        self, assignment: Assignment, result: SessionResult, file: StatusFile | None
    ) -> SessionResult:
        """Take note of a finished session; return its result as it counts here.

        Args:
            file: the deliverables after the session.
        """
        ...

    def progress(self) -> object:
        """Return a value that differs when something was achieved beyond statuses and files."""
        ...

    def details(self) -> dict[str, Any]:
        """Return what the result object says beyond the common part."""
        ...


class RunWorkflow:
    """`runner run`: initializer, then coding until all achievable deliverables passed."""

    command = "run"
    rules = termination.RULES
    follower = Instruction.CODING

    def choose(self, file: StatusFile | None) -> Assignment:
        """See `Workflow.choose`."""
        deliverable = file.next_runnable if file else None
        if deliverable is None:
            return Assignment(Instruction.INITIALIZER)
        return Assignment(Instruction.CODING, deliverable)

    def settle(
        self, assignment: Assignment, result: SessionResult, file: StatusFile | None
    ) -> SessionResult:
        """See `Workflow.settle`."""
        if assignment.instruction is Instruction.INITIALIZER:
            return _planned(result, file)
        return result

    def progress(self) -> object:
        """See `Workflow.progress`."""
        return None

    def details(self) -> dict[str, Any]:
        """See `Workflow.details`."""
        return {}


class SyncWorkflow:
    """`runner sync`: one sync session, then verify until every deliverable was checked.

    Seed 001 §3.4, §7.3.3: the first session checks no condition of its own; the tracker starts
    when it has completed.
    """

    command = "sync"
    # The read-only layer of a session is made over the tree and the note as they are then.
    follower = None

    def __init__(self, tracker: VerificationTracker) -> None:
        self._tracker = tracker

    @property
    def rules(self) -> tuple[Rule, ...]:
        """See `Workflow.rules`. Passed and blocked are no reasons to end here."""
        return (
            termination.interrupted,
            termination.quota_exceeded,
            self._all_verified,
            termination.fatal_error,
            termination.budget_exceeded,
            termination.spec_budget_exceeded,
            termination.max_iterations,
            termination.max_retries_exceeded,
            termination.stalled,
        )

    def choose(self, file: StatusFile | None) -> Assignment:
        """See `Workflow.choose`."""
        del file
        if not self._tracker.is_started:
            return Assignment(Instruction.SYNC)
        left = ", ".join(self._tracker.unverified)
        return Assignment(Instruction.VERIFY, briefing=f"Still to be verified, in order: {left}")

    def settle(
        self, assignment: Assignment, result: SessionResult, file: StatusFile | None
    ) -> SessionResult:
        """See `Workflow.settle`."""
        if assignment.instruction is not Instruction.SYNC:
            return result
        judged = _planned(result, file)
        if judged.outcome is SessionOutcome.COMPLETED and file is not None:
            self._tracker.start(d.id for d in file.active)
        return judged

    def progress(self) -> object:
        """See `Workflow.progress`."""
        return self._tracker.verified_count

    def details(self) -> dict[str, Any]:
        """See `Workflow.details`."""
        return {"verified": self._tracker.verified_count}

    def _all_verified(self, situation: Situation) -> Ending | None:
        """Priority 3 of `sync`: every active deliverable was checked (seed 001 §8.8)."""
        if not self._tracker.all_verified:
            return None
        return Ending(
            ExitReason.ALL_VERIFIED,
            f"All {self._tracker.total} deliverables verified",
            _verified_result(situation.file),
        )


def _planned(result: SessionResult, file: StatusFile | None) -> SessionResult:
    """A planning session that leaves no deliverable has failed, whatever it says."""
    if result.outcome is not SessionOutcome.COMPLETED or (file is not None and file.active):
        return result
    return replace(
        result,
        outcome=SessionOutcome.EXECUTION_ERROR,
        error="The planning session ended without an active deliverable.",
    )


def _verified_result(file: StatusFile | None) -> str | None:
    if file is None:
        return None
    counts = file.counts
    if counts.passed == counts.total:
        return "Verification complete, all passed."
    if counts.blocked == counts.total:
        return "Verification complete, all blocked."
    if counts.blocked:
        return f"Verification complete, {counts.blocked} blocked, {counts.pending} pending."
    return f"Verification complete, {counts.pending} not implemented yet."
