"""Whether a phase is still verified by the commands that the session was started with (ADR 0167).

The text of commands is no structure: a change of it stops nothing. It decides what a verification
proves, though, so it is told wherever it counts.
"""

from typing import Any

from runner.autonomy.engine.turn import Draft
from runner.autonomy.enums import EntryType
from runner.autonomy.models import SessionState
from runner.autonomy.spec.structure import Spec


def change_of_commands(state: SessionState, spec: Spec, phase_id: str) -> dict[str, Any] | None:
    """Return what a phase's commands in `status.json` were and are, None when they are the same.

    What they were is their state at the start or the last rebase. A session of before this was
    kept tells of no change, nor do phases that it has never seen.
    """
    agreed = state.agreed_commands
    if agreed is None or all(shape.id != phase_id for shape in state.workflow_structure.phases):
        return None
    was, now = agreed.get(phase_id, ()), spec.own_commands(phase_id)
    if was == now:
        return None
    return {"phase_id": phase_id, "was": list(was), "is": list(now)}


def changed_commands(state: SessionState, spec: Spec) -> list[dict[str, Any]]:
    """Return the changes of all phases, in the order of the spec."""
    changes = (change_of_commands(state, spec, phase.id) for phase in spec.phases)
    return [change for change in changes if change is not None]


def draft_of_change(change: dict[str, Any], step_id: str) -> Draft:
    """Return what the journal says when a step verifies by changed commands."""
    return Draft(
        EntryType.SESSION,  # a step entry would count as a report of one
        "Verification commands changed",
        warning_of_change(change),
        {**change, "step_id": step_id},
    )


def warning_of_change(change: dict[str, Any]) -> str:
    """Say it in one sentence."""
    return (
        f"The verification commands of {change['phase_id']} were changed in status.json since the "
        f"session's start or last rebase: they were {_listed(change['was'])}; they are "
        f"{_listed(change['is'])}."
    )


def _listed(commands: list[str]) -> str:
    return ", ".join(f"`{command}`" for command in commands) or "none"
