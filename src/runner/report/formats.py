"""How a report writes times, amounts and numbers."""

from collections.abc import Mapping
from datetime import UTC, datetime

from runner.text.durations import format_duration
from runner.text.messages import format_cost

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NOTHING = "\N{EN DASH}"
_THOUSAND, _MILLION = 1_000, 1_000_000

INSTRUCTIONS: Mapping[str, str] = {
    "initializer": "Planning",
    "coding": "Coding",
    "remediate": "Mending",
    "review": "Review",
    "sync": "Syncing",
    "verify": "Verifying",
}
STEPS: Mapping[str, str] = {
    "implement_task": "Implement",
    "execute_verification": "Verify",
    "run_fidelity_gate": "Review",
    "address_fidelity_feedback": "Mend findings",
}
OUTCOMES: Mapping[str, str] = {
    "completed": "completed",
    "execution_error": "failed",
    "quota_exceeded": "usage limit",
    "budget_exceeded": "spending limit",
    "max_turns": "limit of turns",
    "timed_out": "timed out",
    "interrupted": "interrupted",
    "crashed": "crashed",
}


def day(moment: datetime) -> str:
    """Return `22 Nov 2026`."""
    at = moment.astimezone(UTC)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def clock(moment: datetime | None) -> str:
    """Return `22 Nov 2026, 04:50:46 UTC`, a dash for None."""
    return NOTHING if moment is None else f"{day(moment)}, {moment.astimezone(UTC):%H:%M:%S} UTC"


def short(moment: datetime) -> str:
    """Return `22 Nov 04:50:46`, in UTC."""
    at = moment.astimezone(UTC)
    return f"{at.day} {_MONTHS[at.month - 1]} {at:%H:%M:%S}"


def iso(moment: datetime) -> str:
    """Return `2026-11-22T04:50:46Z`."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def duration(seconds: float | None) -> str:
    """Return `1h 1m 1s`; tenths below ten seconds, a dash for None."""
    if seconds is None:
        return NOTHING
    return f"{seconds:.1f}s" if 0 < seconds < 10 else format_duration(seconds)


def cost(usd: float) -> str:
    """Return `$0.41`."""
    return format_cost(usd)


def tokens(count: int | None) -> str:
    """Return `812`, `12.3k` or `1.24M`, a dash for None."""
    if count is None:
        return NOTHING
    if count >= _MILLION:
        return f"{count / _MILLION:.2f}M"
    return f"{count / _THOUSAND:.1f}k" if count >= 10 * _THOUSAND else f"{count:,}"


def instruction(name: str) -> str:
    """Return what a session was for, in a word."""
    return INSTRUCTIONS.get(name, name)


def step(name: str) -> str:
    """Return what a step asked for, in a word or two."""
    return STEPS.get(name, name)


def outcome(name: str | None) -> str:
    """Return how a session ended, in a word or two."""
    return "no end known" if name is None else OUTCOMES.get(name, name)
