"""How a turn ends: the new state with everything that follows from it, ready to be written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.gates import prune_nonces
from runner.autonomy.engine.phases import close_timing
from runner.autonomy.engine.steps import describe_stop, issue_step
from runner.autonomy.engine.turn import (
    Complete,
    EngineTurn,
    Env,
    Fail,
    Issue,
    JournalDraft,
    Pause,
    Rest,
    Stop,
)
from runner.autonomy.enums import (
    EntryType,
    PauseReason,
    SessionStatus,
    StepType,
    TaskStatus,
)
from runner.autonomy.models import JournalEntry, Outbox, SessionState, StoredResponse, TaskChange
from runner.autonomy.signals import loop_signal, recommended_actions
from runner.text.messages import plural


@dataclass(frozen=True, slots=True)
class Transition:
    """What the engine answers.

    Attributes:
        state: to be written in one piece when `changed`; its outbox holds what follows.
        data: the answer, but for the token of its step.
        changed: False when there is nothing to write.
        crossed: a phase was left, so that the spec must have been hashed afresh for this.
        detail: facts for the answers of lifecycle commands.
        refusal: the caller's answer instead of `data`, once the state is written.
    """

    state: SessionState
    data: dict[str, Any]
    changed: bool = True
    crossed: bool = False
    detail: Mapping[str, Any] = field(default_factory=dict)
    refusal: RefusedError | None = None


@dataclass(frozen=True, slots=True)
class _Ending:
    turn: EngineTurn
    step: dict[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def conclude(turn: EngineTurn, stop: Stop, *, before: SessionState, command: str) -> Transition:
    """Turn the way a turn ended into a transition; `before` is the state it began with."""
    ending = _end(turn, stop)
    state = ending.turn.state
    if state == before:
        return Transition(state, answer(state, ending.step, ending.details), changed=False)
    state = seal(state, turn.env, ending.turn.drafts, ending.turn.changes)
    data = answer(state, ending.step, ending.details)
    return Transition(
        _with_answer(state, ending.turn, StoredResponse(command=command, data=data)),
        data,
        crossed=ending.turn.crossed,
    )


def _with_answer(state: SessionState, turn: EngineTurn, stored: StoredResponse) -> SessionState:
    """Keep the answer, also beside the report that it answers."""
    report = state.last_report
    if turn.answered is not None and report is not None:
        report = report.evolve(answer=stored)
    return state.evolve(last_response=stored, last_report=report)


def seal(
    state: SessionState,
    env: Env,
    drafts: tuple[JournalDraft, ...],
    changes: tuple[TaskChange, ...] = (),
) -> SessionState:
    """Return the state as it is to be written: next version, numbered entries in the outbox.

    What an earlier transition left in the outbox stays there, before the new.
    """
    entries = tuple(
        JournalEntry(
            seq=number,
            at=env.now,
            session_id=state.id,
            spec_id=state.spec_id,
            entry_type=draft.entry_type,
            title=draft.title,
            content=draft.content,
            data=dict(draft.data),
        )
        for number, draft in enumerate(drafts, state.journal_seq + 1)
    )
    outbox = Outbox(
        entries=(*state.outbox.entries, *entries), changes=(*state.outbox.changes, *changes)
    )
    return state.evolve(
        state_version=state.state_version + 1,
        updated_at=env.now,
        latest_at=max(env.now, state.latest_at or env.now),
        journal_seq=state.journal_seq + len(entries),
        outbox=outbox,
        consumed_gate_nonces=prune_nonces(state, env),
    )


def answer(
    state: SessionState, step: dict[str, Any] | None, details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the data of every hot-path answer (CONTRACT §6)."""
    ack = state.pending_manual_gate_ack
    return {
        "session_id": state.id,
        "status": state.status,
        "state_version": state.state_version,
        "next_step": step,
        "loop_signal": loop_signal(state.status, state.pause_reason),
        "recommended_actions": recommended_actions(
            state.id,
            state.status,
            state.pause_reason,
            state.failure_reason,
            ack.gate_attempt_id if ack else None,
        ),
        "pause_reason": state.pause_reason,
        "failure_reason": state.failure_reason,
        "details": dict(details or {}),
    }


def paused(turn: EngineTurn, pause: Pause) -> EngineTurn:
    """Return the turn with its session paused, and the one journal entry about it."""
    state, now = turn.state, turn.env.now
    state = state.evolve(
        status=SessionStatus.PAUSED, pause_reason=pause.reason, paused_at=now
    ).with_lifecycle(
        paused=True,
        paused_at=now,
        paused_reason=pause.reason,
        paused_context=_working_on(state),
    )
    data = {"pause_reason": pause.reason, "details": dict(pause.details)}
    content = f"Session {state.id} paused: {pause.reason}. {pause.message}"
    draft = JournalDraft(EntryType.SESSION, "Session paused", content, data)
    return turn.to(state).noting(draft)


def _end(turn: EngineTurn, stop: Stop) -> _Ending:
    match stop:
        case Issue():
            issued, step = issue_step(turn, stop)
            return _Ending(issued, step)
        case Pause():
            return _end_paused(turn, stop)
        case Fail():
            return _end_failed(turn, stop)
        case Complete():
            return _end_completed(turn)
        case Rest():
            return _Ending(turn, details=_trigger_of_rest(turn.state))


def _end_paused(turn: EngineTurn, pause: Pause) -> _Ending:
    if pause.reason is PauseReason.PHASE_COMPLETE:
        turn = turn._replace(state=close_timing(turn.state, turn), crossed=True)
    step = describe_stop(turn, StepType.PAUSE, pause.message, pause.reason)
    return _Ending(paused(turn, pause), step, pause.details)


def _end_failed(turn: EngineTurn, fail: Fail) -> _Ending:
    state = turn.state.evolve(
        status=SessionStatus.FAILED, failure_reason=fail.reason
    ).with_lifecycle(last_error=fail.message, last_error_at=turn.env.now)
    data = {"failure_reason": fail.reason, "details": dict(fail.details)}
    content = f"Session {state.id} failed: {fail.reason}. {fail.message}"
    draft = JournalDraft(EntryType.SESSION, "Session failed", content, data)
    return _Ending(turn.to(state).noting(draft), None, {"message": fail.message, **fail.details})


def _end_completed(turn: EngineTurn) -> _Ending:
    state = close_timing(turn.state, turn)
    seconds = max((turn.env.now - state.created_at).total_seconds(), 0.0)
    state = state.evolve(status=SessionStatus.COMPLETED, report_exempt=False).with_lifecycle(
        completed=True, completed_at=turn.env.now, total_duration_seconds=seconds
    )
    details = _completion(turn)
    content = (
        f"Session {state.id} completed {plural(state.counters.tasks_completed, 'deliverable')}."
    )
    data = {**details, "total_duration_seconds": seconds}
    done = turn._replace(state=state, crossed=True).noting(
        JournalDraft(EntryType.SESSION, "Session completed", content, data)
    )
    message = "All achievable deliverables have passed."
    return _Ending(done, describe_stop(done, StepType.COMPLETE_SPEC, message), details)


def _trigger_of_rest(state: SessionState) -> dict[str, Any]:
    """Name the trigger of a pause to later callers, too."""
    if state.pause_reason is not PauseReason.HEARTBEAT_STALE:
        return {}
    return {"pause_trigger": ErrorCode.HEARTBEAT_STALE}


def _completion(turn: EngineTurn) -> dict[str, Any]:
    return {
        "tasks_completed": turn.state.counters.tasks_completed,
        "blocked_task_ids": [
            task.id
            for task in turn.known_spec.tasks.values()
            if task.status is TaskStatus.BLOCKED and task.id not in turn.known_progress.done
        ],
        "waiting_task_ids": [
            task.id
            for task in turn.known_spec.tasks.values()
            if task.id in turn.known_progress.unreachable
        ],
        "skipped_task_ids": list(turn.state.skipped_task_ids),
    }


def _working_on(state: SessionState) -> str | None:
    step = state.last_step_issued
    if step is not None:
        return f"{step.type} on {step.task_id or step.phase_id}"
    return state.active_phase_id
