"""Rows of phases, as the end of a run tells them."""

from typing import Any

_ROW: dict[str, Any] = {
    "phase_id": "p",
    "title": "Parsing",
    "tasks_total": 2,
    "tasks_completed": 2,
    "duration_seconds": None,
    "gate_status": "pending",
    "verdict": None,
    "cycles": 0,
    "findings": 0,
    "acknowledged": False,
    "awaits_acknowledgement": False,
    "waiver_reason": None,
    "review_path": None,
    "verified_at": None,
    "receipt_hash": None,
    "receipt_path": None,
    "cost_usd": 0.0,
    "agent_seconds": 0.0,
    "agent_sessions": 0,
    "deliverables": [],
}


def row(**changes: Any) -> dict[str, Any]:
    """A phase that is implemented and not reviewed, with changes."""
    return {**_ROW, **changes}
