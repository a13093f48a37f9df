"""`run_fidelity_gate`: an independent review, by an agent with a fresh context."""

from functools import partial

import anyio

from runner.autonomy.client import GateAnswer
from runner.autonomy.enums import GatePolicy
from runner.checkpoints.phase_diff import NoComparisonError
from runner.deliverables.review import ReviewVerdict
from runner.events import Notice
from runner.loop.prompts import Assignment
from runner.loop.steps.context import StepContext
from runner.loop.steps.step import CurrentStep, StepResult, failure, success
from runner.marker import Instruction
from runner.text.messages import plural


class NoVerdictError(Exception):
    """A review could not run; the message says why."""


async def have_reviewed(step: CurrentStep, context: StepContext) -> ReviewVerdict:
    """Have an agent review the step's phase, and return what it submitted.

    Raises:
        NoVerdictError: it submitted nothing.
        RunEndedError: there is a reason to end before it did.
    """
    context.judges.take_verdict()  # an older one must not count for this review
    make = partial(
        context.judges.briefing.text,
        step.phase_id,
        changed_commands=step.changed_commands,
        scope=step.scope,
    )
    try:
        briefing = await anyio.to_thread.run_sync(make)
    except NoComparisonError as error:
        raise NoVerdictError(f"{error.message} {error.hint}") from error
    turn = await context.work(
        Assignment(
            Instruction.REVIEW,
            # What was accepted before is no word for a reviewer, who is to form his own.
            briefing=briefing,
            phase_id=step.phase_id,
            step_id=step.step_id,
            scope=step.scope,
        )
    )
    review = context.judges.take_verdict()
    if review is None:
        why = turn.result.error or f"It said: {turn.result.text}"
        raise NoVerdictError(f"The review session ended without submit_review. {why}")
    return review


async def run_fidelity_gate(step: CurrentStep, context: StepContext) -> StepResult:
    """Have the phase reviewed, and the verdict made evidence.

    A review that ends without a verdict could not run; that is never a pass.
    """
    try:
        review = await have_reviewed(step, context)
    except NoVerdictError as error:
        return failure(str(error))
    gate = await context.plane.record_review(
        context.session_id, step.phase_id, step.step_id, review
    )
    context.sink(_notice(step, review, gate))
    return success(
        review.summary,
        gate_attempt_id=gate.gate_attempt_id,
        gate_evidence_token=gate.gate_evidence_token,
    )


def _notice(step: CurrentStep, review: ReviewVerdict, gate: GateAnswer) -> Notice:
    findings, policy = plural(len(review.findings), "finding"), gate.gate_policy
    passes = gate.gate_passed_preview
    if policy is GatePolicy.MANUAL:
        effect = "under the manual policy a person decides"
    else:
        effect = f"under the {policy} policy it {'passes' if passes else 'does not pass'}"
    said = f"Review of {step.phase_id}: {review.verdict} ({findings}); {effect}. {review.summary}"
    return Notice("info" if passes else "warning", said)
