"""The hot path: the orchestration rules as a list, and the few lines that walk it."""

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.clock import require_after_issue
from runner.autonomy.engine.pausing import (
    context_has_room,
    errors_are_few,
    heartbeat_is_fresh,
    session_is_running,
    spec_is_readable,
    spec_is_unchanged,
    step_is_fresh,
    tasks_are_within_limit,
)
from runner.autonomy.engine.phases import (
    cycles_are_few,
    feedback_is_addressed,
    final_tree_is_verified,
    gate_is_retried,
    gate_is_run,
    phase_end_is_no_stop,
    return_to_earlier_phase,
    review_is_acknowledged,
    something_is_runnable,
    survey,
    task_is_implemented,
    verification_is_done,
    work_is_complete,
)
from runner.autonomy.engine.recording import record_outcome
from runner.autonomy.engine.transition import Transition, conclude
from runner.autonomy.engine.turn import EngineTurn, Env, Rest, Rule, Stop
from runner.autonomy.enums import SessionStatus, StepOutcome, StepType
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import IssuedStep, SessionState
from runner.autonomy.spec.structure import Spec
from runner.autonomy.tokens import same_token


def require_report(turn: EngineTurn) -> EngineTurn | Stop:
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


def match_step(turn: EngineTurn) -> EngineTurn | Stop:
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


def check_step_proof(turn: EngineTurn) -> EngineTurn | Stop:
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


FEEDBACK_RULES: tuple[Rule, ...] = (
    require_report,  # 1
    match_step,  # 2
    check_step_proof,  # 2
    record_outcome,  # 3
)

SESSION_RULES: tuple[Rule, ...] = (
    spec_is_readable,  # 4
    spec_is_unchanged,  # 4
    session_is_running,  # 5
    heartbeat_is_fresh,  # 6
    step_is_fresh,  # 7
    context_has_room,  # 8
    errors_are_few,  # 8
    tasks_are_within_limit,  # 8
    survey,
    return_to_earlier_phase,
)

PHASE_RULES: tuple[Rule, ...] = (
    cycles_are_few,  # 9
    something_is_runnable,  # 10
    verification_is_done,  # 11
    gate_is_run,  # 12
    review_is_acknowledged,  # 13
    feedback_is_addressed,  # 13
    gate_is_retried,  # 14
    phase_end_is_no_stop,  # 15
    task_is_implemented,  # 16
    final_tree_is_verified,
    work_is_complete,  # 17
)
"""Walked again for each phase that opens; the last rule opens it or ends the walk."""


def next_step(
    state: SessionState,
    spec: Spec | None,
    report: StepReport | None,
    env: Env,
    *,
    spec_problem: str | None = None,
) -> Transition:
    """Record `report`, then decide what the caller does next.

    Args:
        state: as read; it is not changed.
        spec: a reading of the spec, None when no spec can be read.
        report: on the outstanding step; None where none is owed.
        env: time, ids and key.
        spec_problem: why there is no spec, for people.

    Raises:
        RefusedError: the report is refused; nothing follows from it.
    """
    turn = EngineTurn(state=state, spec=spec, env=env, report=report, spec_problem=spec_problem)
    turn, stop = _walk((*FEEDBACK_RULES, *SESSION_RULES), turn)
    while stop is None:
        turn, stop = _walk(PHASE_RULES, turn)
    return conclude(turn, stop, before=state, command="next")


def record_report(
    state: SessionState, spec: Spec | None, report: StepReport, env: Env
) -> Transition:
    """Record `report` and leave the decision to the next `next`.

    Raises:
        RefusedError: the report is refused; nothing follows from it.
    """
    turn = EngineTurn(state=state, spec=spec, env=env, report=report)
    turn, _ = _walk(FEEDBACK_RULES, turn)
    return conclude(turn, Rest(), before=state, command="report")


def _walk(rules: tuple[Rule, ...], turn: EngineTurn) -> tuple[EngineTurn, Stop | None]:
    for rule in rules:
        result = rule(turn)
        if not isinstance(result, EngineTurn):
            return turn, result
        turn = result
    return turn, None
