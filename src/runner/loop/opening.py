"""Begin an autonomous session, or take up the one that is there (DESIGN §4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.autonomy.client import CompletedTask, ResumeContext, SessionAnswer, SessionView
from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, PauseReason, SessionStatus
from runner.events import Notice
from runner.loop.plane import Plane, PlaneRefusedError

_NAMED_FILES = 12
_BEGUN = (
    "An earlier run was at work here and ended before this step was done. Whatever it left is "
    "in the work tree: look at `git status`, `git log` and `.runner-note.md` first, keep what "
    "is good, and do not do again what is done."
)


def resumption_text(context: ResumeContext | None) -> str:
    """Return the text for the first prompt after work was taken up again.

    Args:
        context: the control plane's `resume_context`; None when the run before ended without
            a word and the session goes on where it stood.
    """
    parts = [_BEGUN]
    if context is not None:
        if context.last_pause_reason:
            parts.append(f"It ended because of: {context.last_pause_reason}.")
        done = "\n".join(map(_line, context.recent_completed_tasks))
        if done:
            parts.append(f"Done before, and accepted:\n\n{done}")
    return "\n\n".join(parts)


def _line(task: CompletedTask) -> str:
    line = f"- {task.task_id}: {task.title or 'no longer in the spec'}"
    files = task.files_touched
    if files:
        more = f" and {len(files) - _NAMED_FILES} more" if len(files) > _NAMED_FILES else ""
        line += f" (in {', '.join(files[:_NAMED_FILES])}{more})"
    return line


# A run's own: a start that was cut off and comes again finds the session that it made.
_START_KEY = "runner-run"
_NOT_PLANNED = (ErrorCode.SPEC_NOT_FOUND, ErrorCode.VALIDATION_ERROR)
_RECOVERABLE = (FailureReason.SPEC_NOT_FOUND, FailureReason.SPEC_STRUCTURE_CHANGED)


@dataclass(frozen=True, slots=True)
class Opened:
    """A session to work on, or one that only a person can set going again.

    Attributes:
        answer: with its outstanding or next step, or with what it waits for.
        memory: what the first agent session is to be told; None in a session that is new.
        view: the session as `session status` shows it.
    """

    session_id: str
    answer: SessionAnswer
    view: SessionView
    memory: str | None = None


async def open_session(plane: Plane, spec_id: str, options: Mapping[str, Any]) -> Opened:
    """Return the session of the spec with its step.

    Args:
        plane: the control plane.
        spec_id: of the workspace.
        options: for `session start`, where there is no session yet.

    Raises:
        PlaneRefusedError: it was refused.
    """
    view = await find_session(plane, spec_id)
    if view is None:
        view = await _start(plane, spec_id, options)
        if view.created:
            return await _with_step(plane, view, memory=None)
    if _needs_person(view):
        return Opened(view.session_id, view, view)
    if view.effective_status is not SessionStatus.RUNNING:
        force = view.status is SessionStatus.FAILED
        view = await plane.resume(view.session_id, force=force)
    return await _with_step(plane, view, memory=resumption_text(view.resume_context))


async def require_startable(plane: Plane, spec_id: str, options: Mapping[str, Any]) -> None:
    """Find out, where nothing is planned yet, whether a session may be started with `options`.

    Raises:
        PlaneRefusedError: it may not, whatever the plan will be.
    """
    try:
        await plane.start(spec_id, options)
    except PlaneRefusedError as refusal:
        if refusal.code not in _NOT_PLANNED:
            raise


async def find_session(plane: Plane, spec_id: str) -> SessionView | None:
    """Return the live session of the spec, None when there is none.

    Raises:
        PlaneRefusedError: it was refused for another reason.
    """
    try:
        return await plane.live(spec_id)
    except PlaneRefusedError as refusal:
        if refusal.code not in (ErrorCode.NO_ACTIVE_SESSION, ErrorCode.SESSION_NOT_FOUND):
            raise
        return None


async def resume(plane: Plane, session_id: str) -> SessionAnswer:
    """Set a session going again, and return the answer with its next step.

    Raises:
        PlaneRefusedError: it was refused.
    """
    await plane.resume(session_id)
    return await plane.next(session_id)


async def renew(
    plane: Plane, session_id: str, reason: str = "the proof of the step has expired"
) -> SessionAnswer:
    """Have the outstanding step issued anew, with a proof that holds, and return the answer.

    Raises:
        PlaneRefusedError: it was refused.
    """
    view = await plane.status(session_id)
    if view.effective_status is SessionStatus.RUNNING:
        await plane.pause(session_id, reason)
    return await resume(plane, session_id)


async def _start(plane: Plane, spec_id: str, options: Mapping[str, Any]) -> SessionView:
    """Start a session; where one is there after all, return that, as not created."""
    try:
        return await plane.start(spec_id, {"idempotency_key": _START_KEY, **options})
    except PlaneRefusedError as refusal:
        session_id = refusal.details.get("session_id")
        if refusal.code != ErrorCode.SPEC_SESSION_EXISTS or session_id is None:
            raise
        return await plane.status(session_id)


def _needs_person(view: SessionView) -> bool:
    if view.status is SessionStatus.FAILED:
        return view.failure_reason not in _RECOVERABLE
    return view.pause_reason is PauseReason.GATE_REVIEW_REQUIRED


async def _with_step(plane: Plane, view: SessionView, *, memory: str | None) -> Opened:
    """Add the outstanding step, or the next one where none is outstanding."""
    session_id, outstanding = view.session_id, view.last_step_id
    if outstanding is not None:
        answer = await plane.replay(session_id)
        if answer.next_step is not None and answer.next_step.step_id == outstanding:
            return Opened(session_id, answer, view, memory)
    return Opened(session_id, await plane.next(session_id), view, memory)


_OPTIONS = {
    "gate_policy": "--gate-policy",
    "gates_required": "--no-gates",
    "max_consecutive_errors": "--max-consecutive-errors",
    "max_fidelity_review_cycles_per_phase": "--max-review-cycles",
}


def ignored_options(wanted: Mapping[str, Any], view: SessionView) -> Notice | None:
    """Return a warning that names the options without effect, None when all are in force.

    Args:
        wanted: what `session start` would be told now.
        view: the session that is there, as `session status` shows it.
    """
    in_force = view.in_force
    differing = [
        _OPTIONS[name] if value is False else f"{_OPTIONS[name]} {value} (it has {in_force[name]})"
        for name, value in wanted.items()
        if name in _OPTIONS and in_force.get(name, value) != value
    ]
    if not differing:
        return None
    session_id = view.session_id
    return Notice(
        "warning",
        f"The autonomous session {session_id} keeps what it was started with; without effect: "
        + ", ".join(differing),
        f"To begin a new one with them: runner session end --session-id {session_id}, then "
        "`runner run` again; what has passed stays passed.",
    )
