"""How each type of step is executed: one module each, one registry."""

from collections.abc import Mapping

from runner.autonomy.enums import StepType
from runner.loop.steps.context import Executor
from runner.loop.steps.implement import implement_task
from runner.loop.steps.remediate import address_fidelity_feedback
from runner.loop.steps.review import run_fidelity_gate
from runner.loop.steps.verify import execute_verification

EXECUTORS: Mapping[str, Executor] = {
    StepType.IMPLEMENT_TASK: implement_task,
    StepType.EXECUTE_VERIFICATION: execute_verification,
    StepType.RUN_FIDELITY_GATE: run_fidelity_gate,
    StepType.ADDRESS_FIDELITY_FEEDBACK: address_fidelity_feedback,
}
