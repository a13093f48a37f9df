"""task list, prepare, and the protected changes of a deliverable."""

from collections.abc import Callable
from typing import Any

from runner.autonomy.calls import require_time
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import CommandAnswer, Core, Held
from runner.autonomy.engine.lifecycle import finish
from runner.autonomy.engine.mutations import Mutation, TaskAction, authorise
from runner.autonomy.engine.recording import after_work, complete_task, reopen_task
from runner.autonomy.engine.turn import EngineTurn, JournalDraft
from runner.autonomy.enums import EntryType, TaskStatus
from runner.autonomy.models import SessionState, TaskChange
from runner.autonomy.params import (
    SessionParams,
    TaskListParams,
    TaskMutationParams,
    TaskParams,
    TaskStatusParams,
)
from runner.autonomy.spec.structure import Spec, SpecTask

_STATUS_AFTER: dict[TaskAction, TaskStatus | None] = {
    TaskAction.START: None,
    TaskAction.COMPLETE: TaskStatus.PASSED,
    TaskAction.BLOCK: TaskStatus.BLOCKED,
    TaskAction.UNBLOCK: TaskStatus.PENDING,
}


_NO_REASON = "No reason was given."
"""The reason of a block in a session that gives none."""


class Tasks:
    """What callers see and change of deliverables. A live session holds the write lock."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(self, params: TaskListParams) -> CommandAnswer:
        """List the deliverables of the workspace's spec, in phase order."""
        rows = [
            _row(task)
            for task in self._core.require_spec(params.spec_id).tasks.values()
            if params.status in (None, task.status) and params.phase_id in (None, task.phase_id)
        ]
        return CommandAnswer({"tasks": rows[: params.limit], "total_count": len(rows)})

    def prepare(self, params: TaskParams) -> CommandAnswer:
        """Show all that is known about one deliverable."""
        spec = self._core.require_spec(params.spec_id)
        task = _find(spec, params.task_id)
        phase = spec.phase(task.phase_id)
        criteria = self._core.source.acceptance_criteria(task.id)
        data = {
            **_row(task),
            "phase_title": phase.title if phase else None,
            "acceptance_criteria": list(criteria),
            "verification": list(task.verification),
        }
        return CommandAnswer(data)

    def command(self, action: TaskAction) -> Callable[[TaskMutationParams], CommandAnswer]:
        """Return what runs one of the protected commands with a fixed result."""
        return lambda params: self._mutate(action, _STATUS_AFTER[action], params)

    def update_status(self, params: TaskStatusParams) -> CommandAnswer:
        """Set a status by its name."""
        return self._mutate(TaskAction.UPDATE_STATUS, params.status, params)

    def _mutate(
        self, action: TaskAction, status: TaskStatus | None, params: TaskMutationParams
    ) -> CommandAnswer:
        spec = self._core.require_spec(params.spec_id)
        task = _find(spec, params.task_id)
        mutation = Mutation(action, task.id, {"status": status, "reason": params.reason})
        live = self._core.live_session(spec.spec_id)
        _require_same_session(params.session_id, live)
        if live is not None:
            with self._core.hold(SessionParams(session_id=live)) as held:
                if not held.state.status.is_terminal:
                    self._mutate_in_session(held, task, status, mutation, params)
                    return CommandAnswer(_changed(task, status, held.state), tuple(held.warnings))
        return self._mutate_freely(spec, task, status, mutation.action, params.reason)

    def _mutate_freely(
        self,
        spec: Spec,
        task: SpecTask,
        status: TaskStatus | None,
        action: TaskAction,
        reason: str | None,
    ) -> CommandAnswer:
        """Change a deliverable that no session holds, and let none start meanwhile."""
        with self._core.store.spec_lock(spec.spec_id):
            holder = self._core.live_session(None)
            if holder is not None:
                raise RefusedError(
                    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE,
                    "A session of this workspace is not over, and holds its deliverables.",
                    hint=f"End it first, or reset it if it is damaged: "
                    f"runner session status --session-id {holder}",
                    details={"session_id": holder},
                )
            _require_legal(task, action, status)
            if status is not None:
                require_time()
                claim = reason if status is TaskStatus.BLOCKED else None
                change = TaskChange(task_id=task.id, status=status, reason=claim)
                self._core.source.apply([change])
        return CommandAnswer(_changed(task, status, None))

    def _mutate_in_session(
        self,
        held: Held,
        task: SpecTask,
        status: TaskStatus | None,
        mutation: Mutation,
        params: TaskMutationParams,
    ) -> None:
        env = self._core.env(held.state)
        state = authorise(held.state, mutation, params.autonomy_step_proof, env)
        if state == held.state and state.write_lock.enforced:
            return  # the identical change again: it is made already
        _require_legal(task, mutation.action, status)
        turn = EngineTurn(state=state, spec=None, env=env).noting(_draft(mutation, params.reason))
        if status is not None:
            claim = params.reason or _NO_REASON
            turn = turn.marking(task.id, status, claim if status is TaskStatus.BLOCKED else None)
        if status is not None and not state.write_lock.enforced:  # as good as a report
            is_done = status is TaskStatus.PASSED
            change = complete_task if is_done else reopen_task
            turn = turn.to(after_work(change(state, task.phase_id, task.id)))
        self._core.commit(held, finish(turn, {}))


def _find(spec: Spec, task_id: str) -> SpecTask:
    task = spec.tasks.get(task_id)
    if task is None:
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            "There is no such deliverable.",
            hint="See runner task list.",
            details={"field": "task_id"},
        )
    return task


def _require_same_session(named: str | None, live: str | None) -> None:
    """The live session's lock counts, whichever session a caller would rather name."""
    if named not in (None, live):
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            "The named session is not the one that holds the spec.",
            details={"field": "session_id", "live_session_id": live},
        )


def _require_legal(task: SpecTask, action: TaskAction, status: TaskStatus | None) -> None:
    if action is TaskAction.UNBLOCK and task.status is TaskStatus.PASSED:
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            f"{task.id} has passed; it is not blocked.",
            hint=f"To take the pass back: runner task update-status {task.id} --status pending.",
            details={"task_id": task.id, "task_status": task.status},
        )
    if status is TaskStatus.BLOCKED and task.status is TaskStatus.PASSED:
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            f"{task.id} has passed, and what has passed can't be blocked.",
            hint="Set it to pending first.",
            details={"task_id": task.id, "task_status": task.status},
        )


def _draft(mutation: Mutation, reason: str | None) -> JournalDraft:
    content = f"{mutation.action} on {mutation.task_id}" + (f": {reason}" if reason else "")
    data = {"task_id": mutation.task_id, "action": mutation.action, "reason": reason}
    return JournalDraft(EntryType.TASK, "Deliverable changed", content, data)


def _row(task: SpecTask) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "title": task.title,
        "phase_id": task.phase_id,
        "status": task.status,
        "depends_on": list(task.depends_on),
        "block_reason": task.block_reason,
    }


def _changed(
    task: SpecTask, status: TaskStatus | None, state: SessionState | None
) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "status": status or task.status,
        "session_id": state.id if state else None,
        "state_version": state.state_version if state else None,
    }
