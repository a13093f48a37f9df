"""Durations, times and amounts as people read them (seed 001 §3.5)."""

import math
from datetime import UTC, datetime

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def format_duration(seconds: float) -> str:
    """Return whole hours, minutes and seconds without zero parts: `1h 1m 1s`, `1h`, `0s`."""
    hours, rest = divmod(max(0, math.floor(seconds)), _HOUR)
    minutes, secs = divmod(rest, _MINUTE)
    parts = ((hours, "h"), (minutes, "m"), (secs, "s"))
    return " ".join(f"{value}{unit}" for value, unit in parts if value) or "0s"


def format_remaining(seconds: float) -> str:
    """Return a wait as `2h 44m`, `44m 10s` or `10s`: from an hour on, seconds are noise."""
    whole = max(0, math.ceil(seconds))
    if whole >= _HOUR:
        whole -= whole % _MINUTE
    return format_duration(whole)


def format_reset_time(resets_at: float, now: float) -> str:
    """Return `6:00 PM UTC`, with the date when it is a day or more away.

    Args:
        resets_at: seconds since the epoch.
        now: seconds since the epoch.
    """
    try:
        moment = datetime.fromtimestamp(resets_at, UTC)
    except (OverflowError, OSError, ValueError):
        return "an unknown time"
    # Not %p and %b: those follow the locale.
    clock = f"{moment.hour % 12 or 12}:{moment.minute:02} {'AM' if moment.hour < 12 else 'PM'} UTC"
    return clock if resets_at - now < _DAY else f"{clock} on {moment:%Y-%m-%d}"
