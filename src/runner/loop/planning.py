"""What a session that plans must leave behind."""

from dataclasses import replace

from runner.deliverables.model import StatusFile
from runner.loop.events import SessionOutcome, SessionResult


def planned(result: SessionResult, file: StatusFile | None) -> SessionResult:
    """Return the result as it counts: a plan without an active deliverable has failed.

    Args:
        result: what the session says of itself.
        file: the deliverables after it.
    """
    if result.outcome is not SessionOutcome.COMPLETED or (file is not None and file.active):
        return result
    return replace(
        result,
        outcome=SessionOutcome.EXECUTION_ERROR,
        error="The planning session ended without an active deliverable.",
    )
