"""`runner sync`: one sync session, then verify until every deliverable was checked.

Seed 001 §3.4, §7.3.3: the first session checks no condition of its own; the tracker starts when
it has completed.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from runner.autonomy.client import SessionView
from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, SessionStatus
from runner.deliverables.model import StatusFile
from runner.deliverables.spec_text import SpecText
from runner.deliverables.verification import VerificationTracker
from runner.events import ExitReason, Notice, SessionOutcome, SessionResult
from runner.loop import termination
from runner.loop.planning import planned
from runner.loop.prompts import Assignment
from runner.loop.sessions import Sessions
from runner.loop.termination import Ending, Rule, RunEndedError, Situation
from runner.marker import Instruction
from runner.ports import ControlPlanePort, Deliverables, RunSink
from runner.records.plan_reviews import PlanBook


class SyncFlow:
    """Implements `Flow` for `runner sync`.

    Args:
        tracker: knows what is still to be verified.
        take_over: called when the run ends, with what it left in `status.json` in force.
    """

    command = "sync"

    def __init__(
        self, tracker: VerificationTracker, take_over: Callable[[], None] = lambda: None
    ) -> None:
        self._tracker = tracker
        self._take_over = take_over

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The reasons to end by priority. Passed and blocked are none here."""
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

    async def run(self, sessions: Sessions) -> Ending:
        """See `Flow.run`."""
        try:
            while True:
                await sessions.ready(self.rules)
                await sessions.run(self.choose(), judge=self._judged)
        except RunEndedError as end:
            return end.ending

    def choose(self) -> Assignment:
        """Return what to do next."""
        if not self._tracker.is_started:
            return Assignment(Instruction.SYNC)
        left = ", ".join(self._tracker.unverified)
        return Assignment(Instruction.VERIFY, briefing=f"Still to be verified, in order: {left}")

    async def wind_up(self) -> None:
        """See `Flow.wind_up`."""
        await anyio.to_thread.run_sync(self._take_over)

    def achieved(self) -> object:
        """See `Flow.achieved`."""
        return self._tracker.verified_count

    def details(self) -> dict[str, Any]:
        """See `Flow.details`."""
        return {"verified": self._tracker.verified_count}

    def _judged(self, result: SessionResult, file: StatusFile | None) -> SessionResult:
        """Start the tracker when the sync session has left a plan."""
        if self._tracker.is_started:
            return result
        judged = planned(result, file)
        if judged.outcome is SessionOutcome.COMPLETED and file is not None:
            self._tracker.start(d.id for d in file.active)
        return judged

    def _all_verified(self, situation: Situation) -> Ending | None:
        """Priority 3 of `sync`: every active deliverable was checked (seed 001 §8.8)."""
        if not self._tracker.all_verified:
            return None
        return Ending(
            ExitReason.ALL_VERIFIED,
            f"All {self._tracker.total} deliverables verified",
            _verified_result(situation.file),
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


class TakeOver:
    """Takes a finished sync over (DESIGN §5). Make it before the sync begins.

    Args:
        tracker: started once the sync session has compared plan and SPEC.md.
    """

    def __init__(
        self,
        project_dir: Path,
        *,
        deliverables: Deliverables,
        control_plane: ControlPlanePort,
        tracker: VerificationTracker,
        sink: RunSink,
    ) -> None:
        self._spec_text = SpecText(project_dir)
        self._digest = self._spec_text.digest()
        self._deliverables = deliverables
        self._before = deliverables.load()
        self._control_plane = control_plane
        self._tracker = tracker
        self._sink = sink
        self._plan_book = PlanBook(project_dir)

    def __call__(self) -> None:
        """Note the text of SPEC.md that was compared, and rebase the session that there is."""
        file = self._deliverables.load()
        if file is None or not self._tracker.is_started:
            return
        self._spec_text.note(self._digest)
        self._plan_book.synced(self._before, file)
        view = self._ask("session", "status", spec_id=file.spec_id)
        drifted = view and view.failure_reason is FailureReason.SPEC_STRUCTURE_CHANGED
        if view is not None and (drifted or _differs(self._before, file)):
            self._rebase(view)

    def _rebase(self, view: SessionView) -> None:
        session_id = view.session_id
        if view.status is SessionStatus.RUNNING:
            self._ask("session", "pause", session_id=session_id, reason="runner sync")
        # What a sync has deprecated is meant to be gone.
        rebased = self._ask("session", "rebase", session_id=session_id, force=True)
        if rebased is not None:
            self._sink(Notice("info", f"The autonomous session {session_id} works by the new plan"))

    def _ask(self, group: str, command: str, **params: Any) -> SessionView | None:
        """Return the session, None after a refusal; people are told of one that matters."""
        envelope = self._control_plane.call(group, command, **params)
        data: Mapping[str, Any] = envelope["data"]
        if envelope["success"]:
            return SessionView.of(data)
        if data["error_code"] != ErrorCode.NO_ACTIVE_SESSION:
            self._sink(
                Notice(
                    "warning",
                    f"The autonomous session was not rebased: {envelope['error']}",
                    data.get("remediation"),
                )
            )
        return None


def _differs(before: StatusFile | None, after: StatusFile) -> bool:
    return before is None or (before.phases, before.deliverables) != (
        after.phases,
        after.deliverables,
    )
