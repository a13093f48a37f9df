"""Options of a run that the session it takes up does not follow: it keeps what it began with."""

from collections.abc import Mapping
from typing import Any

from runner.events import Notice

_OPTIONS = {
    "gate_policy": "--gate-policy",
    "gates_required": "--no-gates",
    "max_consecutive_errors": "--max-consecutive-errors",
    "max_fidelity_review_cycles_per_phase": "--max-review-cycles",
}


def unheeded(wanted: Mapping[str, Any], view: Mapping[str, Any]) -> Notice | None:
    """Return a warning that names the options without effect, None when all are in force.

    Args:
        wanted: what `session start` would be told now.
        view: the session that is there, as `session status` shows it.
    """
    in_force = {**(view.get("limits") or {}), **view}
    differing = [
        _OPTIONS[name] if value is False else f"{_OPTIONS[name]} {value} (it has {in_force[name]})"
        for name, value in wanted.items()
        if name in _OPTIONS and in_force.get(name, value) != value
    ]
    if not differing:
        return None
    session_id = view["session_id"]
    return Notice(
        "warning",
        f"The autonomous session {session_id} keeps what it was started with; without effect: "
        + ", ".join(differing),
        f"To begin a new one with them: runner session end --session-id {session_id}, then "
        "`runner run` again; what has passed stays passed.",
    )
