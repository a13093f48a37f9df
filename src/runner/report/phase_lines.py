"""What is told of a phase: its verification, its gate, and what it took. Rows: `loop.phases`."""

from collections.abc import Mapping
from typing import Any

from runner.records.phases import is_closed, is_proved
from runner.text.durations import format_duration
from runner.text.messages import format_cost, plural
from runner.text.safe import inert

_REASON_LIMIT = 120


def progress_text(row: Mapping[str, Any]) -> str:
    """Return how many deliverables of a phase are done, or only claimed to be."""
    word = "passed" if is_closed(row) else "claimed"
    return f"{row['tasks_completed']}/{row['tasks_total']} {word}"


def standing(row: Mapping[str, Any]) -> list[str]:
    """Return how verification and gate of a phase stand, in a few words each."""
    parts = ["verified"] if row["verified_at"] else []
    parts.append(gate_text(row))
    if row["duration_seconds"] is not None:
        if not is_proved(row):
            parts.append("nothing proved")
        parts.append(f"closed after {format_duration(row['duration_seconds'])}")
    return parts


def gate_text(row: Mapping[str, Any]) -> str:
    """Return how the gate of a phase stands; nothing in it acts on a terminal."""
    status, verdict = row["gate_status"], row["verdict"]
    if status is None:
        return "no gate"
    if status == "waived":
        return f"gate waived: {inert(row['waiver_reason'] or 'no reason given', _REASON_LIMIT)}"
    if verdict is None:
        return "not reviewed yet"
    parts = [verdict]
    if row["acknowledged"]:
        parts.append("acknowledged by a person")
    if row["findings"]:
        parts.append(plural(row["findings"], "finding"))
    if row["cycles"] > 1:
        parts.append(plural(row["cycles"], "review"))
    if status == "pending":
        waits = row["awaits_acknowledgement"]
        status = "waits for a person" if waits else "not settled"
    return f"gate {status} ({', '.join(parts)})"


def effort_text(row: Mapping[str, Any]) -> str:
    """Return what something took, empty when no session worked on it."""
    if not row["agent_sessions"]:
        return ""
    took = format_duration(row["agent_seconds"])
    sessions = plural(row["agent_sessions"], "session")
    return f"{sessions}, {took}, {format_cost(row['cost_usd'])}"
