"""`runner run`: plan the spec, then step, execute, report, until the control plane ends it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from runner.autonomy.client import SessionAnswer, SessionView
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.enums import LoopSignal, PauseReason, SessionStatus, StepType
from runner.autonomy.envelope import failure
from runner.autonomy.inputs import StepReport
from runner.deliverables.model import Status
from runner.deliverables.spec_text import SpecText
from runner.events import ExitReason, Notice, SessionOutcome
from runner.loop.already_passed import CHANGED, still_holds, was_judged
from runner.loop.claims import ClaimedDeliverables
from runner.loop.edited_inputs import Edits, PlanEditedError, other_phases
from runner.loop.endings import (
    CHANGED_SPEC,
    SYNC,
    ending_of,
    phase_ending,
    plan_ending,
    refusal_ending,
    result_details,
    signal_of,
)
from runner.loop.opening import (
    Opened,
    find_session,
    ignored_options,
    open_session,
    renew,
    require_startable,
    resume,
)
from runner.loop.plane import INTERVAL_SECONDS, Heartbeats, Plane, PlaneRefusedError
from runner.loop.planning import COVER, planned, uncovered_phases
from runner.loop.prompts import Assignment
from runner.loop.reviewing.plan_review import PlanReview
from runner.loop.sessions import Sessions
from runner.loop.steps import EXECUTORS
from runner.loop.steps.context import MOST_SESSIONS, Judges, StepContext
from runner.loop.steps.implement import announce
from runner.loop.steps.step import CurrentStep, StepResult
from runner.loop.termination import SESSION_RULES, Ending, RunEndedError, interrupted
from runner.marker import Instruction
from runner.ports import Checkpoints, RunSink

_OWN_RESTS = frozenset(
    {PauseReason.HEARTBEAT_STALE, PauseReason.STEP_STALE, PauseReason.CONTEXT_LIMIT}
)
"""Pauses that the loop itself resolves: it is there, and its next agent session is a fresh one."""

_PASSED = (ExitReason.ALL_PASSED, ExitReason.PARTLY_PASSED)


@dataclass(frozen=True, slots=True)
class StepSettings:
    """How the control plane is to be run.

    Attributes:
        spec_id: the workspace's spec.
        start: the parameters of `session start` that the user chose, for a session that is new.
        defaults: further ones; a session that is there already may differ from them.
        one_phase: whether to end where a phase does.
        common_verification: commands that close every phase.
        rolled_back: returns whether the tree was rolled back since the last session.
        tree_of: returns what identifies the work tree; None where nobody looks at it.
        most_sessions: agent sessions on one deliverable before it counts as stuck.
        unattended: whether work that is left blocked needs a person in the end.
    """

    spec_id: str
    start: Mapping[str, Any] = field(default_factory=dict)
    one_phase: bool = False
    common_verification: Sequence[str] = ()
    rolled_back: Callable[[], bool] = lambda: False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unattended: bool = False
    tree_of: Callable[[], str] | None = None
    most_sessions: int = MOST_SESSIONS

    @property
    def beginning(self) -> dict[str, Any]:
        """All parameters of `session start`."""
        return {**self.defaults, **self.start}


class SteppedFlow:
    """Implements `Flow` for `runner run`, as the control plane's caller (DESIGN §4).

    Args:
        judges: returns who judges the work, given the autonomous session's id.
        checkpoints: returns what keeps the tree of each completed step, given the same.
        plan_review: has a plan reviewed before work on it begins.
        beat_seconds: how often a sign of life is given.
    """

    command = "run"

    def __init__(
        self,
        settings: StepSettings,
        *,
        plane: Plane,
        claims: ClaimedDeliverables,
        judges: Callable[[str], Judges],
        checkpoints: Callable[[str], Checkpoints],
        spec_text: SpecText,
        sink: RunSink,
        plan_review: PlanReview,
        beat_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._settings = settings
        self._plan_review = plan_review
        self._plane = plane
        self._claims = claims
        self._judges = judges
        self._make_checkpoints = checkpoints
        self._checkpoints: Checkpoints | None = None
        self._spec_text = spec_text
        self._edits = Edits(spec_text, claims.accepted, sink)
        self._sink = sink
        self._beat_seconds = beat_seconds
        self._heartbeats: Heartbeats | None = None
        self._session_id: str | None = None
        self._context: StepContext | None = None
        self._open_step: CurrentStep | None = None
        self._phase_id: str | None = None
        self._stalled = False
        self._details: dict[str, Any] = {}

    async def run(self, sessions: Sessions) -> Ending:
        """See `Flow.run`."""
        try:
            ending = await self._run(sessions)
        except PlaneRefusedError as refusal:
            return self._refused(refusal)
        if ending is CHANGED_SPEC:
            self._details |= {
                "loop_signal": LoopSignal.BLOCKED_RUNTIME,
                "recommended_actions": [SYNC],
            }
        if ending.reason is ExitReason.PARTLY_PASSED:
            return replace(ending, needs_person=self._settings.unattended)
        return ending

    async def wind_up(self) -> None:
        """See `Flow.wind_up`: report what the agent said before the run was cut off."""
        step, context = self._open_step, self._context
        with suppress(PlaneRefusedError):
            if step is not None and context is not None and step.type == StepType.IMPLEMENT_TASK:
                await self._report_word(step, context)
        # What was not accepted until here is not part of the result; the next run looks at it.
        self._claims.release(reported=False)
        if self._session_id is not None:
            with suppress(PlaneRefusedError):
                view = await self._plane.status(self._session_id)
                self._details = {**result_details(view), **self._details}

    def achieved(self) -> object:
        """See `Flow.achieved`."""
        return None

    def details(self) -> dict[str, Any]:
        """See `Flow.details`."""
        return self._details

    async def _run(self, sessions: Sessions) -> Ending:
        await self._plan(sessions)
        # First of all: what has passed by another text says nothing about this one.
        if await self._edits.spec_changed():
            return CHANGED_SPEC
        live = await find_session(self._plane, self._settings.spec_id)
        if live is None:
            ending = await self._nothing_to_do()
            if ending is not None:
                return ending
        ending = await self._judge_plan(sessions, live)
        if ending is not None:
            return ending
        common = self._settings.common_verification
        if (uncovered := uncovered_phases(self._claims.accepted(), common)) is not None:
            self._sink(Notice("warning", uncovered, COVER))
        opened = await open_session(self._plane, self._settings.spec_id, self._settings.beginning)
        if (warning := ignored_options(self._settings.start, opened.view)) is not None:
            self._sink(warning)
        return await self._drive(sessions, opened)

    async def _judge_plan(self, sessions: Sessions, live: SessionView | None) -> Ending | None:
        """Have the plan reviewed where that is due; return the ending where it is not accepted."""
        ending = await self._plan_review.settle(sessions, known=live is not None)
        if ending is not None:
            self._details |= {
                "loop_signal": LoopSignal.PAUSED_NEEDS_ATTENTION,
                "recommended_actions": list(ending.actions),
            }
        return ending

    async def _nothing_to_do(self) -> Ending | None:
        """Return the ending of a run without a session that has nothing to work on, else None."""
        ending = plan_ending(self._claims.load())
        if ending is None:
            return None
        last = await self._plane.latest(self._settings.spec_id)
        if ending.reason in _PASSED and not await self._is_judged(last):
            return None
        self._session_id = None if last is None else last.session_id
        self._details = {"loop_signal": signal_of(ending)}
        return ending

    async def _is_judged(self, last: SessionAnswer | None) -> bool:
        """Whether what has passed may count as done, without every phase being judged again."""
        file = self._claims.load()
        if last is None:
            common, verifier = self._settings.common_verification, self._judges("").verifier
            return file is None or await still_holds(file, verifier, common, self._sink)
        view = await self._plane.status(last.session_id)
        rolled_back = await anyio.to_thread.run_sync(self._settings.rolled_back)
        if not was_judged(view, file, rolled_back=rolled_back):
            return False
        proven = view.proven_tree
        if file is None or proven is None or self._settings.tree_of is None:
            return True
        now = await anyio.to_thread.run_sync(self._settings.tree_of)
        common, verifier = self._settings.common_verification, self._judges("").verifier
        return proven == f"tree:{now}" or await still_holds(
            file, verifier, common, self._sink, known=CHANGED
        )

    async def _plan(self, sessions: Sessions) -> None:
        """Have the spec planned, where no deliverable is there."""
        while (file := self._claims.load()) is None or not file.deliverables:
            # A run that will not be allowed to use its plan should not pay for one.
            await require_startable(self._plane, self._settings.spec_id, self._settings.beginning)
            digest = await anyio.to_thread.run_sync(self._spec_text.digest)
            await sessions.ready(SESSION_RULES)
            await anyio.to_thread.run_sync(self._make_checkpoints("").planning_started)
            await anyio.to_thread.run_sync(self._plan_review.planning)
            follower = None if self._plan_review.is_wanted else Instruction.CODING
            turn = await sessions.run(
                Assignment(Instruction.INITIALIZER), follower=follower, judge=planned
            )
            if turn.result.outcome is SessionOutcome.COMPLETED:
                await anyio.to_thread.run_sync(self._spec_text.note, digest)

    async def _drive(self, sessions: Sessions, opened: Opened) -> Ending:
        self._session_id = opened.session_id
        self._checkpoints = self._make_checkpoints(opened.session_id)
        self._context = StepContext(
            opened.session_id,
            self._plane,
            sessions,
            self._claims,
            self._judges(opened.session_id),
            self._sink,
            opened.memory,
            self._edits,
            self._settings.most_sessions,
        )
        heartbeats = self._heartbeats = Heartbeats(
            self._plane,
            opened.session_id,
            sessions.context_usage,
            interval_seconds=self._beat_seconds,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heartbeats.run)
            tasks.start_soon(self._edits.watch, self._beat_seconds)
            try:
                ending = await self._steps(self._context, await self._first(opened))
            except RunEndedError as end:
                ending = end.ending
            except PlaneRefusedError as refusal:  # here: the task group would wrap it
                ending = self._refused(refusal)
            finally:
                tasks.cancel_scope.cancel()
        return ending

    def _refused(self, refusal: PlaneRefusedError) -> Ending:
        for name in ("loop_signal", "recommended_actions"):
            if refusal.data.get(name):
                self._details[name] = refusal.data[name]
        return refusal_ending(refusal)

    async def _steps(self, context: StepContext, answer: SessionAnswer) -> Ending:
        """Execute step after step; an answer without one ends the run or is resumed over."""
        rested = False
        while True:
            described = answer.next_step
            if described is None or described.ends:
                if rested or not self._goes_on(answer):
                    return ending_of(answer, self._claims.accepted(), stalled=self._stalled)
                answer, rested = await resume(self._plane, context.session_id), True
                continue
            if await self._edits.spec_changed():
                return CHANGED_SPEC
            step, rested = CurrentStep.of(described), False
            if self._leaves_only_phase(step):
                self._details["loop_signal"] = LoopSignal.PHASE_COMPLETE
                return phase_ending(str(self._phase_id))
            await self._enter(step)
            try:
                answer = await self._execute(step, context)
            except PlaneRefusedError as refusal:
                answer = await self._after_refusal(refusal, context)
            except PlanEditedError:
                answer = await self._by_new_plan(context.session_id)

    async def _first(self, opened: Opened) -> SessionAnswer:
        """Return the answer to begin with. A step of another plan is not worth a session."""
        await self._edits.begin()
        if opened.answer.next_step and other_phases(opened.view, self._claims.accepted()):
            return await self._by_new_plan(opened.session_id)
        return opened.answer

    async def _by_new_plan(self, session_id: str) -> SessionAnswer:
        """Have the control plane look at the plan, which it does before it issues a step."""
        await self._edits.begin()
        return await renew(self._plane, session_id, "the plan was edited")

    async def _execute(self, step: CurrentStep, context: StepContext) -> SessionAnswer:
        """Execute the step and report it, unless somebody stopped what would have done it."""
        outcome = await EXECUTORS[step.type](step, context)
        ending = interrupted(context.sessions.situation)
        if outcome.failed and ending is not None:
            # No fault of the agent's: it neither counts as an error nor takes the step away.
            raise RunEndedError(ending)
        return await self._report(step, outcome, context)

    def _goes_on(self, answer: SessionAnswer) -> bool:
        """Whether a rest is resolved here: `run` is itself the supervisor."""
        if answer.status is not SessionStatus.PAUSED:
            return False
        reason = answer.pause_reason
        over_phase = reason is PauseReason.PHASE_COMPLETE and not self._settings.one_phase
        return over_phase or reason in _OWN_RESTS

    def _leaves_only_phase(self, step: CurrentStep) -> bool:
        """Whether the phase is over that was asked for, in a session that does not stop there."""
        only = self._settings.one_phase and not step.reverifies  # that ends the last phase
        return only and self._phase_id not in (None, step.phase_id)

    async def _enter(self, step: CurrentStep) -> None:
        self._open_step = step
        entered, self._phase_id = step.phase_id != self._phase_id, step.phase_id
        if entered and self._checkpoints is not None:
            await anyio.to_thread.run_sync(self._checkpoints.phase_started, step.phase_id)

    async def _report(
        self, step: CurrentStep, outcome: StepResult, context: StepContext
    ) -> SessionAnswer:
        """Report, note what follows, and return the answer with the next step."""
        if self._heartbeats is not None:
            # What counts is the context that the next agent session begins with.
            await self._heartbeats.beat(context.sessions.kept_usage)
        report = _report_on(step, outcome, await self._touched(step))
        answer = await self._plane.next(context.session_id, report)
        self._stalled = outcome.stalled
        await self._accepted(step, outcome, context)
        return answer

    async def _touched(self, step: CurrentStep) -> tuple[str, ...]:
        """Return what the step's work changed, for whoever reads the journal or goes on with it."""
        if self._checkpoints is None or step.type == StepType.RUN_FIDELITY_GATE:
            return ()
        return await anyio.to_thread.run_sync(self._checkpoints.touched)

    async def _accepted(self, step: CurrentStep, outcome: StepResult, context: StepContext) -> None:
        self._open_step = context.memory = None  # what is remembered is about this step
        self._claims.release()
        if step.task_id is not None and outcome.succeeded:
            announce(step.task_id, Status.PASSED, context)
        if not outcome.succeeded:
            level = "info" if outcome.outcome == "skipped" else "warning"
            context.sink(Notice(level, f"{step.type} on {step.subject}: {outcome.note}"))
            return
        summary = f"{step.type} on {step.subject}"
        if self._checkpoints is not None:
            await anyio.to_thread.run_sync(
                self._checkpoints.record, step.step_id, step.phase_id, summary
            )

    async def _after_refusal(
        self, refusal: PlaneRefusedError, context: StepContext
    ) -> SessionAnswer:
        """Go on after a request that came too late, or that nobody waits for any more."""
        details = refusal.details
        if refusal.code == ErrorCode.STEP_PROOF_EXPIRED or "expired_at" in details:
            return await renew(self._plane, context.session_id)
        if "clock" in details:
            return await renew(self._plane, context.session_id, "the clock went back")
        view = await self._plane.status(context.session_id)
        if view.status is SessionStatus.RUNNING:
            raise refusal
        return view

    async def _report_word(self, step: CurrentStep, context: StepContext) -> None:
        """Report an implemented deliverable without asking for more work."""
        if self._claims.word is not Status.PASSED:
            return
        outcome = StepResult("success", "The run was cut off after the agent had passed it.")
        report = _report_on(step, outcome, await self._touched(step))
        await self._plane.report(context.session_id, report)
        await self._accepted(step, outcome, context)


def _report_on(step: CurrentStep, outcome: StepResult, touched: Sequence[str]) -> StepReport:
    """Return the report. Raises PlaneRefusedError, as the control plane refuses a wrong one."""
    try:
        return outcome.report(step, touched)
    except RefusedError as error:
        raise PlaneRefusedError(error.message, failure(error, request_id="")["data"]) from error
