"""What a session that plans must leave behind."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from runner.deliverables.model import StatusFile
from runner.events import SessionOutcome, SessionResult
from runner.shell_policy.vacuous import vacuous

_HAD_ITS_TURN = frozenset(
    {
        SessionOutcome.COMPLETED,
        SessionOutcome.TIMED_OUT,
        SessionOutcome.BUDGET_EXCEEDED,
        SessionOutcome.MAX_TURNS,
    }
)
"""Ends of a session that was free to plan. Without a plan the next one begins all over again."""


_SHOWN = 200


def idle_commands(file: StatusFile | None, common: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each verification command that can't fail.

    Args:
        file: the plan, None where there is none.
        common: commands that close every phase.
    """
    owners = [("[verification] in .runner/runner.toml", tuple(common))]
    if file is not None:
        owners += [(phase.id, phase.verification) for phase in file.phases]
        owners += [(deliverable.id, deliverable.verification) for deliverable in file.active]
    for owner, commands in owners:
        for command in commands:
            why = vacuous(command)
            if why is not None:
                yield f"The verification command `{command[:_SHOWN]}` of {owner}: {why}"


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
