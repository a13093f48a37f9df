"""The one envelope of every answer (CONTRACT §6)."""

from collections.abc import Mapping, Sequence
from typing import Any

from runner.autonomy.codes import CODES, ErrorCode, RefusedError
from runner.autonomy.migrations import MigrationError
from runner.autonomy.signals import error_actions, error_signal
from runner.errors import (
    ConfigError,
    DeliverableError,
    LockTimeoutError,
    PrerequisiteError,
    RunnerError,
    StateError,
    StateWriteError,
    UsageError,
)

VERSION = "response-v2"
Envelope = dict[str, Any]

# The first row that fits decides; RefusedError brings its own code.
_CODES_OF_ERRORS: tuple[tuple[type[RunnerError], ErrorCode], ...] = (
    (LockTimeoutError, ErrorCode.LOCK_TIMEOUT),
    (StateWriteError, ErrorCode.STATE_UNWRITABLE),
    (MigrationError, ErrorCode.SESSION_UNRECOVERABLE),
    (StateError, ErrorCode.SESSION_UNRECOVERABLE),
    (PrerequisiteError, ErrorCode.SPEC_NOT_FOUND),
    (ConfigError, ErrorCode.VALIDATION_ERROR),
    (UsageError, ErrorCode.VALIDATION_ERROR),
    (DeliverableError, ErrorCode.VALIDATION_ERROR),
)


def success(
    data: Mapping[str, Any],
    *,
    request_id: str,
    warnings: Sequence[str] = (),
    pagination: Mapping[str, Any] | None = None,
) -> Envelope:
    """Return the envelope of an answer."""
    meta: dict[str, Any] = {"version": VERSION, "request_id": request_id}
    if warnings:
        meta["warnings"] = list(warnings)
    if pagination is not None:
        meta["pagination"] = dict(pagination)
    return {"success": True, "data": dict(data), "error": None, "meta": meta}


def failure(
    error: RunnerError,
    *,
    request_id: str,
    repeated: bool = False,
    warnings: Sequence[str] = (),
    session_id: str | None = None,
) -> Envelope:
    """Return the envelope of a refusal; nothing was changed.

    Args:
        repeated: the same was refused a short while ago already.
        session_id: the session that the request was about, for the recommended commands.
    """
    code = code_of(error)
    info = CODES[code]
    details = error.details if isinstance(error, RefusedError) else {}
    meta: dict[str, Any] = {"version": VERSION, "request_id": request_id}
    if warnings:
        meta["warnings"] = list(warnings)
    return {
        "success": False,
        "data": {
            "error_code": code.value,
            "error_type": info.error_type.value,
            "remediation": error.hint or info.remediation,
            "details": details,
            "loop_signal": error_signal(code, repeated=repeated),
            "recommended_actions": error_actions(code, {"session_id": session_id} | details),
        },
        "error": error.message,
        "meta": meta,
    }


def unavailable(error: OSError) -> RefusedError:
    """Return the refusal for what the system did not let us do."""
    what = error.filename if isinstance(error.filename, str) else "The workspace's state"
    return RefusedError(
        ErrorCode.STATE_UNWRITABLE, f"{what} can't be used: {error.strerror or error}."
    )


def code_of(error: RunnerError) -> ErrorCode:
    """Return the code that an error is presented with."""
    if isinstance(error, RefusedError):
        return error.code
    matching = (code for kind, code in _CODES_OF_ERRORS if isinstance(error, kind))
    return next(matching, ErrorCode.INTERNAL)
