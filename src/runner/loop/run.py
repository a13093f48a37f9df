"""The loop behind `runner run` and `runner sync`: one fresh agent session after another.

The main flow is `Run.execute`. What comes next is decided in `workflow`, when to end in
`termination`.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import anyio

from runner.deliverables.model import Counts, Deliverable, StatusFile
from runner.errors import AgentStartError, RunnerError
from runner.loop.ahead import ConnectAhead
from runner.loop.backoff import retry_delay
from runner.loop.budget import session_budget
from runner.loop.drive import Drive
from runner.loop.events import (
    ExitReason,
    RunEnded,
    RunResult,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    Waiting,
)
from runner.loop.ports import AgentFactory, RunSink, SessionPlan
from runner.loop.prompts import build_prompt
from runner.loop.termination import Ending, Limits, Situation, broken_off, evaluate
from runner.loop.waiting import QuotaWait, WaitPolicy, did_work
from runner.loop.workflow import Assignment, RunWorkflow, Workflow
from runner.loop.worktree import WorkTree
from runner.marker import Instruction, PromptMarker

_FAILED = frozenset({SessionOutcome.EXECUTION_ERROR, SessionOutcome.CRASHED})


class Deliverables(Protocol):
    """What the loop reads of the deliverables."""

    def load(self) -> StatusFile | None: ...


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run was asked to do.

    Attributes:
        project_dir: absolute path.
        spec_id: identifies the spec in the result.
        thinking_tokens: thinking budget in tokens, None for none.
        max_session_cost_usd: US dollars for one agent session, None for no limit.
        session_timeout_seconds: bounds one agent session.
        quota: whether and how long usage limits are waited for.
    """

    project_dir: Path
    spec_id: str
    model: str
    plan_model: str
    limits: Limits
    thinking_tokens: int | None = None
    max_session_cost_usd: float | None = None
    session_timeout_seconds: float = 3600.0
    quota: WaitPolicy = field(default_factory=WaitPolicy)


class Run:
    """One `runner run` or `runner sync`.

    Args:
        deliverables: read anew before every session.
        factory: makes agent sessions.
        instruction_text: returns the text of an instruction.
        sink: is told what happens.
        workflow: what the command decides; that of `run` when left out.
        after_session: called when a session's process is gone; what it raises ends the run.
        sleep: waits a number of seconds; given in tests.
        quota: decides about usage limits; made from the settings when left out.
    """

    def __init__(
        self,
        settings: RunSettings,
        *,
        deliverables: Deliverables,
        factory: AgentFactory,
        instruction_text: Callable[[Instruction], str],
        sink: RunSink,
        workflow: Workflow | None = None,
        after_session: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        quota: QuotaWait | None = None,
    ) -> None:
        self._settings = settings
        self._deliverables = deliverables
        self._factory = factory
        self._instruction_text = instruction_text
        self._sink = sink
        self._workflow: Workflow = workflow or RunWorkflow()
        self._after_session = after_session
        self._sleep = sleep
        self._quota = quota or QuotaWait(settings.quota, sleep=sleep)
        self._tree = WorkTree(settings.project_dir)
        self._seen: bytes | None = None
        self._situation = Situation(settings.limits)
        self._drive = Drive(settings.session_timeout_seconds)
        self._signal_number: int | None = None

    def stop(self, signal_number: int) -> None:
        """Ask the run to end now, in order; it then returns INTERRUPTED."""
        self._signal_number = signal_number
        self._situation = replace(self._situation, interrupted=True)
        self._drive.stop()

    async def execute(self) -> RunResult:
        """Run until there is a reason to end, tell the sink, and return the result.

        What goes wrong on the way is the result, with what was done and spent until then.
        """
        started = time.monotonic()
        try:
            ending = await self._until_ending()
        except* RunnerError as group:
            # Task groups wrap what is raised in them; people are told the error itself.
            ending = broken_off(_first(group))
        result = self._result(ending, time.monotonic() - started)
        self._sink(RunEnded(result, self._workflow.details()))
        return result

    async def _until_ending(self) -> Ending:
        async with (
            anyio.create_task_group() as tasks,
            ConnectAhead(self._factory, tasks) as ahead,
        ):
            while (ending := evaluate(self._look(), self._workflow.rules)) is None:
                with self._drive.scope():
                    if self._quota.pending:
                        await self._wait_for_quota(ahead)
                        continue
                    await self._back_off()
                    await self._iterate(ahead)
            return ending
        # Reached only if a context manager swallowed an error: then the run must not look done.
        return Ending(ExitReason.ERROR, "The run ended without a reason")

    def _look(self) -> Situation:
        self._situation = replace(self._situation, file=self._deliverables.load())
        return self._situation

    async def _wait_for_quota(self, ahead: ConnectAhead) -> None:
        # Hours may pass: no agent process is kept for them, and people may change the tree.
        await ahead.discard()
        self._seen = None
        stand = await self._quota.wait(self._sink)
        self._situation = replace(self._situation, quota=stand)

    async def _back_off(self) -> None:
        errors, last = self._situation.consecutive_errors, self._situation.last
        if errors and last and last.outcome is not SessionOutcome.QUOTA_EXCEEDED:
            seconds = retry_delay(errors)
            self._sink(Waiting(seconds, f"try {errors + 1} after a failed session"))
            await self._sleep(seconds)

    async def _iterate(self, ahead: ConnectAhead) -> None:
        """Run one agent session and note what came of it."""
        file = self._situation.file
        assignment = self._workflow.choose(file)
        plan = self._plan(assignment.instruction)
        before = self._seen or await anyio.to_thread.run_sync(self._tree.fingerprint)
        achieved = self._workflow.progress()
        number = self._situation.sessions + 1
        self._sink(
            _session_started(number, self._situation.iterations + 1, plan, assignment.deliverable)
        )
        try:
            session = await ahead.take(plan)
        except AgentStartError as error:
            self._note_failed_start(number, plan, error)
            return
        self._prepare_next(ahead)
        result = await self._drive.run(
            session,
            self._prompt(assignment, file),
            task_id=assignment.deliverable.id if assignment.deliverable else None,
            sink=self._sink,
        )
        # What was paid for is counted, whoever wants to stop just now.
        with anyio.CancelScope(shield=True):
            await self._settle(assignment, result, before=(before, file, achieved))

    async def _settle(
        self,
        assignment: Assignment,
        result: SessionResult,
        *,
        before: tuple[bytes | None, StatusFile | None, object],
    ) -> None:
        """Note what came of a session that was closed.

        Args:
            before: the tree's fingerprint, the deliverables and the progress before it.
        """
        number = self._situation.sessions + 1
        try:
            self._after_session()
            file = self._deliverables.load()
        except RunnerError:
            self._sink(SessionEnded(number, assignment.instruction, result))
            self._note(result, progressed=False)
            raise
        result = self._quota.timed(self._workflow.settle(assignment, result, file))
        self._sink(SessionEnded(number, assignment.instruction, result))
        self._seen = await anyio.to_thread.run_sync(self._tree.fingerprint)
        self._note(result, progressed=before != (self._seen, file, self._workflow.progress()))

    def _plan(self, instruction: Instruction) -> SessionPlan:
        settings = self._settings
        return SessionPlan(
            instruction=instruction,
            model=settings.plan_model if instruction.is_planning else settings.model,
            thinking_tokens=settings.thinking_tokens,
            max_cost_usd=session_budget(
                self._situation.cost_usd,
                session_limit=settings.max_session_cost_usd,
                run_limit=settings.limits.max_cost_usd,
                spec=settings.limits.spec_budget,
            ),
        )

    def _prepare_next(self, ahead: ConnectAhead) -> None:
        follower, limits = self._workflow.follower, self._settings.limits
        if follower is None:
            return
        # With a budget the next session's limit is known only when this one was paid; and a
        # session that --max-iterations rules out is not worth a process.
        last = limits.max_iterations is not None and (
            self._situation.iterations + 1 >= limits.max_iterations
        )
        if not limits.bounds_cost and not last:
            ahead.prepare(self._plan(follower))

    def _prompt(self, assignment: Assignment, file: StatusFile | None) -> str:
        deliverable = assignment.deliverable
        marker = PromptMarker(
            instruction=assignment.instruction,
            iteration=self._situation.iterations + 1,
            phase=deliverable.phase_id if deliverable else None,
            task=deliverable.id if deliverable else None,
        )
        last = self._situation.last
        return build_prompt(
            marker,
            self._instruction_text(assignment.instruction),
            self._settings.project_dir,
            file=file,
            deliverable=deliverable,
            briefing=assignment.briefing,
            previous_failure=last.error if last and not _was_refused(last) else None,
        )

    def _note(self, result: SessionResult, *, progressed: bool) -> None:
        now = self._situation
        failed = result.outcome in _FAILED
        limited = result.outcome is SessionOutcome.QUOTA_EXCEEDED
        refused = _was_refused(result) and not progressed
        if not refused:
            self._quota.passed()
        self._situation = replace(
            now,
            last=result,
            quota=self._quota.met(result) if limited else None,
            iterations=now.iterations + (0 if refused else 1),
            sessions=now.sessions + 1,
            cost_usd=now.cost_usd + result.cost_usd,
            # A limit says nothing about the work: it is neither an error nor the end of them.
            consecutive_errors=now.consecutive_errors + failed if failed or limited else 0,
            stalls=now.stalls if failed else 0 if progressed else now.stalls + (not limited),
        )

    def _note_failed_start(self, number: int, plan: SessionPlan, error: AgentStartError) -> None:
        result = SessionResult(SessionOutcome.CRASHED, error=str(error))
        self._sink(SessionEnded(number, plan.instruction, result))
        now = self._situation
        self._situation = replace(
            now, last=result, sessions=number, consecutive_errors=now.consecutive_errors + 1
        )

    def _result(self, ending: Ending, duration_seconds: float) -> RunResult:
        now, file = self._situation, self._situation.file
        counts = file.counts if file else None
        quota = ending.reason is ExitReason.QUOTA_EXCEEDED
        return RunResult(
            command=self._workflow.command,
            exit_reason=ending.reason,
            message=ending.message,
            hint=ending.hint,
            spec_id=self._settings.spec_id,
            counts=counts or Counts(),
            iterations=now.iterations,
            agent_sessions=now.sessions,
            duration_seconds=duration_seconds,
            total_cost_usd=now.cost_usd,
            blocked_ids=tuple(d.id for d in file.blocked) if file else (),
            signal_number=self._signal_number,
            quota_resets_at=now.last.quota_resets_at if quota and now.last else None,
        )


def _first(group: ExceptionGroup[RunnerError]) -> RunnerError:
    first: RunnerError | ExceptionGroup[RunnerError] = group
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first


def _was_refused(result: SessionResult) -> bool:
    """Return whether a usage limit kept the model from answering at all."""
    return result.outcome is SessionOutcome.QUOTA_EXCEEDED and not did_work(result)


def _session_started(
    number: int, iteration: int, plan: SessionPlan, deliverable: Deliverable | None
) -> SessionStarted:
    return SessionStarted(
        number=number,
        instruction=plan.instruction,
        iteration=iteration,
        model=plan.model,
        task_id=deliverable.id if deliverable else None,
        task_title=deliverable.description if deliverable else None,
    )
