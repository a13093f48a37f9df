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
_NAMED = 5
COVER = "Add commands to [verification] in .runner/runner.toml, or have the plan name some."


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


def uncovered_phases(file: StatusFile | None, common: Sequence[str] = ()) -> str | None:
    """Return a sentence that names the phases without any verification command, None without one.

    Args:
        file: the plan, None where there is none.
        common: commands that close every phase.
    """
    if file is None or common:
        return None
    found = [
        phase.id
        for phase in file.ordered_phases
        if (work := file.of_phase(phase.id))
        and not phase.verification
        and not any(item.verification for item in work)
    ]
    if not found:
        return None
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (
        f"No verification command covers {', '.join(found[:_NAMED])}{more}: runner runs nothing that "
        "shows whether the work is done"
    )


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
