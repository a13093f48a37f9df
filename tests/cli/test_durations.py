from datetime import UTC, datetime

import pytest

from runner.text.durations import (
    format_duration,
    format_remaining,
    format_reset_time,
)
from runner.text.messages import format_cost, plural

SIX_PM = datetime(2026, 11, 21, 18, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.9, "0s"),
        (5, "5s"),
        (59.99, "59s"),
        (60, "1m"),
        (83, "1m 23s"),
        (3600, "1h"),
        (3605, "1h 5s"),
        (3661, "1h 1m 1s"),
        (360_000, "100h"),
        (-3, "0s"),
    ],
)
def test_durations_leave_out_zero_parts(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(9840, "2h 44m"), (9899, "2h 44m"), (3599.5, "1h"), (61, "1m 1s"), (0.2, "1s"), (-1, "0s")],
)
def test_remaining_time_has_minutes_from_an_hour_on(seconds: float, text: str) -> None:
    assert format_remaining(seconds) == text


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (0, "6:00 PM UTC"),
        (6 * 3600, "12:00 AM UTC"),
        (-6 * 3600, "12:00 PM UTC"),
        (-9 * 3600 + 300, "9:05 AM UTC"),
    ],
)
def test_reset_times_are_twelve_hour_utc(offset: int, text: str) -> None:
    assert format_reset_time(SIX_PM + offset, SIX_PM + offset - 60) == text


def test_a_reset_days_away_has_its_date() -> None:
    assert format_reset_time(SIX_PM, SIX_PM - 90_000) == "6:00 PM UTC on 2026-11-21"


def test_an_impossible_reset_time_is_said_to_be_unknown() -> None:
    assert format_reset_time(1e30, 0) == "an unknown time"


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0, "$0.00"), (0.412, "$0.41"), (0.0042, "$0.0042"), (0.00001, "<$0.0001"), (12.5, "$12.50")],
)
def test_small_costs_are_not_rounded_to_nothing(usd: float, text: str) -> None:
    assert format_cost(usd) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 tools"), (1, "1 tool"), (7, "7 tools")])
def test_plural(count: int, text: str) -> None:
    assert plural(count, "tool") == text
