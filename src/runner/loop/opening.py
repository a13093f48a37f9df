"""Begin an autonomous session, or take up the one that is there (DESIGN §4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, PauseReason, SessionStatus
from runner.loop.plane import Plane, PlaneRefusedError
from runner.loop.resumption import resumption_text

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
    answer: dict[str, Any]
    view: Mapping[str, Any]
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
        if view["created"]:
            return await _with_step(plane, view, memory=None)
    if _needs_person(view):
        return Opened(view["session_id"], dict(view), view)
    if view.get("effective_status", view["status"]) != SessionStatus.RUNNING:
        force = {"force": True} if view["status"] == SessionStatus.FAILED else {}
        view = await plane.ask("session", "resume", session_id=view["session_id"], **force)
    return await _with_step(plane, view, memory=resumption_text(view.get("resume_context")))


async def require_startable(plane: Plane, spec_id: str, options: Mapping[str, Any]) -> None:
    """Find out, where nothing is planned yet, whether a session may be started with `options`.

    Raises:
        PlaneRefusedError: it may not, whatever the plan will be.
    """
    try:
        await plane.ask("session", "start", spec_id=spec_id, **options)
    except PlaneRefusedError as refusal:
        if refusal.code not in _NOT_PLANNED:
            raise


async def find_session(plane: Plane, spec_id: str) -> dict[str, Any] | None:
    """Return the live session of the spec, None when there is none.

    Raises:
        PlaneRefusedError: it was refused for another reason.
    """
    try:
        return await plane.ask("session", "status", spec_id=spec_id)
    except PlaneRefusedError as refusal:
        if refusal.code not in (ErrorCode.NO_ACTIVE_SESSION, ErrorCode.SESSION_NOT_FOUND):
            raise
        return None


async def last_session(plane: Plane, spec_id: str) -> dict[str, Any] | None:
    """Return the row of the spec's session that changed last, live or not.

    Raises:
        PlaneRefusedError: it was refused.
    """
    listed = await plane.ask("session", "list", spec_id=spec_id, limit=1)
    return next(iter(listed["sessions"]), None)


async def resume(plane: Plane, session_id: str) -> dict[str, Any]:
    """Set a session going again, and return the answer with its next step.

    Raises:
        PlaneRefusedError: it was refused.
    """
    await plane.ask("session", "resume", session_id=session_id)
    return await plane.ask("step", "next", session_id=session_id)


async def renew(
    plane: Plane, session_id: str, reason: str = "the proof of the step has expired"
) -> dict[str, Any]:
    """Have the outstanding step issued anew, with a proof that holds, and return the answer.

    Raises:
        PlaneRefusedError: it was refused.
    """
    view = await plane.ask("session", "status", session_id=session_id)
    if view.get("effective_status", view["status"]) == SessionStatus.RUNNING:
        await plane.ask("session", "pause", session_id=session_id, reason=reason)
    return await resume(plane, session_id)


async def _start(plane: Plane, spec_id: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Start a session; where one is there after all, return that, as not created."""
    try:
        return await plane.ask(
            "session", "start", spec_id=spec_id, idempotency_key=_START_KEY, **options
        )
    except PlaneRefusedError as refusal:
        session_id = (refusal.data.get("details") or {}).get("session_id")
        if refusal.code != ErrorCode.SPEC_SESSION_EXISTS or session_id is None:
            raise
        view = await plane.ask("session", "status", session_id=session_id)
        return {**view, "created": False}


def _needs_person(view: Mapping[str, Any]) -> bool:
    if view["status"] == SessionStatus.FAILED:
        return view["failure_reason"] not in _RECOVERABLE
    return bool(view["pause_reason"] == PauseReason.GATE_REVIEW_REQUIRED)


async def _with_step(plane: Plane, view: Mapping[str, Any], *, memory: str | None) -> Opened:
    """Add the outstanding step, or the next one where none is outstanding."""
    session_id, outstanding = view["session_id"], view["last_step_id"]
    if outstanding is not None:
        answer = await plane.ask("step", "replay", session_id=session_id)
        step = answer.get("next_step")
        if step is not None and step["step_id"] == outstanding:
            return Opened(session_id, answer, view, memory)
    answer = await plane.ask("step", "next", session_id=session_id)
    return Opened(session_id, answer, view, memory)
