"""The hot path: seed 000 «Orchestration Rules» as a list, and the few lines that walk it."""

from runner.autonomy.engine.feedback import check_step_proof, match_step, require_report
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
from runner.autonomy.engine.turn import Env, Rest, Rule, Stop, Turn
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import SessionState
from runner.autonomy.spec.structure import Spec

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
        spec: a reading of the spec, None when there is none that can be read.
        report: on the outstanding step; None where none is owed.
        env: time, ids and key.
        spec_problem: why there is no spec, for people.

    Raises:
        RefusedError: the report is refused; nothing follows from it.
    """
    turn = Turn(state=state, spec=spec, env=env, report=report, spec_problem=spec_problem)
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
    turn = Turn(state=state, spec=spec, env=env, report=report)
    turn, _ = _walk(FEEDBACK_RULES, turn)
    return conclude(turn, Rest(), before=state, command="report")


def _walk(rules: tuple[Rule, ...], turn: Turn) -> tuple[Turn, Stop | None]:
    for rule in rules:
        result = rule(turn)
        if not isinstance(result, Turn):
            return turn, result
        turn = result
    return turn, None
