"""`execute_verification`: the runner itself runs the phase's commands."""

from runner.deliverables.verification_conditions import for_the_mending
from runner.events import Notice
from runner.loop.prompts import Assignment
from runner.loop.steps.context import StepContext
from runner.loop.steps.step import CurrentStep, StepResult, failure, success
from runner.marker import Instruction
from runner.ports import VerificationRun
from runner.text.messages import plural
from runner.text.safe import code, fenced, inert

_SHOWN_LINES = 5

MENDING_SESSIONS = 2
"""How often an agent may mend what a verification found, before the step has failed."""


async def execute_verification(step: CurrentStep, context: StepContext) -> StepResult:
    """Run the commands; have failures mended, and run all of them again.

    A closed phase that fails on the final tree is not mended here: the control plane has to know
    first that it is open again, so that what mends it is reviewed.
    """
    if step.reverifies:
        return await _reverify(step, context)
    for _ in range(MENDING_SESSIONS):
        run = await _verify(step, context)
        if run.passed:
            return _passed(run)
        await context.work(
            Assignment(
                Instruction.REMEDIATE,
                briefing=context.briefing(_to_mend(run)),
                phase_id=step.phase_id,
                step_id=step.step_id,
            )
        )
    run = await _verify(step, context)
    if run.passed:
        return _passed(run)
    return failure(f"{_summary(run)}{_failed_setup(run)}", verification_receipt=run.receipt)


async def _reverify(step: CurrentStep, context: StepContext) -> StepResult:
    run = await _verify(step, context)
    if run.passed:
        return _passed(run)
    told = f"{step.phase_id} had passed, and fails on the final tree: {_summary(run)}"
    return failure(told, verification_receipt=run.receipt)


async def _verify(step: CurrentStep, context: StepContext) -> VerificationRun:
    # What a kept agent left running could exchange folders while the room is made from them.
    await context.sessions.close()
    run = await context.judges.verifier.run(step.step_id, step.commands)
    context.sessions.forget_tree()
    failed = [result for result in run.results if result.exit_code != 0]
    level = "warning" if failed else "info"
    level = "warning" if failed or _failed_setup(run) else level
    again = " on the final tree" if step.reverifies else ""
    text = f"Verification of {step.phase_id}{again}: {_summary(run)}{_failed_setup(run)}"
    context.sink(Notice(level, text, _cause(run) or None))
    return run


def _failed_setup(run: VerificationRun) -> str:
    return "".join(
        f" (the setup command `{setup.command}` gave {setup.exit_code})"
        for setup in (run.conditions.failed_setup if run.conditions else ())
    )


def _cause(run: VerificationRun) -> str:
    """Return for people what the failed commands printed, and what may be missing."""
    failed = [result for result in run.results if result.exit_code != 0]
    if not failed:
        return ""
    lines = [line for line in failed[0].output_tail.splitlines() if line.strip()][-_SHOWN_LINES:]
    ignored = run.conditions.ignored if run.conditions is not None and run.conditions.clean else ()
    if ignored:
        lines.append(
            f"Verification runs on a fresh checkout, without what git ignores ({', '.join(ignored[:3])}). "
            "If the commands need that, name what makes it under [verification] setup in "
            ".runner/runner.toml, or set in_place = true there."
        )
    if run.receipt_path is not None:
        lines.append(f"All of the output: {run.receipt_path.parent}")
    return "\n".join(lines)


def _passed(run: VerificationRun) -> StepResult:
    return success(_summary(run), verification_receipt=run.receipt)


def _summary(run: VerificationRun) -> str:
    failed = [result for result in run.results if result.exit_code != 0]
    if not failed:
        return f"{len(run.results)} of {plural(len(run.results), 'command')} passed."
    named = "; ".join(
        f"`{result.command}` {'took too long' if result.timed_out else f'gave {result.exit_code}'}"
        for result in failed
    )
    return f"{len(failed)} of {plural(len(run.results), 'command')} failed: {named}"


def _to_mend(run: VerificationRun) -> str:
    parts = ["The runner has verified this phase itself, and these commands failed:"]
    for result in run.results:
        if result.exit_code != 0:
            end = "was ended, it took too long" if result.timed_out else "failed"
            parts.append(
                f"{code(inert(result.command))} {end} (exit code {result.exit_code}). The end of its "
                f"output:\n\n{fenced(result.output_tail, 'output')}"
            )
    failed = [result.output_tail for result in run.results if result.exit_code != 0]
    parts += for_the_mending(run.conditions, failed)
    parts.append("When you are done, the runner runs all commands again.")
    return "\n\n".join(parts)
