"""Every refusal of the control plane: its code, its kind, and what to do about it (CONTRACT §6)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from runner.errors import RunnerError


class ErrorType(StrEnum):
    """The kind of a refusal, for callers that don't know every code."""

    VALIDATION = "validation"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    UNAVAILABLE = "unavailable"
    AUTHORIZATION = "authorization"
    FEATURE_FLAG = "feature_flag"
    INTERNAL = "internal"


class ErrorCode(StrEnum):
    """The values of `data.error_code`."""

    STEP_RESULT_REQUIRED = "STEP_RESULT_REQUIRED"
    STEP_MISMATCH = "STEP_MISMATCH"
    STEP_PROOF_REQUIRED = "STEP_PROOF_REQUIRED"
    STEP_PROOF_INVALID = "STEP_PROOF_INVALID"
    STEP_PROOF_CONFLICT = "STEP_PROOF_CONFLICT"
    STEP_PROOF_EXPIRED = "STEP_PROOF_EXPIRED"
    AUTONOMY_WRITE_LOCK_ACTIVE = "AUTONOMY_WRITE_LOCK_ACTIVE"
    INVALID_GATE_EVIDENCE = "INVALID_GATE_EVIDENCE"
    INVALID_CURSOR = "INVALID_CURSOR"
    NO_ACTIVE_SESSION = "NO_ACTIVE_SESSION"
    AMBIGUOUS_ACTIVE_SESSION = "AMBIGUOUS_ACTIVE_SESSION"
    SPEC_SESSION_EXISTS = "SPEC_SESSION_EXISTS"
    SESSION_UNRECOVERABLE = "SESSION_UNRECOVERABLE"
    LOCK_TIMEOUT = "LOCK_TIMEOUT"
    TIMEOUT = "TIMEOUT"
    MANUAL_GATE_ACK_REQUIRED = "MANUAL_GATE_ACK_REQUIRED"
    INVALID_GATE_ACK = "INVALID_GATE_ACK"
    INVALID_STATE_TRANSITION = "INVALID_STATE_TRANSITION"
    AUTO_MODE_SPEC_RESOLUTION_FAILED = "AUTO_MODE_SPEC_RESOLUTION_FAILED"
    SPEC_REBASE_REQUIRED = "SPEC_REBASE_REQUIRED"
    REBASE_COMPLETED_TASKS_REMOVED = "REBASE_COMPLETED_TASKS_REMOVED"
    HEARTBEAT_STALE = "HEARTBEAT_STALE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    SPEC_NOT_FOUND = "SPEC_NOT_FOUND"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    FEATURE_DISABLED = "FEATURE_DISABLED"
    AUTHORIZATION = "AUTHORIZATION"
    VERIFICATION_RECEIPT_REQUIRED = "VERIFICATION_RECEIPT_REQUIRED"
    VERIFICATION_RECEIPT_INVALID = "VERIFICATION_RECEIPT_INVALID"
    GATE_INTEGRITY_CHECKSUM = "GATE_INTEGRITY_CHECKSUM"
    GATE_AUDIT_FAILURE = "GATE_AUDIT_FAILURE"
    REQUIRED_GATE_UNSATISFIED = "REQUIRED_GATE_UNSATISFIED"
    RATE_LIMITED = "RATE_LIMITED"
    REVIEW_UNAVAILABLE = "REVIEW_UNAVAILABLE"
    STATE_UNWRITABLE = "STATE_UNWRITABLE"
    INTERNAL = "INTERNAL"


class CodeInfo(NamedTuple):
    """How a code is presented where the refusal itself says nothing more specific."""

    error_type: ErrorType
    remediation: str


_V, _N, _C = ErrorType.VALIDATION, ErrorType.NOT_FOUND, ErrorType.CONFLICT
_U, _A, _F = ErrorType.UNAVAILABLE, ErrorType.AUTHORIZATION, ErrorType.FEATURE_FLAG

CODES: dict[ErrorCode, CodeInfo] = {
    ErrorCode.STEP_RESULT_REQUIRED: CodeInfo(
        _V, "Report the outstanding step: pass it as last_step_result. `replay` shows it again."
    ),
    ErrorCode.STEP_MISMATCH: CodeInfo(
        _C, "Report the step that is outstanding; `replay` shows it again."
    ),
    ErrorCode.STEP_PROOF_REQUIRED: CodeInfo(_A, "Send the step's step_proof_token along."),
    ErrorCode.STEP_PROOF_INVALID: CodeInfo(
        _A, "Send the token of the outstanding step; `replay` shows it again."
    ),
    ErrorCode.STEP_PROOF_CONFLICT: CodeInfo(
        _C, "The step was reported already with other content; ask for the next step."
    ),
    ErrorCode.STEP_PROOF_EXPIRED: CodeInfo(
        _A, "The step was reported before; `replay` shows what followed."
    ),
    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE: CodeInfo(
        _A, "Only the current step's own deliverable may be changed; end the session to do more."
    ),
    ErrorCode.INVALID_GATE_EVIDENCE: CodeInfo(
        _A, "Run the phase's review again and report the attempt and token that it returns."
    ),
    ErrorCode.INVALID_CURSOR: CodeInfo(_V, "Start again without a cursor."),
    ErrorCode.NO_ACTIVE_SESSION: CodeInfo(_N, "Start a session: runner session start."),
    ErrorCode.AMBIGUOUS_ACTIVE_SESSION: CodeInfo(_C, "Name the session with --session-id."),
    ErrorCode.SPEC_SESSION_EXISTS: CodeInfo(
        _C, "Go on with the existing session, or start with --force to end it."
    ),
    ErrorCode.SESSION_UNRECOVERABLE: CodeInfo(
        _C, "Reset the session and start a new one; the deliverables keep their status."
    ),
    ErrorCode.LOCK_TIMEOUT: CodeInfo(_U, "Try again when the other process is done."),
    ErrorCode.TIMEOUT: CodeInfo(_U, "Ask `session status` whether the change was made."),
    ErrorCode.MANUAL_GATE_ACK_REQUIRED: CodeInfo(
        _V, "Resume with acknowledge_gate_review and acknowledged_gate_attempt_id."
    ),
    ErrorCode.INVALID_GATE_ACK: CodeInfo(
        _V, "Acknowledge the attempt that `session status` shows as pending."
    ),
    ErrorCode.INVALID_STATE_TRANSITION: CodeInfo(
        _C, "See `session status` for what the session's state allows."
    ),
    ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED: CodeInfo(
        _V, "Plan the spec first: runner run, or restore .runner/status.json."
    ),
    ErrorCode.SPEC_REBASE_REQUIRED: CodeInfo(
        _C, "Accept the changed structure: runner session rebase."
    ),
    ErrorCode.REBASE_COMPLETED_TASKS_REMOVED: CodeInfo(
        _C, "Bring the deliverables back, or rebase with --force to drop them."
    ),
    ErrorCode.HEARTBEAT_STALE: CodeInfo(_C, "Resume the session: runner session resume."),
    ErrorCode.VALIDATION_ERROR: CodeInfo(_V, "Correct the input and try again."),
    ErrorCode.SPEC_NOT_FOUND: CodeInfo(
        _N, "Plan the spec first: runner run, or restore .runner/status.json."
    ),
    ErrorCode.SESSION_NOT_FOUND: CodeInfo(_N, "See runner session list."),
    ErrorCode.FEATURE_DISABLED: CodeInfo(_F, "Enable the feature flag in .runner/runner.toml."),
    ErrorCode.AUTHORIZATION: CodeInfo(_A, "Use a role that may do this, or ask its holder."),
    ErrorCode.VERIFICATION_RECEIPT_REQUIRED: CodeInfo(
        _V, "Run the step's commands and report a verification_receipt."
    ),
    ErrorCode.VERIFICATION_RECEIPT_INVALID: CodeInfo(
        _V, "Run the step's commands again and report what they returned."
    ),
    ErrorCode.GATE_INTEGRITY_CHECKSUM: CodeInfo(
        _A, "The stored review was changed from outside: run the review again."
    ),
    ErrorCode.GATE_AUDIT_FAILURE: CodeInfo(
        _A, "The gate's record does not fit its evidence: run the review again."
    ),
    ErrorCode.REQUIRED_GATE_UNSATISFIED: CodeInfo(
        _A, "Run the phase's review; a required gate can't be skipped."
    ),
    ErrorCode.RATE_LIMITED: CodeInfo(_A, "Wait for details.retry_after seconds."),
    ErrorCode.REVIEW_UNAVAILABLE: CodeInfo(
        _U,
        "Have it reviewed again, or report the step with the outcome failure: it says that the "
        "review could not run, and consumes no cycle.",
    ),
    ErrorCode.STATE_UNWRITABLE: CodeInfo(
        _U, "Make room or make the folder writable, then try again; nothing was changed."
    ),
    ErrorCode.INTERNAL: CodeInfo(ErrorType.INTERNAL, "Report this as a bug, with the request id."),
}


class RefusedError(RunnerError):
    """The control plane refuses a request, and nothing was changed (but see TIMEOUT, HEARTBEAT_STALE).

    Args:
        code: the value of `data.error_code`.
        message: one sentence that says what is wrong.
        hint: what to do next; the code's own remediation where None.
        details: machine-readable facts.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, hint=hint or CODES[code].remediation)
        self.code = code
        self.details = dict(details or {})

    @property
    def error_type(self) -> ErrorType:
        return CODES[self.code].error_type
