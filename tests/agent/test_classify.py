"""What the end of a session means, over the SDK's result objects."""

from typing import Any

import pytest
from claude_agent_sdk import RateLimitInfo, ResultMessage

from runner.agent.claude.classify import (
    SessionTail,
    classify_result,
    crashed,
    interrupted,
    refused_key,
)
from runner.events import SessionOutcome, SessionResult

RESET = 1_800_000_000
REJECTED = RateLimitInfo("rejected", resets_at=RESET, rate_limit_type="five_hour")
LIMIT = "You've hit your session limit · resets 10:52pm (UTC)"
BUSY = "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited"


def result(**changes: Any) -> ResultMessage:
    given: dict[str, Any] = {
        "subtype": "success",
        "duration_ms": 1,
        "duration_api_ms": 1,
        "is_error": False,
        "num_turns": 3,
        "session_id": "s",
        "total_cost_usd": 0.25,
        "result": "Done.",
        "terminal_reason": "completed",
    }
    return ResultMessage(**(given | changes))


def failed(text: str | None, status: int | None, **changes: Any) -> ResultMessage:
    """Every API failure comes as subtype «success»."""
    return result(
        is_error=True,
        result=text,
        api_error_status=status,
        terminal_reason="api_error",
        **changes,
    )


CASES = {
    "done": (result(), None, SessionOutcome.COMPLETED),
    "done without a terminal reason": (
        result(terminal_reason=None),
        None,
        SessionOutcome.COMPLETED,
    ),
    "success that is an error": (
        failed("API Error: 500", 500),
        None,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "an error that says nothing": (failed(None, None), None, SessionOutcome.EXECUTION_ERROR),
    "prompt too long": (
        result(is_error=True, terminal_reason="prompt_too_long", result="Prompt is too long"),
        None,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "error during execution": (
        result(subtype="error_during_execution", is_error=True, result=None, errors=["lost"]),
        None,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "an unknown subtype without is_error": (
        result(subtype="error_of_tomorrow"),
        None,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "refused key": (failed("Please run /login", 401), None, SessionOutcome.EXECUTION_ERROR),
    "quota by its text": (failed(LIMIT, 429), None, SessionOutcome.QUOTA_EXCEEDED),
    "quota by its text, found before a request": (
        failed(LIMIT, None),
        None,
        SessionOutcome.QUOTA_EXCEEDED,
    ),
    "quota of an API key, which comes as a bad request": (
        failed("API Error: 400 You have reached your specified API usage limits.", 400),
        None,
        SessionOutcome.QUOTA_EXCEEDED,
    ),
    "quota by its event": (failed("API Error: 429", 429), REJECTED, SessionOutcome.QUOTA_EXCEEDED),
    "429 alone": (failed("API Error: 429", 429), None, SessionOutcome.EXECUTION_ERROR),
    "429 that denies to be quota": (failed(BUSY, 429), None, SessionOutcome.EXECUTION_ERROR),
    "429 that denies to be quota, after overage": (
        failed(BUSY, 429),
        REJECTED,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "429 after a mere warning": (
        failed("API Error: 429", 429),
        RateLimitInfo("allowed_warning", resets_at=RESET, rate_limit_type="five_hour"),
        SessionOutcome.EXECUTION_ERROR,
    ),
    "429 with an event that names no window": (
        failed("API Error: 429", 429),
        RateLimitInfo("rejected", resets_at=RESET),
        SessionOutcome.EXECUTION_ERROR,
    ),
    "429 with an event that has no end": (
        failed("API Error: 429", 429),
        RateLimitInfo("rejected", rate_limit_type="five_hour"),
        SessionOutcome.EXECUTION_ERROR,
    ),
    "a rejected event and a successful result": (result(), REJECTED, SessionOutcome.COMPLETED),
    "a rejected event and another failure": (
        failed("API Error: 500", 500),
        REJECTED,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "a model that talks about limits": (result(result=LIMIT), None, SessionOutcome.COMPLETED),
    "a limit's text with another status": (
        failed(LIMIT, 500),
        None,
        SessionOutcome.EXECUTION_ERROR,
    ),
    "budget": (
        result(subtype="error_max_budget_usd", is_error=True, result=None),
        None,
        SessionOutcome.BUDGET_EXCEEDED,
    ),
    "budget without is_error": (
        result(subtype="error_max_budget_usd", result=None),
        None,
        SessionOutcome.BUDGET_EXCEEDED,
    ),
    "turns": (
        result(subtype="error_max_turns", is_error=True, result=None),
        None,
        SessionOutcome.MAX_TURNS,
    ),
    "interrupted while it wrote": (
        result(subtype="error_during_execution", terminal_reason="aborted_streaming"),
        None,
        SessionOutcome.INTERRUPTED,
    ),
    "interrupted in a tool": (
        result(is_error=True, terminal_reason="aborted_tools"),
        None,
        SessionOutcome.INTERRUPTED,
    ),
}


@pytest.mark.parametrize(("message", "event", "outcome"), CASES.values(), ids=CASES.keys())
def test_the_outcome(
    message: ResultMessage, event: RateLimitInfo | None, outcome: SessionOutcome
) -> None:
    assert classify_result(message, SessionTail(rate_limit=event)).outcome is outcome


@pytest.mark.parametrize(("message", "event", "outcome"), CASES.values(), ids=CASES.keys())
def test_a_sentence_says_what_went_wrong_if_something_did(
    message: ResultMessage, event: RateLimitInfo | None, outcome: SessionOutcome
) -> None:
    error = classify_result(message, SessionTail(rate_limit=event)).error
    assert bool(error) is (outcome is not SessionOutcome.COMPLETED)


@pytest.mark.parametrize(
    ("text", "status", "fatal"),
    [
        ("Please run /login", 401, True),
        ("Payment required", 402, True),
        ("Credit balance is too low", 400, True),
        ("API Error: 403", 403, True),
        ("There's an issue with the selected model", 404, True),
        ("Invalid API key · Fix external API key", None, True),
        ("API Error: 429", 429, False),
        ("API Error: 500", 500, False),
        ("API Error: 529 overloaded", 529, False),
        ("API Error: Connection refused", None, False),
    ],
)
def test_only_what_trying_again_can_not_mend_is_fatal(
    text: str, status: int | None, fatal: bool
) -> None:
    assert classify_result(failed(text, status), SessionTail()).fatal is fatal


def test_a_success_is_never_fatal() -> None:
    talk = result(result="The test for an invalid API key passes now.")
    assert not classify_result(talk, SessionTail()).fatal


def test_the_time_of_a_reset_is_passed_on_with_a_quota_only() -> None:
    tail = SessionTail(rate_limit=REJECTED)
    times = [
        classify_result(message, tail).quota_resets_at
        for message in (failed("429", 429), failed(LIMIT, 429), failed("500", 500), result())
    ]
    assert times == [RESET, RESET, None, None]


def test_cost_and_turns_are_passed_on() -> None:
    given = classify_result(result(), SessionTail())
    assert (given.cost_usd, given.turns) == (0.25, 3)


def test_an_unknown_cost_counts_as_none() -> None:
    assert classify_result(result(total_cost_usd=None), SessionTail()).cost_usd == 0.0


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (result(), "Done."),
        (result(result=None), "last words"),
        (failed("API Error: 500", 500), "API Error: 500"),
        (failed(None, 500), "last words"),
    ],
)
def test_the_last_words_stand_in_for_a_result_without_text(
    message: ResultMessage, text: str
) -> None:
    assert classify_result(message, SessionTail(last_text="last words")).text == text


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_says_what_to_do(status: int) -> None:
    error = str(classify_result(failed("…", status), SessionTail()).error)
    assert f"HTTP {status}" in error
    assert "ANTHROPIC_API_KEY" in error


def test_a_session_given_up_on_a_refused_key_is_fatal() -> None:
    given = refused_key(401)
    assert (given.outcome, given.fatal, given.http_status) == (
        SessionOutcome.EXECUTION_ERROR,
        True,
        401,
    )


def test_the_errors_of_a_result_without_text_are_told() -> None:
    message = result(
        subtype="error_during_execution", is_error=True, result=None, errors=["one", "two"]
    )
    assert classify_result(message, SessionTail()).error == "one; two"


def test_a_crash_quotes_the_last_line_of_standard_error() -> None:
    given = crashed("The agent process failed.", SessionTail("words", stderr=("a", "b")))
    assert (given.outcome, given.text) == (SessionOutcome.CRASHED, "words")
    assert given.error == "The agent process failed. It last wrote: b"


def test_what_follows_an_interrupt_is_neither_a_failure_nor_fatal() -> None:
    given = interrupted(
        SessionResult(SessionOutcome.EXECUTION_ERROR, cost_usd=1.5, fatal=True, error="x")
    )
    assert (given.outcome, given.fatal, given.cost_usd) == (SessionOutcome.INTERRUPTED, False, 1.5)


@pytest.mark.parametrize(("text", "status"), [("Credit balance is too low", 400), ("no", 402)])
def test_an_account_without_credit_is_sent_to_billing(text: str, status: int) -> None:
    error = classify_result(failed(text, status), SessionTail()).error
    assert error is not None
    assert "buy credit" in error
