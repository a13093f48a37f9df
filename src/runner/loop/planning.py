"""What a session that plans must leave behind."""

from dataclasses import replace

from runner.deliverables.model import StatusFile
from runner.loop.events import SessionOutcome, SessionResult

_HAD_ITS_TURN = frozenset(
    {
        SessionOutcome.COMPLETED,
        SessionOutcome.TIMED_OUT,
        SessionOutcome.BUDGET_EXCEEDED,
        SessionOutcome.MAX_TURNS,
    }
)
"""Ends of a session that was free to plan. Without a plan the next one begins all over again."""


def planned(result: SessionResult, file: StatusFile | None) -> SessionResult:
    """Return the result as it counts: a session without an active deliverable has failed.

    So it is tried again as often as any failed session, and not for ever.

    Args:
        result: what the session says of itself.
        file: the deliverables after it.
    """
    if result.outcome not in _HAD_ITS_TURN or (file is not None and file.active):
        return result
    said = "The planning session ended without an active deliverable."
    if result.outcome is not SessionOutcome.COMPLETED and result.error:
        said = f"{said} {result.error}"
    return replace(result, outcome=SessionOutcome.EXECUTION_ERROR, error=said)
