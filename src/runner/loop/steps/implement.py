"""`implement_task`: coding sessions, bound to one deliverable."""

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.events import Notice, StatusChanged
from runner.loop.prompts import Assignment
from runner.loop.steps.context import StepContext
from runner.loop.steps.remediate import listed_findings
from runner.loop.steps.step import CurrentStep, StepResult, failure, skipped, success
from runner.marker import Instruction
from runner.text.messages import plural

_KEPT = "Its agent had said so when an earlier run was cut off."


async def implement_task(step: CurrentStep, context: StepContext) -> StepResult:
    """Have the deliverable implemented, in as many sessions as make progress.

    The agent's word is what `set_status` left; it counts even if its session broke off later.
    """
    file = context.claims.accepted()
    deliverable = file.find(str(step.task_id)) if file is not None else None
    if file is None or deliverable is None:
        return failure(f"{step.task_id} is no longer in .runner/status.json.")
    if deliverable.status is Status.BLOCKED:
        return skipped(f"{deliverable.id} is blocked.")
    context.claims.bind(deliverable.id, step_id=step.step_id, proof=step.proof)
    _tell_of_kept_word(deliverable.id, context)
    while True:
        turn = None
        if context.claims.word is Status.PENDING:
            if context.spent[deliverable.id] >= context.most_sessions:
                return failure(_stuck(deliverable.id, context.most_sessions), stalled=True)
            context.spent[deliverable.id] += 1
            turn = await context.work(
                Assignment(
                    Instruction.CODING,
                    deliverable,
                    briefing=context.briefing(_refuted(step)),
                    phase_id=step.phase_id,
                    step_id=step.step_id,
                ),
                follower=_follower(file, deliverable),
            )
        said = turn.result.text if turn is not None else _KEPT
        if context.claims.word is Status.PASSED:
            return success(said)
        if context.claims.word is Status.BLOCKED:
            return await _block(step, context, said)
        if turn is not None and not turn.progressed:
            return failure(f"A session changed nothing. The agent said: {said}", stalled=True)


def _stuck(task_id: str, sessions: int) -> str:
    return (
        f"{plural(sessions, 'session')} worked on {task_id}, and none set its status. Look at what "
        "they did; --max-sessions-per-deliverable sets the limit."
    )


def _refuted(step: CurrentStep) -> str | None:
    """Return what a review found about the deliverable that an agent had blocked."""
    if not step.findings:
        return None
    return "\n\n".join(
        (
            f"An independent review found that {step.task_id} is not done, or not really blocked:",
            listed_findings(step.findings),
            "Build it. If you find it blocked after all, show in the reason what you tried.",
        )
    )


def _tell_of_kept_word(task_id: str, context: StepContext) -> None:
    if context.taken_up and context.claims.word is Status.PASSED:
        told = f"{task_id} was passed by its agent before an earlier run was cut off"
        context.sink(Notice("info", f"{told}; it is reported without another session"))


def announce(task_id: str, status: Status, context: StepContext) -> None:
    """Tell people of a status that the control plane has accepted."""
    file = context.claims.accepted()
    found = file.find(task_id) if file is not None else None
    context.sink(StatusChanged(task_id, status.value, found.description if found else ""))


async def _block(step: CurrentStep, context: StepContext, said: str) -> StepResult:
    task_id = str(step.task_id)
    reason = context.claims.reason or said
    await context.plane.block(task_id, reason[:500] or "The agent says so.", step.proof)
    announce(task_id, Status.BLOCKED, context)
    return skipped(f"{task_id} is blocked. {reason}".strip())


def _follower(file: StatusFile, deliverable: Deliverable) -> Instruction | None:
    """Return CODING when another deliverable of the phase comes next, else None."""
    left = [d for d in file.of_phase(deliverable.phase_id) if d.status is Status.PENDING]
    return Instruction.CODING if any(d.id != deliverable.id for d in left) else None
