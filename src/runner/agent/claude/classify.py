"""What the end of an agent session means: SDK result → `SessionResult`.

The SDK's `subtype="success"` says nothing: every API failure carries it too, so `is_error`
is looked at first.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runner.agent.claude.usage import reported_tokens
from runner.events import SessionOutcome, SessionResult
from runner.quota.messages import is_quota_text, is_usage_limit

if TYPE_CHECKING:
    from claude_agent_sdk import RateLimitInfo, ResultMessage

_UNAUTHORIZED = 401
_FORBIDDEN = 403
_NOT_FOUND = 404
_TOO_MANY = 429
# The API's own spending limits come as 400; a limit found before a request has no status.
_QUOTA_STATUSES = (None, 400, _TOO_MANY)
_NO_QUOTA = "not your usage limit"
_LOGGED_OUT = "not logged in"
_NO_CREDIT = "credit balance is too low"
_PAYMENT_REQUIRED = 402
_NO_CREDENTIALS = (
    "There are no API credentials: set ANTHROPIC_API_KEY, or log in with `claude`, and run again."
)
_OUT_OF_CREDIT = (
    "The account has no credit left: buy credit in the billing settings of the Anthropic Console "
    "(platform.claude.com), or use another key, and run again."
)
_REFUSED_KEY = "The API refused the key"
_KEY_HELP = "check ANTHROPIC_API_KEY, or log in with `claude`, and run again"
_ABORTED = frozenset({"aborted_streaming", "aborted_tools"})
_BY_SUBTYPE = {
    "error_max_turns": SessionOutcome.MAX_TURNS,
    "error_max_budget_usd": SessionOutcome.BUDGET_EXCEEDED,
}
_MESSAGES = {
    SessionOutcome.MAX_TURNS: "The session reached its limit of turns.",
    SessionOutcome.BUDGET_EXCEEDED: "The session reached its spending limit.",
    SessionOutcome.INTERRUPTED: "The session was interrupted.",
}


@dataclass(frozen=True, slots=True)
class SessionTail:
    """What was seen before the end: it decides where the result alone does not.

    Attributes:
        last_text: the agent's last words.
        rate_limit: the last rate-limit event, which also comes on successful turns.
        stderr: the last lines the agent process wrote to standard error.
    """

    last_text: str = ""
    rate_limit: "RateLimitInfo | None" = None
    stderr: tuple[str, ...] = ()


def classify_result(message: "ResultMessage", tail: SessionTail) -> SessionResult:
    """Return what a session's result message means."""
    outcome = _outcome(message, tail)
    text = message.result or ("" if message.is_error else tail.last_text)
    return SessionResult(
        outcome=outcome,
        text=text or tail.last_text,
        error=None if outcome is SessionOutcome.COMPLETED else _error(message, outcome),
        cost_usd=message.total_cost_usd or 0.0,
        turns=message.num_turns,
        http_status=message.api_error_status,
        fatal=message.is_error and _is_fatal(message.api_error_status, text),
        quota_resets_at=_resets_at(tail) if outcome is SessionOutcome.QUOTA_EXCEEDED else None,
        tokens=reported_tokens(message.model_usage),
    )


def refused_key(status: int) -> SessionResult:
    """Return the result of a session given up because the API refuses the credentials."""
    return SessionResult(
        outcome=SessionOutcome.EXECUTION_ERROR,
        error=f"{_REFUSED_KEY} (HTTP {status}): {_KEY_HELP}.",
        http_status=status,
        fatal=True,
    )


def crashed(reason: str, tail: SessionTail) -> SessionResult:
    """Return the result of a session whose agent process ended without one."""
    said = f" It last wrote: {tail.stderr[-1]}" if tail.stderr else ""
    return SessionResult(
        outcome=SessionOutcome.CRASHED, text=tail.last_text, error=f"{reason}{said}"
    )


def interrupted(result: SessionResult) -> SessionResult:
    """Return the result of a session that was asked to stop and then ended in any way."""
    return replace(
        result,
        outcome=SessionOutcome.INTERRUPTED,
        error=_MESSAGES[SessionOutcome.INTERRUPTED],
        fatal=False,
    )


def _outcome(message: "ResultMessage", tail: SessionTail) -> SessionOutcome:
    if message.terminal_reason in _ABORTED:
        return SessionOutcome.INTERRUPTED
    if message.subtype in _BY_SUBTYPE:
        return _BY_SUBTYPE[message.subtype]
    if not message.is_error and message.subtype == "success":
        return SessionOutcome.COMPLETED
    if _is_quota(message, tail):
        return SessionOutcome.QUOTA_EXCEEDED
    return SessionOutcome.EXECUTION_ERROR


def _is_quota(message: "ResultMessage", tail: SessionTail) -> bool:
    said = message.result or ""
    if is_quota_text(said):
        return message.api_error_status in _QUOTA_STATUSES
    if message.api_error_status != _TOO_MANY or _NO_QUOTA in said:
        return False
    return _resets_at(tail) is not None or is_usage_limit(said, datetime.now(UTC))


def _resets_at(tail: SessionTail) -> int | None:
    event = tail.rate_limit
    if event is None or event.status != "rejected" or event.rate_limit_type is None:
        return None
    return event.resets_at


def _is_fatal(status: int | None, text: str) -> bool:
    if status in (_UNAUTHORIZED, _PAYMENT_REQUIRED, _FORBIDDEN, _NOT_FOUND):
        return True
    return "invalid api key" in text.lower() or _is_logged_out(text) or _is_without_credit(text)


def _is_without_credit(text: str) -> bool:
    return _NO_CREDIT in text.lower()


def _is_logged_out(text: str) -> bool:
    return text.lower().startswith(_LOGGED_OUT)


def _error(message: "ResultMessage", outcome: SessionOutcome) -> str:
    if outcome in _MESSAGES:
        return _MESSAGES[outcome]
    if message.api_error_status in (_UNAUTHORIZED, _FORBIDDEN):
        return f"{_REFUSED_KEY} (HTTP {message.api_error_status}): {_KEY_HELP}."
    if _is_logged_out(message.result or ""):
        return _NO_CREDENTIALS
    if message.api_error_status == _PAYMENT_REQUIRED or _is_without_credit(message.result or ""):
        return _OUT_OF_CREDIT
    said = message.result or "; ".join(message.errors or ()) or message.subtype
    return said.strip()
