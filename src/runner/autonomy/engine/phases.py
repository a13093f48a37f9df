"""Rules 9 to 17: what the active phase needs next, and when it is left."""

from runner.autonomy.engine.progress import Progress
from runner.autonomy.engine.turn import Complete, EngineTurn, Issue, Pause, Stop
from runner.autonomy.enums import GatePolicy, GateStatus, PauseReason, StepType
from runner.autonomy.models import PhaseGate, PhaseTiming, SessionState
from runner.autonomy.spec.structure import SpecPhase
from runner.text.messages import plural

_SHOWN = 50  # an answer is read by a model, and a spec may have ten thousand deliverables


def survey(turn: EngineTurn) -> EngineTurn | Stop:
    """Before rule 9: look at what is done and what is left, once for all that follow."""
    return turn._replace(progress=Progress.of(turn.state, turn.known_spec))


def return_to_earlier_phase(turn: EngineTurn) -> EngineTurn | Stop:
    """Before rule 9: work that came up in an earlier phase goes first; order is never left."""
    first = turn.known_progress.first_open(turn.state)
    order = [phase.id for phase in turn.known_spec.phases]
    active = turn.state.active_phase_id
    if first is None or (active in order and order.index(first.id) >= order.index(active)):
        return turn
    return turn.to(enter_phase(turn.state, first.id, turn))


def cycles_are_few(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 9: the phase's review does not keep failing. A person's decision is no such spin."""
    state, phase = turn.state, _active(turn)
    cycles = state.counters.fidelity_review_cycles_in_active_phase
    limit = state.limits.max_fidelity_review_cycles_per_phase
    by_hand = state.gate_policy is GatePolicy.MANUAL
    if phase is None or by_hand or cycles < limit or state.gate(phase.id).is_satisfied:
        return turn
    return Pause(
        PauseReason.FIDELITY_CYCLE_LIMIT,
        f"{phase.id} was reviewed {plural(cycles, 'time')} without passing (limit: {limit}).",
        {"phase_id": phase.id, "cycles": cycles, "findings": _findings(state.gate(phase.id))},
    )


def something_is_runnable(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 10: not everything is blocked, and dependencies leave a way through the phase."""
    progress = turn.known_progress
    if not turn.known_spec.tasks:
        return Pause(PauseReason.BLOCKED, "The spec has no deliverables.")
    if not progress.pending and not progress.completed_any:
        return _nothing_to_do(turn)
    phase_id = turn.state.active_phase_id or ""
    if phase_id not in progress.pending or progress.next_task(phase_id) is not None:
        return turn
    pending = progress.pending[phase_id]
    return Pause(
        PauseReason.BLOCKED,
        f"Every deliverable left in {phase_id} waits for one that is not completed.",
        {
            "waiting": {
                task.id: list(progress.waits_for(task))[:_SHOWN] for task in pending[:_SHOWN]
            },
            "waiting_count": len(pending),
            "blocked_task_ids": [task.id for task in progress.blocked],
        },
    )


def verification_is_done(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 11: implemented work is verified by the phase's commands."""
    phase = _judged(turn)
    if phase is None or not turn.known_progress.needs_verification(turn.state, phase):
        return turn
    return Issue(StepType.EXECUTE_VERIFICATION, phase.id)


def gate_is_run(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 12: a verified phase is reviewed."""
    gate = _open_gate(turn)
    awaits_person = turn.state.pending_manual_gate_ack is not None
    if gate is None or gate.status is not GateStatus.PENDING or awaits_person:
        return turn
    return Issue(StepType.RUN_FIDELITY_GATE, turn.state.active_phase_id or "")


def review_is_acknowledged(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 13, manual policy: a person decides."""
    ack = turn.state.pending_manual_gate_ack
    if ack is None:
        return turn
    return Pause(
        PauseReason.GATE_REVIEW_REQUIRED,
        f"The review of {ack.phase_id} says {ack.verdict}; a person must acknowledge it.",
        {
            "phase_id": ack.phase_id,
            "gate_attempt_id": ack.gate_attempt_id,
            "verdict": ack.verdict,
            "findings": _findings(turn.state.gate(ack.phase_id)),
        },
    )


def feedback_is_addressed(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 13: the findings of a failed review are fixed automatically, or a person is needed."""
    gate = _open_gate(turn)
    if gate is None or gate.status is not GateStatus.FAILED or gate.remediated:
        return turn
    phase_id = turn.state.active_phase_id or ""
    if turn.state.stop_conditions.auto_retry_fidelity_gate and not gate.feedback_skipped:
        return Issue(StepType.ADDRESS_FIDELITY_FEEDBACK, phase_id)
    return Pause(
        PauseReason.GATE_FAILED,
        f"The review of {phase_id} says {gate.verdict}.",
        {"phase_id": phase_id, "verdict": gate.verdict, "findings": _findings(gate)},
    )


def gate_is_retried(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 14: fixed findings are reviewed again."""
    gate = _open_gate(turn)
    if gate is None or gate.status is not GateStatus.FAILED or not gate.remediated:
        return turn
    return Issue(StepType.RUN_FIDELITY_GATE, turn.state.active_phase_id or "")


def phase_end_is_no_stop(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 15: stop between phases where that is asked for, once per phase."""
    state, phase = turn.state, _active(turn)
    wanted = state.stop_conditions.stop_on_phase_completion
    if not wanted or phase is None or state.stopped_after_phase_id == phase.id:
        return turn
    following = turn.known_progress.first_open(state)
    if following is None or following.id == phase.id:
        return turn
    if not turn.known_progress.is_judged(phase):
        return turn
    return Pause(
        PauseReason.PHASE_COMPLETE,
        f"{phase.id} is complete. Resume to go on with {following.id}.",
        {"phase_id": phase.id, "next_phase_id": following.id},
    )


def task_is_implemented(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 16: the next deliverable of the active phase, the one that failed last before others."""
    phase_id = turn.state.active_phase_id or ""
    task = turn.known_progress.next_task(phase_id, turn.state.retry_task_id)
    return turn if task is None else Issue(StepType.IMPLEMENT_TASK, phase_id, task.id)


def final_tree_is_verified(turn: EngineTurn) -> EngineTurn | Stop:
    """Before rule 17: every phase's commands succeeded on the work as it is now (ADR-0071)."""
    state, progress = turn.state, turn.known_progress
    is_over = progress.first_open(state) is None and progress.completed_any
    if not turn.env.tree_seen or not is_over or progress.left_out:
        return turn
    phases = turn.known_spec.phases
    due = next((p for p in phases if not progress.is_proven(state, p, turn.env.tree)), None)
    if due is None:
        return turn
    times, limit = state.gate(due.id).reverified, state.limits.max_fidelity_review_cycles_per_phase
    if times < limit:
        return Issue(StepType.EXECUTE_VERIFICATION, due.id, reverifies=True)
    return Pause(
        PauseReason.VERIFICATION_UNSETTLED,
        f"{due.id} was verified again {plural(times, 'time')} at the end (limit: {limit}), and the "
        "project changed after it each time: phases break each other, or commands change files "
        "that git does not ignore.",
        {"phase_id": due.id, "times": times},
    )


def work_is_complete(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 17: the next phase opens; after the last, everything achievable must have passed.

    A skipped deliverable was passed over, not achieved: a person decides what becomes of it.
    """
    following = turn.known_progress.first_open(turn.state)
    if following is not None:
        state = close_timing(turn.state, turn)
        return turn._replace(state=enter_phase(state, following.id, turn), crossed=True)
    if turn.known_progress.completed_any and not turn.known_progress.left_out:
        return Complete()
    return _nothing_to_do(turn)


def enter_phase(state: SessionState, phase_id: str, turn: EngineTurn) -> SessionState:
    """Make the phase the active one; its own count of reviews continues."""
    timing = state.phase_timing.get(phase_id) or PhaseTiming(started_at=turn.env.now)
    reopened = timing.evolve(completed_at=None, duration_seconds=None)
    return state.evolve(
        active_phase_id=phase_id, phase_timing={**state.phase_timing, phase_id: reopened}
    ).with_counters(fidelity_review_cycles_in_active_phase=state.gate(phase_id).cycles)


def close_timing(state: SessionState, turn: EngineTurn) -> SessionState:
    """Note that the active phase was left, if that is not noted yet."""
    phase_id = state.active_phase_id or ""
    timing = state.phase_timing.get(phase_id)
    if timing is None or timing.completed_at is not None:
        return state
    seconds = (turn.env.now - timing.started_at).total_seconds()
    closed = timing.evolve(completed_at=turn.env.now, duration_seconds=max(seconds, 0.0))
    return state.evolve(phase_timing={**state.phase_timing, phase_id: closed})


def _active(turn: EngineTurn) -> SpecPhase | None:
    return turn.known_spec.phase(turn.state.active_phase_id)


def _judged(turn: EngineTurn) -> SpecPhase | None:
    """Return the active phase when all that is left in it is to judge it."""
    phase, progress = _active(turn), turn.known_progress
    if phase is None or phase.id in progress.pending or not progress.is_judged(phase):
        return None
    return phase


def _open_gate(turn: EngineTurn) -> PhaseGate | None:
    """Return the active phase's gate when it is what holds the phase back."""
    phase = _judged(turn)
    gate = turn.state.gate(phase.id) if phase is not None else None
    return None if gate is None or gate.is_satisfied else gate


def _nothing_to_do(turn: EngineTurn) -> Pause:
    progress = turn.known_progress
    return Pause(
        PauseReason.BLOCKED,
        "Nothing is left to work on, but not every deliverable has passed.",
        {
            "blocked_task_ids": [task.id for task in progress.blocked],
            "skipped_task_ids": [task.id for task in progress.left_out],
        },
    )


def _findings(gate: PhaseGate) -> list[dict[str, object]]:
    return [finding.model_dump(mode="json") for finding in gate.findings]
