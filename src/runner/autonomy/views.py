"""Sessions as callers see them: status, summaries, and what helps to take up the work again."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from runner.autonomy.core import Core
from runner.autonomy.engine.pausing import Deadline, deadlines, missed, stale_reason
from runner.autonomy.engine.progress import Progress
from runner.autonomy.engine.steps import changed_commands
from runner.autonomy.enums import FailureReason, GateStatus, SessionStatus
from runner.autonomy.models import PhaseShape, PhaseTiming, SessionState
from runner.autonomy.signals import loop_signal, recommended_actions
from runner.autonomy.spec.structure import Spec

_RECENT = 10
_NEXT_HINT = "task(action='session-step', command='next')"


def session_view(state: SessionState, spec: Spec | None, now: datetime) -> dict[str, Any]:
    """Return the data of start, status, resume and rebase (seed 000, seed 003 WS4)."""
    step = state.last_step_issued
    return {
        "session_id": state.id,
        "spec_id": state.spec_id,
        "status": state.status,
        "effective_status": state.status,
        **staleness(deadlines(state), now),
        "pause_reason": state.pause_reason,
        "failure_reason": state.failure_reason,
        "state_version": state.state_version,
        "created_at": state.created_at.isoformat(),
        "updated_at": state.updated_at.isoformat(),
        "counters": _counters(state, spec),
        "limits": state.limits.model_dump(),
        "stop_conditions": state.stop_conditions.model_dump(),
        "write_lock": state.write_lock.model_dump(),
        "gate_policy": state.gate_policy,
        "gates_required": state.gates_required,
        "active_phase_id": state.active_phase_id,
        "active_phase_progress": _phase_progress(state, spec),
        "last_step_id": step.step_id if step else None,
        "last_step_type": step.type if step else None,
        "last_step_scope": step.scope if step else None,
        "current_task_id": step.task_id if step else None,
        "last_task_id": state.last_task_id,
        "last_report": _reported(state),
        "report_due": step is not None and not state.report_exempt,
        "retry_counters": {
            "consecutive_errors": state.counters.consecutive_errors,
            "retry_task_id": state.retry_task_id,
            "gate_cycles": {i: gate.cycles for i, gate in state.phase_gates.items()},
        },
        "phase_gates": {i: g.model_dump(mode="json") for i, g in state.phase_gates.items()},
        "pending_manual_gate_ack": _dump(state.pending_manual_gate_ack),
        "last_heartbeat_at": _iso(state.context.last_heartbeat_at),
        "changed_commands": [] if spec is None else changed_commands(state, spec),
        "proven_tree": state.proven.tree if state.proven else None,
        "lost_sessions": [lost.model_dump(mode="json") for lost in state.lost_sessions],
        "context_usage_pct": state.context.context_usage_pct,
        "lifecycle": state.lifecycle.model_dump(mode="json"),
        "progress": progress_view(state, now),
        **_outlook(state, now),
    }


def failed_view(
    session_id: str, spec_id: str | None, reason: FailureReason, message: str
) -> dict[str, Any]:
    """Return the status of a session whose file can't be used."""
    return {
        "session_id": session_id,
        "spec_id": spec_id,
        "status": SessionStatus.FAILED,
        "effective_status": SessionStatus.FAILED,
        "pause_reason": None,
        "failure_reason": reason,
        "details": {"message": message},
        "session_signal": loop_signal(SessionStatus.FAILED),
        "recommended_actions": recommended_actions(session_id, SessionStatus.FAILED, None, reason),
    }


def summary_view(state: SessionState) -> dict[str, Any]:
    """Return one row of `session list`, without staleness."""
    return {
        "session_id": state.id,
        "spec_id": state.spec_id,
        "status": state.status,
        "effective_status": state.status,
        "pause_reason": state.pause_reason,
        "failure_reason": state.failure_reason,
        "created_at": state.created_at.isoformat(),
        "updated_at": state.updated_at.isoformat(),
        "active_phase_id": state.active_phase_id,
        "tasks_completed": state.counters.tasks_completed,
        "state_version": state.state_version,
    }


def staleness(due: Iterable[Deadline], now: datetime) -> dict[str, Any]:
    """Return what changes about a view once a deadline has passed: as the next write finds it."""
    stale = missed(due, now)
    if stale is None:
        return {}
    reason, since = stale
    return {
        "effective_status": SessionStatus.PAUSED,
        "stale_reason": reason,
        "stale_detected_at": since.isoformat(),
    }


def progress_view(state: SessionState, now: datetime) -> dict[str, Any]:
    """Return seed 002's resumption figures; durations in seconds, phases counted from 1."""
    total = state.workflow_structure.total_phases
    closed = {i: t for i, t in state.phase_timing.items() if t.completed_at is not None}
    durations = [t.duration_seconds for t in closed.values() if t.duration_seconds is not None]
    average = sum(durations) / len(durations) if durations else None
    remaining = max(total - len(closed), 0)
    current = _seconds_in(state.phase_timing.get(state.active_phase_id or ""), now)
    is_stalled = average is not None and current is not None and current > 2 * average
    return {
        "total_phases": total,
        "current_phase_number": _number(state),
        "completed_phases": list(closed),
        "percent_complete": round(100 * len(closed) / total) if total else 0,
        "phases_remaining": remaining,
        "average_phase_seconds": average,
        "seconds_in_phase": current,
        "is_stalled": is_stalled,
        "estimated_remaining_seconds": None if average is None else average * remaining,
        "resumption_status": _resumption_status(state, is_stalled=is_stalled),
        "phases": [_phase_row(state, shape) for shape in state.workflow_structure.phases],
    }


def resume_context(core: Core, state: SessionState, spec: Spec, last: str | None) -> dict[str, Any]:
    """Return what a caller with an empty context needs to go on (seed 000 «Resume context»)."""
    files, available = _files_touched(core, state)
    pending = Progress.of(state, spec).pending.get(state.active_phase_id or "", ())
    phase = spec.phase(state.active_phase_id)
    return {
        "spec_id": state.spec_id,
        "spec_title": spec.title,
        "active_phase_id": state.active_phase_id,
        "active_phase_title": phase.title if phase else None,
        "completed_task_count": len(state.completed_task_ids),
        "recent_completed_tasks": [
            _completed_task(task_id, spec, files) for task_id in state.completed_task_ids[-_RECENT:]
        ],
        "completed_phases": [
            {"phase_id": i, "title": _title(spec, i), "gate_status": gate.status}
            for i, gate in state.phase_gates.items()
            if gate.is_satisfied
        ],
        "pending_tasks_in_phase": [{"task_id": t.id, "title": t.title} for t in pending],
        "last_pause_reason": last,
        "journal_available": available,
        "journal_hint": f"runner journal list --session-id {state.id}" if available else None,
    }


def _files_touched(core: Core, state: SessionState) -> tuple[dict[str, list[str]], bool]:
    try:
        page = core.store.page(state.id, 200)
    except OSError:
        return {}, False
    entries = page.entries if page is not None else ()
    touched: dict[str, list[str]] = {}
    for entry in entries:
        data = entry.get("data", {})
        if entry.get("entry_type") == "step" and data.get("task_id"):
            touched.setdefault(data["task_id"], data.get("files_touched") or [])
    return touched, bool(entries)


def _completed_task(task_id: str, spec: Spec, files: dict[str, list[str]]) -> dict[str, Any]:
    task = spec.tasks.get(task_id)
    row = {
        "task_id": task_id,
        "title": task.title if task else None,
        "phase_id": task.phase_id if task else None,
    }
    return row | ({"files_touched": files[task_id]} if task_id in files else {})


def _counters(state: SessionState, spec: Spec | None) -> dict[str, Any]:
    remaining = None
    if spec is not None:
        remaining = sum(map(len, Progress.of(state, spec).pending.values()))
    return {**state.counters.model_dump(), "tasks_remaining": remaining}


def _phase_progress(state: SessionState, spec: Spec | None) -> dict[str, Any] | None:
    phase = spec.phase(state.active_phase_id) if spec is not None else None
    if spec is None or phase is None:
        return None
    progress = Progress.of(state, spec)
    total = len(phase.tasks)
    completed = sum(task.id in progress.done for task in phase.tasks)
    return {
        "phase_id": phase.id,
        "title": phase.title,
        "tasks_total": total,
        "tasks_completed": completed,
        "tasks_blocked": sum(task.phase_id == phase.id for task in progress.blocked),
        "tasks_remaining": len(progress.pending.get(phase.id, ())),
        "percent_complete": round(100 * completed / total) if total else 0,
        "gate_status": state.gate(phase.id).status,
    }


def _number(state: SessionState) -> int | None:
    ids = [shape.id for shape in state.workflow_structure.phases]
    active = state.active_phase_id
    return ids.index(active) + 1 if active in ids else None


def _phase_row(state: SessionState, shape: PhaseShape) -> dict[str, Any]:
    timing = state.phase_timing.get(shape.id)
    gate = state.gate(shape.id)
    done = set(state.completed_task_ids)
    return {
        "phase_id": shape.id,
        "title": shape.title,
        "tasks_total": len(shape.task_ids),
        "tasks_completed": sum(task_id in done for task_id in shape.task_ids),
        "started_at": _iso(timing.started_at) if timing else None,
        "completed_at": _iso(timing.completed_at) if timing else None,
        "duration_seconds": timing.duration_seconds if timing else None,
        "gate_status": gate.status if gate.required else None,
        "gate_cycles": gate.cycles,
    }


def _resumption_status(state: SessionState, *, is_stalled: bool) -> str:
    """Return the status with which somebody who takes up the work should reckon (seed 002)."""
    if state.status is not SessionStatus.RUNNING:
        return state.status
    if state.gate(state.active_phase_id or "").status is GateStatus.FAILED:
        return "gate_failed"
    return "possibly_stalled" if is_stalled else "active"


def _outlook(state: SessionState, now: datetime) -> dict[str, Any]:
    """Return what comes next, reckoned by the status that the next write will find."""
    stale = stale_reason(state, now)
    status = state.status if stale is None else SessionStatus.PAUSED
    reason = state.pause_reason if stale is None else stale[0]
    ack = state.pending_manual_gate_ack
    attempt = ack.gate_attempt_id if ack else None
    return {
        "session_signal": loop_signal(status, reason),
        "recommended_actions": recommended_actions(
            state.id, status, reason, state.failure_reason, attempt
        ),
        "next_action_hint": _NEXT_HINT if status is SessionStatus.RUNNING else None,
    }


def _seconds_in(timing: PhaseTiming | None, now: datetime) -> float | None:
    if timing is None or timing.completed_at is not None:
        return None
    return max((now - timing.started_at) / timedelta(seconds=1), 0.0)


def _title(spec: Spec, phase_id: str) -> str | None:
    phase = spec.phase(phase_id)
    return phase.title if phase else None


def _reported(state: SessionState) -> dict[str, Any] | None:
    """Return what is known of the last report, whose step is outstanding no more."""
    report = state.last_report
    if report is None:
        return None
    return {
        "step_id": report.step_id,
        "outcome": report.outcome,
        "recorded_at": report.recorded_at.isoformat(),
    }


def _dump(record: Any) -> Any:
    return None if record is None else record.model_dump(mode="json")


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
