"""What a supervisor does next: one table from states and codes to signals and actions.

`TABLE` has a row for every member of the four enumerations that an answer can name. Commands in
it work when they are pasted: placeholders are filled, and one without a value is left out.
"""

import shlex
from collections.abc import Mapping
from enum import StrEnum
from string import Formatter
from typing import Any, NamedTuple

from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, LoopSignal, PauseReason, SessionStatus


class Action(NamedTuple):
    """Something a person or supervisor can do.

    Attributes:
        command: may hold `{session_id}` and `{gate_attempt_id}`.
    """

    action: str
    description: str
    command: str | None = None


class Row(NamedTuple):
    """What a state or code means to a supervisor; no signal while the caller itself can go on."""

    signal: LoopSignal | None
    actions: tuple[Action, ...] = ()


_PHASE_COMPLETE, _SPEC_COMPLETE = LoopSignal.PHASE_COMPLETE, LoopSignal.SPEC_COMPLETE
_ATTENTION, _FAILED = LoopSignal.PAUSED_NEEDS_ATTENTION, LoopSignal.FAILED
_BLOCKED = LoopSignal.BLOCKED_RUNTIME

_NAMED = " --session-id {session_id}"
_SESSION = f"[{_NAMED}]"  # left out where the id is unknown: the only live session is meant then
_RESUME = "runner session resume" + _SESSION
_REBASE = "runner session rebase" + _SESSION
_RESET = "runner session reset" + _NAMED
_STATUS = "runner session status" + _SESSION
_EVENTS = "runner session events" + _SESSION
_REPLAY = "runner step replay" + _SESSION
_CAPABILITIES = "runner capabilities"
_ACKNOWLEDGE = (
    _RESUME + " --acknowledge-gate-review --acknowledged-gate-attempt-id {gate_attempt_id}"
)

_GO_ON = Action("resume", "Go on with the outstanding work.", _RESUME)
_FRESH = Action("resume", "Go on in a fresh agent session; the limit starts again.", _RESUME)
_LOOK = Action("inspect", "Show the session.", _STATUS)
_SHOW_STEP = Action("replay", "Show the outstanding step again, with its token.", _REPLAY)
_SHOW_POLICY = Action("inspect", "See the role, posture and flags in force.", _CAPABILITIES)
_WAIVE = Action("waive", "Or let the phase pass with a reason: runner task gate-waiver.")
_RESTART = Action("start", "Start a session.", "runner session start")
_PLAN = Action("plan", "Plan SPEC.md into deliverables.", "runner run")
_RESTORE = Action("restore", "Bring back or repair .runner/status.json.")
_REMOVE = Action("reset", "Remove the session; the deliverables keep their status.", _RESET)
_ACCEPT = Action("rebase", "Accept the changed structure; completed work is kept.", _REBASE)
_GIVE_UP = Action(
    "reset", "When you know who changed it: remove the session, and start a new one.", _RESET
)
_REVIEW_AGAIN = Action(
    "review", "Show the gate step; have its phase reviewed again, and report what comes.", _REPLAY
)
_REPAIR = Action("repair", "Do what the remediation says.")
_LIST = Action("list", "See which sessions there are.", "runner session list")
_CORRECT = Action("correct", "Correct the request and send it again.")
_RETRY = Action("retry", "Send the same request again in a moment.")

STATUS_ROWS: Mapping[SessionStatus, Row] = {
    SessionStatus.RUNNING: Row(None),
    SessionStatus.PAUSED: Row(_ATTENTION, (_LOOK, _GO_ON)),
    SessionStatus.COMPLETED: Row(_SPEC_COMPLETE),
    SessionStatus.FAILED: Row(_FAILED, (_LOOK,)),
    SessionStatus.ENDED: Row(_ATTENTION, (_RESTART,)),
}
"""By status alone; a pause's reason says more."""

PAUSE_ROWS: Mapping[PauseReason, Row] = {
    PauseReason.USER: Row(_ATTENTION, (_GO_ON,)),
    PauseReason.CONTEXT_LIMIT: Row(_ATTENTION, (_FRESH,)),
    PauseReason.ERROR_THRESHOLD: Row(
        _ATTENTION,
        (
            Action("inspect", "See what failed.", _EVENTS),
            Action("resume", "Resume when the cause is fixed; the count starts again.", _RESUME),
        ),
    ),
    PauseReason.BLOCKED: Row(
        _ATTENTION,
        (
            Action("inspect", "See which deliverables are blocked or wait.", "runner task list"),
            Action("resume", "Go on when one of them can be worked on.", _RESUME),
        ),
    ),
    PauseReason.GATE_FAILED: Row(
        _ATTENTION,
        (
            Action("inspect", "Read the review's findings and fix them.", _STATUS),
            Action("resume", "Have the phase verified and reviewed again.", _RESUME),
            _WAIVE,
        ),
    ),
    PauseReason.GATE_REVIEW_REQUIRED: Row(
        _ATTENTION,
        (
            Action("inspect", "Read the review and decide.", _STATUS),
            Action("acknowledge", "Let the phase pass.", _ACKNOWLEDGE),
        ),
    ),
    PauseReason.TASK_LIMIT: Row(_ATTENTION, (_FRESH,)),
    PauseReason.HEARTBEAT_STALE: Row(
        _ATTENTION,
        (Action("resume", "Go on; the caller had stopped sending heartbeats.", _RESUME),),
    ),
    PauseReason.STEP_STALE: Row(
        _ATTENTION, (Action("resume", "Go on; the step was not reported in time.", _RESUME),)
    ),
    PauseReason.PHASE_COMPLETE: Row(
        _PHASE_COMPLETE, (Action("resume", "Go on with the next phase.", _RESUME),)
    ),
    PauseReason.FIDELITY_CYCLE_LIMIT: Row(
        _ATTENTION,
        (
            Action("inspect", "Read the recurring findings and fix them.", _STATUS),
            Action("resume", "Have the phase reviewed again; the cycles start again.", _RESUME),
            _WAIVE,
        ),
    ),
    PauseReason.VERIFICATION_UNSETTLED: Row(
        _ATTENTION,
        (
            Action("inspect", "See which phases fail, and what their commands change.", _EVENTS),
            Action("resume", "Verify every phase again; the count starts again.", _RESUME),
        ),
    ),
}

FAILURE_ROWS: Mapping[FailureReason, Row] = {
    FailureReason.SPEC_NOT_FOUND: Row(
        _FAILED, (_RESTORE, Action("resume", "Go on when it is there.", _RESUME + " --force"))
    ),
    FailureReason.SPEC_STRUCTURE_CHANGED: Row(_FAILED, (_ACCEPT,)),
    FailureReason.STATE_CORRUPT: Row(_FAILED, (_REMOVE,)),
    FailureReason.MIGRATION_FAILED: Row(
        _FAILED,
        (
            Action("upgrade", "Use the version of runner that wrote the session, or a newer one."),
            _REMOVE,
        ),
    ),
}

ERROR_ROWS: Mapping[ErrorCode, Row] = {
    ErrorCode.STEP_RESULT_REQUIRED: Row(None, (_SHOW_STEP,)),
    ErrorCode.STEP_MISMATCH: Row(None, (_SHOW_STEP,)),
    ErrorCode.STEP_PROOF_REQUIRED: Row(None, (_SHOW_STEP,)),
    ErrorCode.STEP_PROOF_INVALID: Row(None, (_SHOW_STEP,)),
    ErrorCode.STEP_PROOF_CONFLICT: Row(None, (_LOOK,)),
    ErrorCode.STEP_PROOF_EXPIRED: Row(None, (_SHOW_STEP,)),
    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE: Row(None, (_SHOW_STEP,)),
    ErrorCode.INVALID_GATE_EVIDENCE: Row(None, (_REVIEW_AGAIN,)),
    ErrorCode.INVALID_CURSOR: Row(None, (_CORRECT,)),
    ErrorCode.NO_ACTIVE_SESSION: Row(None, (_RESTART,)),
    ErrorCode.AMBIGUOUS_ACTIVE_SESSION: Row(
        None, (Action("list", "See the sessions and name one.", "runner session list"),)
    ),
    ErrorCode.SPEC_SESSION_EXISTS: Row(None, (_LOOK,)),
    ErrorCode.SESSION_UNRECOVERABLE: Row(_FAILED, (_LOOK, _REMOVE)),
    ErrorCode.LOCK_TIMEOUT: Row(None, (_RETRY,)),
    ErrorCode.TIMEOUT: Row(None, (_LOOK,)),
    ErrorCode.MANUAL_GATE_ACK_REQUIRED: Row(
        _ATTENTION, (_LOOK, Action("acknowledge", "Let the phase pass.", _ACKNOWLEDGE))
    ),
    ErrorCode.INVALID_GATE_ACK: Row(None, (_LOOK,)),
    ErrorCode.INVALID_STATE_TRANSITION: Row(None, (_LOOK,)),
    ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED: Row(None, (_PLAN, _RESTORE)),
    ErrorCode.SPEC_REBASE_REQUIRED: Row(_ATTENTION, (_ACCEPT,)),
    ErrorCode.REBASE_COMPLETED_TASKS_REMOVED: Row(
        _ATTENTION,
        (
            _RESTORE,
            Action("rebase", "Or drop the completed deliverables.", _REBASE + " --force"),
        ),
    ),
    ErrorCode.HEARTBEAT_STALE: Row(_ATTENTION, (_GO_ON,)),
    ErrorCode.VALIDATION_ERROR: Row(None, (_CORRECT,)),
    ErrorCode.SPEC_NOT_FOUND: Row(None, (_PLAN, _RESTORE)),
    ErrorCode.SESSION_NOT_FOUND: Row(None, (_LIST,)),
    ErrorCode.FEATURE_DISABLED: Row(_BLOCKED, (_SHOW_POLICY,)),
    ErrorCode.AUTHORIZATION: Row(_BLOCKED, (_SHOW_POLICY,)),
    ErrorCode.VERIFICATION_RECEIPT_REQUIRED: Row(None, (_SHOW_STEP,)),
    ErrorCode.VERIFICATION_RECEIPT_INVALID: Row(None, (_SHOW_STEP,)),
    ErrorCode.GATE_INTEGRITY_CHECKSUM: Row(_BLOCKED, (_LOOK, _GIVE_UP)),
    ErrorCode.GATE_AUDIT_FAILURE: Row(_BLOCKED, (_LOOK, _GIVE_UP)),
    ErrorCode.REQUIRED_GATE_UNSATISFIED: Row(_BLOCKED, (_LOOK, _REVIEW_AGAIN)),
    ErrorCode.RATE_LIMITED: Row(
        _BLOCKED, (Action("wait", "Wait for details.retry_after seconds."), _SHOW_POLICY)
    ),
    ErrorCode.REVIEW_UNAVAILABLE: Row(
        None, (Action("report", "Report the gate step with the outcome failure, or try again."),)
    ),
    ErrorCode.STATE_UNWRITABLE: Row(
        _ATTENTION, (Action("make_room", "Make the state's folder writable, or make room."),)
    ),
    ErrorCode.INTERNAL: Row(
        _FAILED, (Action("report", "Report this as a bug, with the request id."),)
    ),
}

TABLE: Mapping[type[StrEnum], Mapping[Any, Row]] = {
    SessionStatus: STATUS_ROWS,
    PauseReason: PAUSE_ROWS,
    FailureReason: FAILURE_ROWS,
    ErrorCode: ERROR_ROWS,
}

_DECIDED_BY_STATE = frozenset({ErrorCode.SPEC_SESSION_EXISTS, ErrorCode.INVALID_STATE_TRANSITION})
"""What to do about these depends on the state of the session that the refusal names."""

_BESIDE_SESSIONS = Row(_FAILED, (_REPAIR, _LIST))
"""What can't be read is the index, a key or a folder: no command about a session gets past it."""

_BLOCKING_WHEN_REPEATED = frozenset({ErrorCode.INVALID_GATE_EVIDENCE})


def loop_signal(
    status: SessionStatus, pause_reason: PauseReason | None = None
) -> LoopSignal | None:
    """Return the signal of a session's state, None while work continues."""
    if status is SessionStatus.PAUSED and pause_reason is not None:
        return PAUSE_ROWS[pause_reason].signal
    return STATUS_ROWS[status].signal


def error_signal(code: ErrorCode, *, repeated: bool = False) -> LoopSignal | None:
    """Return the signal of a refusal; None for one that the caller can correct by itself."""
    if repeated and code in _BLOCKING_WHEN_REPEATED:
        return _BLOCKED
    return ERROR_ROWS[code].signal


def recommended_actions(
    session_id: str,
    status: SessionStatus,
    pause_reason: PauseReason | None,
    failure_reason: FailureReason | None,
    gate_attempt_id: str | None = None,
) -> list[dict[str, Any]]:
    """Return what can be done about a session that rests, commands ready to be run.

    The reason decides; without a reason, the status does.
    """
    facts = {"session_id": session_id, "gate_attempt_id": gate_attempt_id}
    actions = _actions_of_state(status, pause_reason, failure_reason)
    return [_render(action, facts) for action in actions]


def error_actions(code: ErrorCode, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what can be done about a refusal; `facts` are its details."""
    if code is ErrorCode.SPEC_SESSION_EXISTS and facts.get("failure_reason"):
        code = ErrorCode.SESSION_UNRECOVERABLE  # the session in the way can't continue
    row = ERROR_ROWS[code]
    if code is ErrorCode.SESSION_UNRECOVERABLE and not facts.get("session_id"):
        row = _BESIDE_SESSIONS
    actions = row.actions
    if code in _DECIDED_BY_STATE and facts.get("status") is not None:
        named = (facts.get("pause_reason"), facts.get("failure_reason"))
        known = {action.command for action in actions}
        further = _actions_of_state(facts["status"], *named)
        actions = (*actions, *(a for a in further if a.command is None or a.command not in known))
    return [_render(action, facts) for action in actions]


def _actions_of_state(
    status: SessionStatus,
    pause_reason: PauseReason | None,
    failure_reason: FailureReason | None,
) -> tuple[Action, ...]:
    if failure_reason is not None:
        return FAILURE_ROWS[failure_reason].actions
    if pause_reason is not None:
        return PAUSE_ROWS[pause_reason].actions
    return STATUS_ROWS[status].actions


def _render(action: Action, facts: Mapping[str, Any]) -> dict[str, Any]:
    rendered = {"action": action.action, "description": action.description}
    command = None if action.command is None else _filled(action.command, facts)
    return rendered if command is None else {**rendered, "command": command}


def _filled(command: str, facts: Mapping[str, Any]) -> str | None:
    """Return the command to paste; None when a value for it is missing."""
    command = command.replace(_SESSION, _NAMED if facts.get("session_id") else "")
    names = [name for _, name, _, _ in Formatter().parse(command) if name]
    if not all(facts.get(name) for name in names):
        return None
    return command.format(**{name: shlex.quote(str(facts[name])) for name in names})
