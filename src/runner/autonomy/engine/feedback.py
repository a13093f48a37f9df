"""Rules 1 and 2: a report is there, belongs to the outstanding step, and proves it."""

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.clock import require_after_issue
from runner.autonomy.engine.turn import Stop, Turn
from runner.autonomy.enums import SessionStatus, StepOutcome, StepType
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import IssuedStep, SessionState
from runner.autonomy.tokens import same_token


def require_report(turn: Turn) -> Turn | Stop:
    """Rule 1: an outstanding step must be reported on before the next one is issued."""
    state = turn.state
    owes = state.last_step_issued is not None and not state.report_exempt
    if turn.report is None and owes and state.status is SessionStatus.RUNNING:
        raise RefusedError(
            ErrorCode.STEP_RESULT_REQUIRED,
            "The outstanding step has not been reported on.",
            details=_outstanding(state),
        )
    return turn


def match_step(turn: Turn) -> Turn | Stop:
    """Rule 2: the report names the outstanding step, its type, and what it is bound to."""
    if turn.report is None:
        return turn
    step = turn.state.last_step_issued
    if step is None or not _fits(turn.report, step):
        raise RefusedError(
            ErrorCode.STEP_MISMATCH,
            "The report is not about the outstanding step.",
            details=_outstanding(turn.state),
        )
    _refuse_foreign_fields(turn.report)
    return turn._replace(answered=step)


def check_step_proof(turn: Turn) -> Turn | Stop:
    """Rule 2, with the write lock enforced: the report carries the step's own token.

    A report is never refused for its age: rule 3 records it, and rule 7 then pauses the session.
    """
    if turn.report is None or not turn.state.write_lock.enforced:
        return turn
    token = turn.report.step_proof
    proof = turn.state.pending_step_proof
    if token is None:
        raise RefusedError(ErrorCode.STEP_PROOF_REQUIRED, "The report carries no step_proof.")
    if proof is None or proof.step_id != turn.report.step_id:
        raise RefusedError(ErrorCode.STEP_PROOF_INVALID, "No proof of this step can be used.")
    if not same_token(token, proof.proof_hash):
        raise RefusedError(ErrorCode.STEP_PROOF_INVALID, "The step_proof is wrong.")
    require_after_issue(ErrorCode.STEP_PROOF_INVALID, "step_proof", proof.issued_at, turn.env.clock)
    return turn


def _fits(report: StepReport, step: IssuedStep) -> bool:
    if (report.step_id, report.step_type) != (step.step_id, step.type):
        return False
    if report.task_id != step.task_id:
        return False
    needs_phase = step.task_id is None
    return report.phase_id == step.phase_id or (report.phase_id is None and not needs_phase)


def _refuse_foreign_fields(report: StepReport) -> None:
    gate_fields = report.gate_attempt_id is not None or report.gate_evidence_token is not None
    if gate_fields and report.step_type is not StepType.RUN_FIDELITY_GATE:
        raise _validation("Gate evidence belongs to run_fidelity_gate alone.")
    if gate_fields and report.outcome is StepOutcome.FAILURE:
        raise _validation(
            "Evidence says that the review ran, a failure that it could not. "
            "Report success: the verdict decides."
        )
    receipt = report.verification_receipt is not None
    if receipt and report.step_type is not StepType.EXECUTE_VERIFICATION:
        raise _validation("A verification receipt belongs to execute_verification alone.")


def _validation(message: str) -> RefusedError:
    return RefusedError(ErrorCode.VALIDATION_ERROR, message)


def _outstanding(state: SessionState) -> dict[str, str | None]:
    step = state.last_step_issued
    if step is None:
        return {"outstanding_step_id": None}
    return {
        "outstanding_step_id": step.step_id,
        "outstanding_step_type": step.type,
        "phase_id": step.phase_id,
        "task_id": step.task_id,
    }
