"""What a supervisor does next: one table from states to signals and actions (seed 003 WS3)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, LoopSignal, PauseReason, SessionStatus

_ATTENTION = LoopSignal.PAUSED_NEEDS_ATTENTION


class Action(NamedTuple):
    """Something a person or supervisor can do; the command may hold `{session_id}`."""

    action: str
    description: str
    command: str | None = None


_RESUME = "runner session resume --session-id {session_id}"
_REBASE = "runner session rebase --session-id {session_id}"
_STATUS = "runner session status --session-id {session_id}"

_RESUME_ACTION = Action("resume", "Go on with the outstanding work.", _RESUME)
_FRESH = Action("resume", "Go on in a fresh agent session; the limit starts anew.", _RESUME)

PAUSE_SIGNALS: Mapping[PauseReason, LoopSignal] = {
    reason: LoopSignal.PHASE_COMPLETE if reason is PauseReason.PHASE_COMPLETE else _ATTENTION
    for reason in PauseReason
}

PAUSE_ACTIONS: Mapping[PauseReason, tuple[Action, ...]] = {
    PauseReason.USER: (_RESUME_ACTION,),
    PauseReason.CONTEXT_LIMIT: (_FRESH,),
    PauseReason.ERROR_THRESHOLD: (
        Action("inspect", "See what failed.", "runner journal list --session-id {session_id}"),
        Action("resume", "Go on when the cause is mended; the count starts anew.", _RESUME),
    ),
    PauseReason.BLOCKED: (
        Action("inspect", "See which deliverables are blocked or wait for others.", _STATUS),
        Action("resume", "Go on when one of them can be worked on.", _RESUME),
    ),
    PauseReason.GATE_FAILED: (
        Action("inspect", "Read the review's findings and mend them.", _STATUS),
        Action("resume", "Have the phase verified and reviewed again.", _RESUME),
    ),
    PauseReason.GATE_REVIEW_REQUIRED: (
        Action("inspect", "Read the review and decide.", _STATUS),
        Action(
            "acknowledge",
            "Let the phase pass.",
            "runner session resume --session-id {session_id} --acknowledge-gate-review"
            " --acknowledged-gate-attempt-id {gate_attempt_id}",
        ),
    ),
    PauseReason.TASK_LIMIT: (_FRESH,),
    PauseReason.HEARTBEAT_STALE: (
        Action("resume", "Go on; the caller had stopped sending heartbeats.", _RESUME),
    ),
    PauseReason.STEP_STALE: (
        Action("resume", "Go on; the step was not reported in time.", _RESUME),
    ),
    PauseReason.PHASE_COMPLETE: (Action("resume", "Go on with the next phase.", _RESUME),),
    PauseReason.FIDELITY_CYCLE_LIMIT: (
        Action("inspect", "Read the findings that keep coming back and mend them.", _STATUS),
        Action("resume", "Have the phase reviewed again; the cycles start anew.", _RESUME),
    ),
}

FAILURE_ACTIONS: Mapping[FailureReason, tuple[Action, ...]] = {
    FailureReason.SPEC_NOT_FOUND: (
        Action("restore", "Bring back or repair .runner/status.json.", None),
        Action("resume", "Go on when it is there.", _RESUME + " --force"),
    ),
    FailureReason.SPEC_STRUCTURE_CHANGED: (
        Action("rebase", "Accept the changed structure; completed work is kept.", _REBASE),
    ),
    FailureReason.STATE_CORRUPT: (
        Action(
            "reset",
            "Remove the damaged session and start anew; the deliverables keep their status.",
            "runner session reset --session-id {session_id}",
        ),
    ),
    FailureReason.MIGRATION_FAILED: (
        Action("upgrade", "Use the version of runner that wrote the session, or a newer one."),
        Action(
            "reset",
            "Or remove the session and start anew.",
            "runner session reset --session-id {session_id}",
        ),
    ),
}

STATUS_SIGNALS: Mapping[SessionStatus, LoopSignal | None] = {
    SessionStatus.RUNNING: None,
    SessionStatus.PAUSED: _ATTENTION,
    SessionStatus.COMPLETED: LoopSignal.SPEC_COMPLETE,
    SessionStatus.FAILED: LoopSignal.FAILED,
    SessionStatus.ENDED: _ATTENTION,
}

BLOCKING_CODES = frozenset(
    {
        ErrorCode.REQUIRED_GATE_UNSATISFIED,
        ErrorCode.GATE_AUDIT_FAILURE,
        ErrorCode.GATE_INTEGRITY_CHECKSUM,
        ErrorCode.FEATURE_DISABLED,
        ErrorCode.AUTHORIZATION,
        ErrorCode.RATE_LIMITED,
    }
)


def loop_signal(
    status: SessionStatus, pause_reason: PauseReason | None = None
) -> LoopSignal | None:
    """Return the signal of a session's state, None while work goes on."""
    if status is SessionStatus.PAUSED and pause_reason is not None:
        return PAUSE_SIGNALS[pause_reason]
    return STATUS_SIGNALS[status]


def error_signal(code: ErrorCode) -> LoopSignal | None:
    """Return the signal of a refusal; None for one that the caller can correct by itself."""
    if code is ErrorCode.SESSION_UNRECOVERABLE:
        return LoopSignal.FAILED
    return LoopSignal.BLOCKED_RUNTIME if code in BLOCKING_CODES else None


def recommended_actions(
    session_id: str,
    pause_reason: PauseReason | None,
    failure_reason: FailureReason | None,
    gate_attempt_id: str | None = None,
) -> list[dict[str, Any]]:
    """Return what can be done about a pause or failure, commands ready to be run."""
    actions: tuple[Action, ...] = ()
    if failure_reason is not None:
        actions = FAILURE_ACTIONS[failure_reason]
    elif pause_reason is not None:
        actions = PAUSE_ACTIONS[pause_reason]
    return [_render(action, session_id, gate_attempt_id) for action in actions]


def _render(action: Action, session_id: str, gate_attempt_id: str | None) -> dict[str, Any]:
    rendered = {"action": action.action, "description": action.description}
    if action.command is not None:
        rendered["command"] = action.command.format(
            session_id=session_id, gate_attempt_id=gate_attempt_id
        )
    return rendered
