"""`address_fidelity_feedback`: an agent mends what a review found."""

from collections.abc import Mapping, Sequence
from typing import Any

from runner.events import SessionOutcome
from runner.loop.prompts import Assignment
from runner.loop.steps.context import StepContext
from runner.loop.steps.step import CurrentStep, StepResult, failure, success
from runner.marker import Instruction
from runner.text.safe import fenced, inline


async def address_fidelity_feedback(step: CurrentStep, context: StepContext) -> StepResult:
    """Have the findings mended; whether they are is for the next review to say."""
    findings, taken_up = _told(step), context.taken_up
    while True:
        turn = await context.work(
            Assignment(
                Instruction.REMEDIATE,
                briefing=context.briefing(findings),
                phase_id=step.phase_id,
                step_id=step.step_id,
            )
        )
        if not turn.progressed and not taken_up:
            said = turn.result.text
            return failure(f"A session changed nothing. The agent said: {said}", stalled=True)
        if turn.result.outcome is SessionOutcome.COMPLETED:
            return success(turn.result.text)
        taken_up = False


def _told(step: CurrentStep) -> str:
    parts = [
        f"An independent review of {inline(step.phase_id)} found:",
        listed_findings(step.findings),
    ]
    parts.append("When you are done, the phase is verified and reviewed again.")
    return "\n\n".join(parts)


def listed_findings(findings: Sequence[Mapping[str, Any]]) -> str:
    """Return what a review found, numbered, for whoever deals with it."""
    return "\n\n".join(_finding(number, finding) for number, finding in enumerate(findings, 1))


def _finding(number: int, finding: Mapping[str, Any]) -> str:
    of = [finding.get("deliverable_id"), finding.get("file")]
    where = ", ".join(inline(part) for part in of if part)
    head = f"{number}. {inline(finding['severity'])}: {inline(finding['title'])}"
    head += f" ({where})" if where else ""
    detail = str(finding.get("detail") or "")
    return f"{head}\n\n{fenced(detail, 'finding')}" if detail.strip() else head
