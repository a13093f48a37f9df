"""Run agent sessions, one after the other, within what bounds a run.

Before every session the reasons to end are looked at; what a session gave is noted for the next
look. What a session is for is decided elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio

from runner.checkpoints.fingerprint import WorkTree
from runner.deliverables.model import StatusFile
from runner.errors import AgentStartError, RunnerError
from runner.events import SessionEnded, SessionOutcome, SessionResult, SessionStarted, Waiting
from runner.loop.drive import Drive
from runner.loop.prefetch import ConnectAhead, KeptSession
from runner.loop.prompts import Assignment, build_prompt
from runner.loop.settings import RunSettings, SessionDependencies
from runner.loop.termination import Rule, RunEndedError, Situation, evaluate
from runner.marker import Instruction, PromptMarker
from runner.ports import RunSink, SessionPlan
from runner.quota.waiting import QuotaWait, did_work, retry_delay
from runner.records.spending import session_budget

FAILED = frozenset({SessionOutcome.EXECUTION_ERROR, SessionOutcome.CRASHED})
"""Ends of a session that say nothing about the work: it is tried again."""


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """What one agent session gave; `progressed` says whether anything changed by it."""

    result: SessionResult
    progressed: bool

    @property
    def worked(self) -> bool:
        """Whether it says something about the work, and not about the agent or the service."""
        outcome = self.result.outcome
        return outcome not in FAILED and outcome is not SessionOutcome.QUOTA_EXCEEDED


Judge = Callable[[SessionResult, StatusFile | None], SessionResult]


def _as_it_is(result: SessionResult, _file: StatusFile | None) -> SessionResult:
    return result


class Sessions:
    """Runs agent sessions. Use `run` inside of `ConnectAhead`'s task group.

    Args:
        quota: decides about usage limits.
        achieved: returns a value that differs when something was achieved beyond statuses and
            files.
    """

    def __init__(
        self,
        settings: RunSettings,
        around: SessionDependencies,
        *,
        drive: Drive,
        ahead: ConnectAhead,
        quota: QuotaWait,
        achieved: Callable[[], object] = lambda: None,
    ) -> None:
        self.situation = Situation(settings.limits)
        self._settings = settings
        self._around = around
        self._drive = drive
        self._ahead = ahead
        self._quota = quota
        self._achieved = achieved
        self._tree = WorkTree(settings.project_dir)
        self._seen: bytes | None = None
        self._kept = KeptSession(settings.reuse_below_pct)

    def look(self) -> Situation:
        """Return where the run stands, with the deliverables as they are now."""
        self.situation = replace(self.situation, file=self._around.deliverables.load())
        return self.situation

    def interrupt(self) -> None:
        """Note that somebody asked the run to stop."""
        self.situation = replace(self.situation, interrupted=True)

    async def ready(self, rules: Sequence[Rule]) -> None:
        """Wait for what has to be waited for before the next session.

        Raises:
            RunEndedError: there is a reason to end.
        """
        while True:
            ending = evaluate(self.look(), tuple(rules))
            if ending is not None:
                raise RunEndedError(ending)
            if not self._quota.pending:
                break
            await self._wait_for_quota()
        await self._back_off()

    async def run(
        self,
        assignment: Assignment,
        *,
        follower: Instruction | None = None,
        judge: Judge = _as_it_is,
    ) -> SessionTurn:
        """Run one agent session and note what came of it.

        Args:
            assignment: what it is asked to do.
            follower: the instruction of a session worth connecting meanwhile.
            judge: returns the session's result as it counts here.
        """
        plan = self._plan(assignment.instruction)
        before = await self._before(assignment)
        self._sink(self._started(assignment, plan))
        try:
            session = await self._kept.take(plan) or await self._ahead.take(plan)
        except AgentStartError as error:
            return self._note_failed_start(plan, error)
        keep = self._kept.wants(plan)
        self._prepare(None if keep else follower)
        result = await self._drive.run(
            session,
            self._prompt(assignment),
            task_id=assignment.deliverable.id if assignment.deliverable else None,
            sink=self._sink,
            keep=keep,
        )
        # What was paid for is counted, whoever wants to stop just now.
        progressed = False
        with anyio.CancelScope(shield=True):
            if keep and result.outcome is SessionOutcome.COMPLETED:
                await self._kept.put(plan, session)
            result, progressed = await self._settle(assignment, result, judge, before)
        return SessionTurn(result, progressed)

    async def context_usage(self) -> int | None:
        """Return how full the running session's context is, in percent, None without one."""
        return await self._drive.context_usage()

    @property
    def kept_usage(self) -> int:
        """How full the context is that the next session begins with, in percent."""
        return self._kept.usage_pct

    async def close(self) -> None:
        """Close what was kept for further work."""
        await self._kept.close()

    @property
    def _sink(self) -> RunSink:
        return self._around.sink

    async def _wait_for_quota(self) -> None:
        # Hours may pass: no agent process is kept for them, and people may change the tree.
        await self._ahead.discard()
        await self._kept.close()
        self._seen = None
        stand = await self._quota.wait(self._sink)
        self.situation = replace(self.situation, quota=stand)

    async def _back_off(self) -> None:
        errors, last = self.situation.consecutive_errors, self.situation.last
        if errors and last and last.outcome is not SessionOutcome.QUOTA_EXCEEDED:
            seconds = retry_delay(errors)
            self._sink(Waiting(seconds, f"try {errors + 1} after a failed session"))
            await self._around.sleep(seconds)

    async def _before(self, assignment: Assignment) -> tuple[object, ...]:
        for guard in self._around.guards:
            await anyio.to_thread.run_sync(guard.before, assignment.instruction)
        seen = self._seen or await anyio.to_thread.run_sync(self._tree.fingerprint)
        return (seen, self.situation.file, self._achieved())

    async def _settle(
        self,
        assignment: Assignment,
        result: SessionResult,
        judge: Judge,
        before: tuple[object, ...],
    ) -> tuple[SessionResult, bool]:
        """Note what came of a session that was closed; return how it counts, and progress."""
        number = self.situation.sessions + 1
        counts = assignment.instruction.is_iteration
        try:
            for guard in self._around.guards:
                await anyio.to_thread.run_sync(guard.after, assignment.instruction)
            file = self._around.deliverables.load()
        except RunnerError:
            self._sink(SessionEnded(number, assignment.instruction, result))
            self._note(result, progressed=False, counts=counts)
            raise
        result = self._quota.timed(judge(result, file))
        self._sink(SessionEnded(number, assignment.instruction, result))
        self._seen = await anyio.to_thread.run_sync(self._tree.fingerprint)
        progressed = before != (self._seen, file, self._achieved())
        self._note(result, progressed=progressed, counts=counts)
        return result, progressed

    def forget_tree(self) -> None:
        """Note that others than a session may have changed the tree."""
        self._seen = None

    def _plan(self, instruction: Instruction) -> SessionPlan:
        settings = self._settings
        return SessionPlan(
            instruction=instruction,
            model=settings.model_for(instruction),
            thinking_tokens=settings.thinking_tokens,
            max_cost_usd=session_budget(
                self.situation.cost_usd,
                session_limit=settings.max_session_cost_usd,
                run_limit=settings.limits.max_cost_usd,
                spec=settings.limits.spec_budget,
            ),
        )

    def _prepare(self, follower: Instruction | None) -> None:
        limits = self._settings.limits
        if follower is None or not self._settings.connects_ahead:
            return
        # With a budget the next session's limit is known only when this one was paid; and a
        # session that --max-iterations rules out is not worth a process.
        last = limits.max_iterations is not None and (
            self.situation.iterations + 1 >= limits.max_iterations
        )
        if not limits.bounds_cost and not last:
            self._ahead.prepare(self._plan(follower))

    def _iteration(self, instruction: Instruction) -> int:
        """Return the number a session bears; a review bears that of the work before it."""
        return self.situation.iterations + (1 if instruction.is_iteration else 0)

    def _prompt(self, assignment: Assignment) -> str:
        deliverable = assignment.deliverable
        marker = PromptMarker(
            instruction=assignment.instruction,
            iteration=self._iteration(assignment.instruction),
            phase=assignment.phase,
            task=deliverable.id if deliverable else None,
            step=assignment.step_id,
            scope=assignment.scope,
        )
        last = self.situation.last
        return build_prompt(
            marker,
            self._around.instruction_text(assignment.text_name),
            self._settings.project_dir,
            file=self.situation.file,
            deliverable=deliverable,
            briefing=assignment.briefing,
            previous_failure=last.error if last and not _was_refused(last) else None,
        )

    def _started(self, assignment: Assignment, plan: SessionPlan) -> SessionStarted:
        deliverable = assignment.deliverable
        return SessionStarted(
            number=self.situation.sessions + 1,
            instruction=plan.instruction,
            iteration=self._iteration(plan.instruction),
            model=plan.model,
            task_id=deliverable.id if deliverable else None,
            task_title=deliverable.description if deliverable else None,
            phase_id=assignment.phase,
            step_id=assignment.step_id,
            scope=assignment.scope,
        )

    def _note(self, result: SessionResult, *, progressed: bool, counts: bool = True) -> None:
        now = self.situation
        failed = result.outcome in FAILED
        limited = result.outcome is SessionOutcome.QUOTA_EXCEEDED
        refused = _was_refused(result) and not progressed
        if not refused:
            self._quota.passed()
        self.situation = replace(
            now,
            last=result,
            quota=self._quota.met(result) if limited else None,
            iterations=now.iterations + (counts and not refused),
            sessions=now.sessions + 1,
            cost_usd=now.cost_usd + result.cost_usd,
            # A limit says nothing about the work: it is neither an error nor the end of them.
            consecutive_errors=now.consecutive_errors + failed if failed or limited else 0,
            stalls=now.stalls if failed else 0 if progressed else now.stalls + (not limited),
        )

    def _note_failed_start(self, plan: SessionPlan, error: AgentStartError) -> SessionTurn:
        result = SessionResult(SessionOutcome.CRASHED, error=str(error))
        now = self.situation
        self._sink(SessionEnded(now.sessions + 1, plan.instruction, result))
        self.situation = replace(
            now,
            last=result,
            sessions=now.sessions + 1,
            consecutive_errors=now.consecutive_errors + 1,
        )
        return SessionTurn(result, progressed=False)


def _was_refused(result: SessionResult) -> bool:
    """Return whether a usage limit kept the model from answering at all."""
    return result.outcome is SessionOutcome.QUOTA_EXCEEDED and not did_work(result)
