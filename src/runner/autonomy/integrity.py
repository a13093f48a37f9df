"""What it means that stored state was tampered with: two errors without recovery.

Both are kinds of a damaged session, so that everything which fails closed for that does so here,
but with codes of their own, and `resume --force` does not recreate them: only `reset` helps.
"""

from runner.errors import StateCorruptError

_UNSEALED = (
    "Did the project move, or the user, HOME or XDG_STATE_HOME change? Then undo that, or give the "
    "session up: runner session reset --session-id {session_id}, and start a new one; the "
    "deliverables keep their status, gates are reviewed again. If nothing of the kind happened, "
    "find out first who changed the file."
)
_HINT = (
    "Find out who changed it. Then remove the session and start a new one: runner session reset "
    "--session-id {session_id}. The deliverables keep their status; gates are reviewed again."
)


class SessionIntegrityError(StateCorruptError):
    """The stored session is not what this control plane wrote last.

    Args:
        message: one sentence that says what does not fit.
        session_id: the session, for the hint.
    """

    _hint = _HINT

    def __init__(self, message: str, session_id: str) -> None:
        super().__init__(message, hint=self._hint.format(session_id=session_id))


class SealBrokenError(SessionIntegrityError):
    """The session's file lost its seal, or the seal does not fit (GATE_INTEGRITY_CHECKSUM)."""

    _hint = _UNSEALED


class AuditError(SessionIntegrityError):
    """A well-sealed session does not fit its gates' evidence or its past (GATE_AUDIT_FAILURE)."""
