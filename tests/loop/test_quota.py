"""Texts that say that a usage limit was hit, when it ends, and texts that only look like it."""

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.quota.messages import is_quota_text, is_usage_limit
from runner.quota.reset_time import reset_time

NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)
DATA = Path(__file__).parent / "data" / "limit_messages.toml"


@dataclass(frozen=True)
class Message:
    """One entry of limit_messages.toml."""

    text: str
    limit: bool
    now: datetime = NOW
    local: str = "UTC"
    resets: datetime | None = None


def _messages() -> list[Message]:
    entries: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["message"]
    return [Message(**entry) for entry in entries]


MESSAGES = _messages()
LIMITS = [message for message in MESSAGES if message.limit]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.text[:60])
def test_a_message_is_told_from_a_trap(message: Message) -> None:
    assert is_quota_text(message.text) is message.limit


@pytest.mark.parametrize("message", LIMITS, ids=lambda message: message.text[:60])
def test_a_limit_is_timed(message: Message) -> None:
    assert reset_time(message.text, message.now, local=ZoneInfo(message.local)) == message.resets


def test_there_are_enough_messages_to_mean_something() -> None:
    assert (len(LIMITS) >= 40, len(MESSAGES) - len(LIMITS) >= 15) == (True, True)


def test_a_time_without_a_zone_is_in_the_zone_of_now_when_no_other_is_given() -> None:
    now = NOW.astimezone(ZoneInfo("Asia/Tokyo"))
    assert reset_time("resets 9am", now) == datetime(2026, 11, 22, 0, tzinfo=UTC)


def test_a_span_is_counted_in_hours_that_pass_not_on_the_clock_that_is_set_back() -> None:
    before = datetime(2026, 11, 1, 0, 30, tzinfo=ZoneInfo("America/New_York"))
    assert reset_time("resets in 2h", before) == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)


_WORDS = st.sampled_from(
    ["resets", "in", "at", "on", "|", "·", "1763740800", "99999999999999", "Nov", "Feb", "30",
     "29,", "2027,", "0000", "9999", "12pm", "0am", "8:35pm", "24:00", "23:59", "(UTC)",
     "(Europe/Paris)", "(../etc/passwd)", "(\x00)", "(UTC+99)", "+99:99", "Z", "2026-02-30", "T",
     "9999-12-31", "999999w", "2h", "mon", "tomorrow", "noon", "(", ")"]
)  # fmt: skip
_ODD_TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(_WORDS, max_size=10).map(" ".join),
    st.lists(_WORDS, max_size=10).map("".join),
)
_MOMENTS = st.datetimes(
    NOW.replace(year=1990, tzinfo=None),
    NOW.replace(year=9990, tzinfo=None),
    timezones=st.timezones(),
)


@settings(max_examples=300, deadline=None)
@given(_ODD_TEXTS, _MOMENTS)
def test_no_text_makes_it_raise_and_every_answer_is_aware(text: str, now: datetime) -> None:
    is_quota_text(text)
    moment = reset_time(f"resets {text}", now)
    assert moment is None or moment.utcoffset() is not None


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 23),
    st.integers(0, 59),
    st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]),
    st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_a_clock_time_is_never_more_than_a_day_and_an_hour_ahead(
    hour: int, minute: int, zone: str, now: datetime
) -> None:
    moment = reset_time(f"resets {hour:02}:{minute:02} ({zone})", now)
    assert moment is not None
    assert -timedelta(minutes=2) < moment - now <= timedelta(hours=25)


@pytest.mark.parametrize(
    "text",
    [
        "Limit reached · resets 6pm (UTC)",
        "Weekly Opus limit reached",
        "You've exceeded your weekly limit",
        "You've used up your 5-hour limit",
        "Usage limit exceeded. Resets at 6pm UTC",
        "You're out of usage",
        "Claude Code usage limit reached",
        "Max plan limit reached",
        "Team usage limit reached",
        "Your organization has reached its monthly usage limit",
        "Your plan's allowance for this month is used up: quota exceeded",
        "API Error: 429 Rate limit reached, resets in 4h 10m",
        "No more credits for this workspace",
        "Account limit hit. Come back at 6pm (UTC)",
    ],
)
def test_a_429_that_speaks_of_a_long_limit_is_a_usage_limit(text: str) -> None:
    assert is_usage_limit(text, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 429 rate_limit_error",
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute",
        "Server is temporarily limiting requests (not your usage limit) · Rate limited",
        "Too many requests. Try again in 20 seconds.",
        "Rate limit reached, try again in 30s",
        "Number of concurrent connections has exceeded your rate limit",
        "Your account's usage increased too quickly: acceleration limit",
        "Overloaded",
        "",
    ],
)
def test_a_429_that_is_over_in_seconds_is_no_usage_limit(text: str) -> None:
    assert not is_usage_limit(text, NOW)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("resets 18h30 (Europe/Paris)", datetime(2026, 11, 22, 17, 30, tzinfo=UTC)),
        ("resets 20h (UTC)", datetime(2026, 11, 21, 20, tzinfo=UTC)),
        ("resets 11/23, 4am (UTC)", datetime(2026, 11, 23, 4, tzinfo=UTC)),
        ("resets 23/11/2026 4am (UTC)", datetime(2026, 11, 23, 4, tzinfo=UTC)),
        ("Come back at 6pm (UTC)", datetime(2026, 11, 21, 18, tzinfo=UTC)),
        ("resets in 2h30m", datetime(2026, 11, 21, 20, 30, tzinfo=UTC)),
    ],
)
def test_further_forms_of_a_reset_are_read(text: str, moment: datetime) -> None:
    assert reset_time(text, NOW) == moment
