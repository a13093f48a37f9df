"""Pause, resume, end and heartbeat, as pure transitions."""

from dataclasses import dataclass, replace
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.mutations import prolonged
from runner.autonomy.engine.pausing import (
    heartbeat_due,
    heartbeat_is_fresh,
    stale_reason,
    step_is_fresh,
)
from runner.autonomy.engine.transition import Transition, answer, paused, seal
from runner.autonomy.engine.turn import EngineTurn, Env, JournalDraft, Pause
from runner.autonomy.enums import (
    EntryType,
    FailureReason,
    GateStatus,
    PauseReason,
    SessionStatus,
)
from runner.autonomy.models import ContextUsage, SessionState
from runner.autonomy.spec.structure import Spec

_RESTS_FOR_A_GATE = (
    PauseReason.GATE_FAILED,
    PauseReason.GATE_REVIEW_REQUIRED,
    PauseReason.FIDELITY_CYCLE_LIMIT,
)


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """What a caller confirms when resuming."""

    force: bool = False
    acknowledge_gate_review: bool = False
    acknowledged_gate_attempt_id: str | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life; `consecutive_error_delta` may be negative."""

    context_usage_pct: int
    estimated_tokens_used: int | None = None
    consecutive_error_delta: int = 0


def pause_session(state: SessionState, env: Env, reason: str | None = None) -> Transition:
    """Pause on a person's request. An outstanding step stays outstanding: its report counts."""
    require_status(state, "pause", SessionStatus.RUNNING)
    message = reason or "A person asked for it."
    turn = paused(EngineTurn(state=state, spec=None, env=env), Pause(PauseReason.USER, message))
    return finish(turn, {})


def end_session(state: SessionState, env: Env, reason: str | None = None) -> Transition:
    """End the session for good."""
    require_status(state, "end", *(s for s in SessionStatus if not s.is_terminal))
    ended = state.evolve(
        status=SessionStatus.ENDED,
        pause_reason=None,
        failure_reason=None,
        paused_at=None,
        last_step_issued=None,
        pending_step_proof=None,
        pending_gate_evidence=None,
        pending_manual_gate_ack=None,
    ).with_lifecycle(paused=False, paused_at=None, paused_reason=None, paused_context=None)
    content = f"Session {state.id} ended: {reason or 'user-initiated'}"
    draft = JournalDraft(EntryType.SESSION, "Session ended", content, {"reason": reason})
    return finish(EngineTurn(state=ended, spec=None, env=env, drafts=(draft,)), {})


def resume_session(
    state: SessionState, spec: Spec | None, options: ResumeOptions, env: Env
) -> Transition:
    """Set a paused session going again, or with force a failed one.

    Raises:
        RefusedError: it does not rest, the manual gate is not acknowledged, or the spec's
            structure has changed so that a rebase is needed.
    """
    _require_resumable(state, options, env)
    if state.status is SessionStatus.FAILED:
        _require_same_structure(state, spec)
    stale = stale_reason(state, env.now)
    before = stale[0] if stale else state.pause_reason or state.failure_reason
    state = _acknowledge(state, options)
    draft = JournalDraft(
        EntryType.SESSION,
        "Session resumed",
        f"Session {state.id} resumed from {before}",
        {"resumed_from": before},
    )
    turn = EngineTurn(state=wake(state, env), spec=spec, env=env, drafts=(draft,))
    return finish(turn, {"last_pause_reason": before})


def wake(state: SessionState, env: Env) -> SessionState:
    """Return a running session in which the cause of its rest is resolved.

    Limits, staleness, errors and the context start fresh. A gate that the session rested for is
    judged again; for any other rest its findings must still be fixed.
    """
    phase_id = state.active_phase_id or ""
    if state.pause_reason is PauseReason.PHASE_COMPLETE:
        state = state.evolve(stopped_after_phase_id=phase_id)
    if state.pause_reason is PauseReason.FIDELITY_CYCLE_LIMIT:
        state = state.with_gate(phase_id, cycles=0)
        state = state.with_counters(fidelity_review_cycles_in_active_phase=0)
    if state.pause_reason is PauseReason.VERIFICATION_UNSETTLED:
        for one in state.phase_gates:
            state = state.with_gate(one, reverified=0)
    if state.pause_reason in _RESTS_FOR_A_GATE and state.gate(phase_id).status is GateStatus.FAILED:
        state = _judge_again(state, phase_id)
    lifecycle = state.lifecycle.evolve(
        paused=False,
        paused_at=None,
        paused_reason=None,
        paused_context=None,
        resumed_at=env.now,
        resume_count=state.lifecycle.resume_count + 1,
    )
    return state.evolve(
        status=SessionStatus.RUNNING,
        pause_reason=None,
        failure_reason=None,
        paused_at=None,
        report_exempt=True,
        context=ContextUsage(),
        lifecycle=lifecycle,
    ).with_counters(consecutive_errors=0, tasks_since_resume=0)


def beat(state: SessionState, heartbeat: Heartbeat, env: Env) -> Transition:
    """Note a sign of life, unless it comes too late: then the session pauses.

    One that was due before is refused with HEARTBEAT_STALE, again and again until somebody
    resumes the session: the refusal goes with the transition, since the pause is written first.
    A session that was paused while its caller still works notes the usage.

    Raises:
        RefusedError: INVALID_STATE_TRANSITION, the session has ended, completed or failed.
    """
    require_status(state, "heartbeat", SessionStatus.RUNNING, SessionStatus.PAUSED)
    stale = pause_if_stale(state, env)
    if stale.state.pause_reason is PauseReason.HEARTBEAT_STALE:
        return replace(stale, refusal=_too_late(stale.state))
    if stale.changed:
        return stale
    errors = max(state.counters.consecutive_errors + heartbeat.consecutive_error_delta, 0)
    usage = ContextUsage(
        context_usage_pct=heartbeat.context_usage_pct,
        estimated_tokens_used=heartbeat.estimated_tokens_used,
        last_heartbeat_at=env.now,
    )
    proof = prolonged(state, env.now)
    beaten = state.evolve(context=usage, pending_step_proof=proof).with_counters(
        consecutive_errors=errors
    )
    return finish(EngineTurn(state=beaten, spec=None, env=env), {})


def pause_if_stale(state: SessionState, env: Env) -> Transition:
    """Pause a running session whose caller is silent; leave any other as it is."""
    if state.status is SessionStatus.RUNNING:
        turn = EngineTurn(state=state, spec=None, env=env)
        for rule in (heartbeat_is_fresh, step_is_fresh):
            result = rule(turn)
            if isinstance(result, Pause):
                pausing = finish(paused(turn, result), {})
                return replace(pausing, data=answer(pausing.state, None, result.details))
    return Transition(state, answer(state, None), changed=False)


def require_status(state: SessionState, command: str, *allowed: SessionStatus) -> None:
    """Raise INVALID_STATE_TRANSITION unless the session has one of the `allowed` statuses."""
    if state.status in allowed:
        return
    raise RefusedError(
        ErrorCode.INVALID_STATE_TRANSITION,
        f"A session that is {state.status} does not take {command}.",
        details={
            "status": state.status,
            "pause_reason": state.pause_reason,
            "failure_reason": state.failure_reason,
            "allowed_from": list(allowed),
        },
    )


def finish(turn: EngineTurn, detail: dict[str, Any]) -> Transition:
    """Make a transition of a lifecycle command; the hot path's stored answer stays."""
    state = seal(turn.state, turn.env, turn.drafts, turn.changes)
    return Transition(state, answer(state, None), detail=detail)


def _too_late(state: SessionState) -> RefusedError:
    due = heartbeat_due(state).isoformat()
    return RefusedError(
        ErrorCode.HEARTBEAT_STALE,
        f"The heartbeat came too late: it was due at {due}, and the session rests.",
        details={
            "session_id": state.id,
            "status": state.status,
            "pause_reason": state.pause_reason,
            "pause_trigger": ErrorCode.HEARTBEAT_STALE,
            "heartbeat_due_at": due,
            "state_version": state.state_version,
        },
    )


def _require_resumable(state: SessionState, options: ResumeOptions, env: Env) -> None:
    if stale_reason(state, env.now) is not None:
        return
    require_status(state, "resume", SessionStatus.PAUSED, SessionStatus.FAILED)
    if state.status is SessionStatus.FAILED and not options.force:
        raise RefusedError(
            ErrorCode.INVALID_STATE_TRANSITION,
            f"The session has failed ({state.failure_reason}).",
            hint="Mend the cause, then resume with --force.",
            details={"status": state.status, "failure_reason": state.failure_reason},
        )


def _require_same_structure(state: SessionState, spec: Spec | None) -> None:
    if spec is None:
        raise RefusedError(
            ErrorCode.SESSION_UNRECOVERABLE,
            "The session can't be recovered: its spec can't be read.",
            hint="Bring back or repair .runner/status.json, then resume again.",
        )
    recovers_anew = state.failure_reason in (
        FailureReason.STATE_CORRUPT,
        FailureReason.MIGRATION_FAILED,
    )
    if spec.structure_hash != state.spec_structure_hash and not recovers_anew:
        raise RefusedError(ErrorCode.SPEC_REBASE_REQUIRED, "The structure of the spec has changed.")


def _acknowledge(state: SessionState, options: ResumeOptions) -> SessionState:
    """Let the phase pass that a person has acknowledged; a no-op where nothing awaits that."""
    ack = state.pending_manual_gate_ack
    attempt = options.acknowledged_gate_attempt_id
    if ack is None or state.pause_reason is not PauseReason.GATE_REVIEW_REQUIRED:
        if options.acknowledge_gate_review or attempt is not None:
            raise RefusedError(ErrorCode.INVALID_GATE_ACK, "No review awaits acknowledgement.")
        return state
    if not options.acknowledge_gate_review or attempt is None:
        raise RefusedError(
            ErrorCode.MANUAL_GATE_ACK_REQUIRED,
            f"The review of {ack.phase_id} must be acknowledged.",
            details={"gate_attempt_id": ack.gate_attempt_id, "verdict": ack.verdict},
        )
    if attempt != ack.gate_attempt_id:
        raise RefusedError(ErrorCode.INVALID_GATE_ACK, "Another review awaits acknowledgement.")
    return state.with_gate(ack.phase_id, status=GateStatus.PASSED, acknowledged=True).evolve(
        pending_manual_gate_ack=None
    )


def _judge_again(state: SessionState, phase_id: str) -> SessionState:
    return state.with_gate(
        phase_id,
        status=GateStatus.PENDING,
        remediated=False,
        feedback_skipped=False,
        verified_at=None,
        verification_skipped=False,
        receipt_hash=None,
    )
