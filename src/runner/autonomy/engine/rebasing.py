"""Rebase: take over an edited spec and keep what was done."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.lifecycle import finish, require_status, wake
from runner.autonomy.engine.progress import Progress
from runner.autonomy.engine.recording import reopen_gate
from runner.autonomy.engine.starting import open_first_phase
from runner.autonomy.engine.transition import Transition
from runner.autonomy.engine.turn import EngineTurn, Env, JournalDraft
from runner.autonomy.enums import EntryType, SessionStatus, TaskStatus
from runner.autonomy.models import SessionState, WorkflowStructure
from runner.autonomy.spec.structure import Spec, StructureDiff, diff_structures


@dataclass(frozen=True, slots=True)
class _Reconciled:
    """What becomes of the completed deliverables, each in its order."""

    kept: tuple[str, ...]
    removed: tuple[str, ...]
    reopened: tuple[str, ...]
    adopted: tuple[str, ...]


def rebase_session(state: SessionState, spec: Spec, *, force: bool, env: Env) -> Transition:
    """Work by the spec as it is now.

    Completed deliverables stay completed, except those that the spec now says are pending
    (a sync found them undone) and, with force, those that are gone. Deliverables that the spec
    says have passed count as completed. Phases that gained work are verified and gated again.

    Raises:
        RefusedError: the session neither is paused nor has failed, or completed deliverables
            are gone and `force` is not set.
    """
    require_status(state, "rebase", SessionStatus.PAUSED, SessionStatus.FAILED)
    diff = diff_structures(state.workflow_structure, spec.structure)
    work = _reconcile(state, spec)
    if work.removed and not force:
        raise RefusedError(
            ErrorCode.REBASE_COMPLETED_TASKS_REMOVED,
            "Completed deliverables are no longer in the spec.",
            details={"removed_task_ids": list(work.removed)},
        )
    before = state.pause_reason or state.failure_reason
    rebased = _rebased(state, spec, work, env)
    result = _result(diff, work)
    draft = JournalDraft(
        EntryType.SESSION,
        "Session rebased",
        f"Session {state.id} rebased. {diff.summary()}",
        {"rebase_result": result, "resumed_from": before},
    )
    turn = EngineTurn(state=rebased, spec=spec, env=env, drafts=(draft,))
    return finish(turn, {"rebase_result": result, "last_pause_reason": before})


def _rebased(state: SessionState, spec: Spec, work: _Reconciled, env: Env) -> SessionState:
    completed = (*work.kept, *work.adopted)
    old = state.workflow_structure
    state = wake(state, env).evolve(
        spec_structure_hash=spec.structure_hash,
        spec_file_mtime=spec.mtime,
        spec_file_size=spec.size,
        spec_title=spec.title,
        workflow_structure=spec.structure,
        agreed_commands=spec.commands_by_phase,
        completed_task_ids=completed,
        skipped_task_ids=(),
        retry_task_id=None,
        last_step_issued=None,
        pending_step_proof=None,
        pending_gate_evidence=None,
        pending_manual_gate_ack=None,
        work_reports=state.work_reports + 1,
    )
    for phase_id in state.phase_gates:
        state = state.with_gate(phase_id, reverified=0)
    state = state.with_counters(tasks_completed=len(completed))
    for phase_id in _phases_to_judge(old, state, spec):
        state = reopen_gate(state, phase_id)
    return open_first_phase(_without_gone_phases(state, spec), spec, env)


def _reconcile(state: SessionState, spec: Spec) -> _Reconciled:
    completed = state.completed_task_ids
    statuses = {task.id: task.status for task in spec.tasks.values()}
    known = set(completed)
    return _Reconciled(
        kept=tuple(i for i in completed if statuses.get(i, TaskStatus.PENDING) != "pending"),
        removed=tuple(i for i in completed if i not in statuses),
        reopened=tuple(i for i in completed if statuses.get(i) is TaskStatus.PENDING),
        adopted=tuple(i for i, s in statuses.items() if s is TaskStatus.PASSED and i not in known),
    )


def _phases_to_judge(old: WorkflowStructure, state: SessionState, spec: Spec) -> Iterable[str]:
    """Return the phases that no review has seen as they are now.

    Those have work left, deliverables that stood elsewhere, or commands that are new.
    """
    pending = Progress.of(state, spec).pending
    seen = {shape.id: set(shape.task_ids) for shape in old.phases}
    commands = {shape.id: shape.verifies for shape in old.phases}
    for shape in spec.structure.phases:
        gained = not seen.get(shape.id, set()).issuperset(shape.task_ids)
        if shape.id in pending or gained or (shape.verifies and not commands.get(shape.id)):
            yield shape.id


def _without_gone_phases(state: SessionState, spec: Spec) -> SessionState:
    known = {phase.id for phase in spec.phases}
    stopped = state.stopped_after_phase_id
    return state.evolve(
        phase_gates={i: gate for i, gate in state.phase_gates.items() if i in known},
        phase_timing={i: timing for i, timing in state.phase_timing.items() if i in known},
        stopped_after_phase_id=stopped if stopped in known else None,
    )


def _result(diff: StructureDiff, work: _Reconciled) -> Any:
    if diff.is_empty and not work.reopened and not work.adopted:
        return "no_change"
    return {
        "result": "success",
        **diff.as_dict(),
        "dropped_completed_tasks": list(work.removed),
        "reopened_tasks": list(work.reopened),
        "adopted_tasks": list(work.adopted),
    }
