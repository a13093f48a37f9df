"""Rules 4 to 8: the spec is intact, the session may go on, and its caller is alive."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from runner.autonomy.codes import ErrorCode
from runner.autonomy.engine.turn import EngineTurn, Fail, Pause, Rest, Stop
from runner.autonomy.enums import FailureReason, PauseReason, SessionStatus
from runner.autonomy.models import SessionState
from runner.autonomy.spec.structure import diff_structures
from runner.text.messages import plural

Deadline = tuple[PauseReason, datetime]
"""Why a session counts as paused after that moment."""


def spec_is_readable(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 4: an unreadable spec never completes."""
    if turn.spec is None and turn.state.status is SessionStatus.RUNNING:
        return Fail(FailureReason.SPEC_NOT_FOUND, turn.spec_problem or "The spec can't be read.")
    return turn


def spec_is_unchanged(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 4: the structure is the one that the session works by.

    Equal metadata means an equal structure, except when a phase is left (`crossed`
    makes the service read the spec afresh, and the reading then counts).
    """
    state, spec = turn.state, turn.spec
    if spec is None or state.status is not SessionStatus.RUNNING:
        return turn
    metadata = (state.spec_file_mtime, state.spec_file_size)
    if metadata == (spec.mtime, spec.size) and not spec.fresh:
        return turn
    if spec.structure_hash == state.spec_structure_hash:
        return turn.with_state(spec_file_mtime=spec.mtime, spec_file_size=spec.size)
    drift = diff_structures(state.workflow_structure, spec.structure)
    return Fail(
        FailureReason.SPEC_STRUCTURE_CHANGED,
        "The structure of the spec has changed since the session started.",
        {"spec_drift": drift.as_dict()},
    )


def session_is_running(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 5: a session that does not run is answered with its status."""
    return turn if turn.state.status is SessionStatus.RUNNING else Rest()


def heartbeat_is_fresh(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 6: the caller gives signs of life, the first within the grace window."""
    due = heartbeat_due(turn.state)
    if turn.env.now <= due:
        return turn
    return Pause(
        PauseReason.HEARTBEAT_STALE,
        f"No heartbeat came in time; it was due at {due.isoformat()}.",
        {"pause_trigger": ErrorCode.HEARTBEAT_STALE, "heartbeat_due_at": due.isoformat()},
    )


def step_is_fresh(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 7: the step was reported within its time; its report counts all the same."""
    step = turn.answered or turn.state.last_step_issued
    if step is None or turn.env.now <= (due := step_due(turn.state, step.issued_at)):
        return turn
    return Pause(
        PauseReason.STEP_STALE,
        f"The step {step.step_id} was due at {due.isoformat()}.",
        {"step_id": step.step_id, "step_due_at": due.isoformat()},
    )


def context_has_room(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 8: the agent's context is not nearly full, by the caller's own account."""
    usage = turn.state.context.context_usage_pct
    threshold = turn.state.limits.context_threshold_pct
    if usage < threshold:
        return turn
    return Pause(
        PauseReason.CONTEXT_LIMIT,
        f"Context usage at {usage}% (threshold: {threshold}%). Resume in a new session.",
        {"context_usage_pct": usage, "context_threshold_pct": threshold},
    )


def errors_are_few(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 8: steps do not keep failing."""
    errors, limit = turn.state.counters.consecutive_errors, turn.state.limits.max_consecutive_errors
    if errors < limit:
        return turn
    return Pause(
        PauseReason.ERROR_THRESHOLD,
        f"{plural(errors, 'step')} failed in a row (limit: {limit}).",
        {"consecutive_errors": errors, "last_error": turn.state.lifecycle.last_error},
    )


def tasks_are_within_limit(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 8: the session has not done its share of work since it started or resumed."""
    done, limit = turn.state.counters.tasks_since_resume, turn.state.limits.max_tasks_per_session
    if done < limit:
        return turn
    return Pause(
        PauseReason.TASK_LIMIT,
        f"{plural(done, 'deliverable')} completed since the last start or resume (limit: {limit}).",
        {"tasks_since_resume": done, "max_tasks_per_session": limit},
    )


def heartbeat_due(state: SessionState) -> datetime:
    """Return when the next heartbeat must have come; resuming gives a new grace window."""
    last = state.context.last_heartbeat_at
    if last is not None:
        return last + timedelta(minutes=state.limits.heartbeat_stale_minutes)
    return _woken(state) + timedelta(minutes=state.limits.heartbeat_grace_minutes)


def step_due(state: SessionState, issued_at: datetime) -> datetime:
    """Return when a step must have been reported; resuming gives it the whole time again."""
    start = max(issued_at, _woken(state))
    return start + timedelta(minutes=state.limits.step_stale_minutes)


def stale_reason(state: SessionState, now: datetime) -> Deadline | None:
    """Return why a running session counts as paused, and since when, for those who only read."""
    return missed(deadlines(state), now)


def deadlines(state: SessionState) -> tuple[Deadline, ...]:
    """Return after when a session counts as paused, and why, without any activity until then."""
    if state.status is not SessionStatus.RUNNING:
        return ()
    heartbeat = (PauseReason.HEARTBEAT_STALE, heartbeat_due(state))
    step = state.last_step_issued
    if step is None:
        return (heartbeat,)
    return heartbeat, (PauseReason.STEP_STALE, step_due(state, step.issued_at))


def missed(due: Iterable[Deadline], now: datetime) -> Deadline | None:
    """Return the first of the deadlines that has passed."""
    return next((deadline for deadline in due if now > deadline[1]), None)


def _woken(state: SessionState) -> datetime:
    return state.lifecycle.resumed_at or state.created_at
