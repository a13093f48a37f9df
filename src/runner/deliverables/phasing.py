"""Phases as they are planned: recorded in working order, and never waiting for a later one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.errors import DeliverableError
from runner.text.safe import is_visible

# Phase ids become parts of file names.
PHASE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"

_PHASE = re.compile(PHASE_PATTERN)
_MAX_TITLE_LENGTH = 200
_MAX_COMMAND_LENGTH = 4000
_MAX_COMMANDS = 100


@dataclass(frozen=True, slots=True)
class PhaseDraft:
    """A phase to be recorded, before any rule was applied to it."""

    id: str
    title: str
    verification: tuple[str, ...] = ()


def is_phase_id(text: str) -> bool:
    """Whether a new phase may be called so."""
    return _PHASE.fullmatch(text) is not None


def add_phases(
    file: StatusFile, drafts: Sequence[PhaseDraft], added: Sequence[Deliverable]
) -> StatusFile:
    """Return `file` with the phases recorded, in the order in which to work on them.

    Phases that only the new deliverables name follow behind the given ones. A plan that names
    no phase at all leaves the file without any.

    Args:
        file: the deliverables, those of `added` among them.
        drafts: the phases as planned.
        added: the deliverables that are new.

    Raises:
        DeliverableError: a phase is wrong, or one of `added` waits for a later phase.
    """
    known = {phase.id for phase in file.phases}
    phases = list(file.phases)
    for draft in drafts:
        phases.append(_accept(draft, known))
        known.add(draft.id)
    _check_used(file, drafts)
    if drafts:
        _check_named(added, known)
    if phases or any(d.phase for d in added):
        mentioned = dict.fromkeys(d.phase_id for d in file.deliverables)
        phases += [Phase(i, i) for i in mentioned if i not in known]
    result = replace(file, phases=tuple(phases))
    _check_order(result, added)
    return result


def _accept(draft: PhaseDraft, known: set[str]) -> Phase:
    if not is_phase_id(draft.id):
        _refuse(
            f"{draft.id[:80]!r} is not a valid phase id",
            "Use letters, digits, hyphens and underscores only, e.g. phase-1.",
        )
    if draft.id in known:
        _refuse(
            f"The phase {draft.id} exists already, or is given twice",
            "Leave it out of phases; deliverables may name it all the same.",
        )
    title = " ".join(draft.title.split())
    if not title or len(title) > _MAX_TITLE_LENGTH or not is_visible(title):
        _refuse(
            f"The phase {draft.id} needs a title of 1 to {_MAX_TITLE_LENGTH} visible characters",
            "Say in a few words what exists when it is done.",
        )
    return Phase(draft.id, title, tuple(_command(draft, c) for c in draft.verification))


def _command(draft: PhaseDraft, command: str) -> str:
    text = command.strip()
    is_long = len(text) > _MAX_COMMAND_LENGTH or len(draft.verification) > _MAX_COMMANDS
    if not text or is_long or not is_visible(text):
        _refuse(
            f"The phase {draft.id} has a verification command that can't be used",
            "Give plain shell commands, or leave verification out.",
        )
    return text


def _check_used(file: StatusFile, drafts: Iterable[PhaseDraft]) -> None:
    used = {d.phase_id for d in file.active}
    for draft in drafts:
        if draft.id not in used:
            _refuse(
                f"No deliverable belongs to the phase {draft.id}",
                f'Give the deliverables of it "phase": "{draft.id}", or leave the phase out.',
            )


def _check_named(added: Iterable[Deliverable], known: set[str]) -> None:
    """With phases given, a deliverable of another one is a slip: it would come last, untitled."""
    for deliverable in added:
        if deliverable.phase_id not in known:
            _refuse(
                f"{deliverable.id} belongs to the phase {deliverable.phase_id}, "
                "which is not among phases",
                f"Add that phase, or name one of {', '.join(sorted(known))}.",
            )


def _check_order(file: StatusFile, added: Iterable[Deliverable]) -> None:
    """Phases are finished one after another, so nothing can wait for a later one."""
    rank = {phase.id: number for number, phase in enumerate(file.ordered_phases)}
    found = {d.id: d for d in file.deliverables}
    for deliverable in added:
        for name in deliverable.depends_on:
            other = found[name]
            is_met = other.status is Status.PASSED or not other.is_active
            if not is_met and rank[other.phase_id] > rank[deliverable.phase_id]:
                _refuse(
                    f"{deliverable.id} of the phase {deliverable.phase_id} depends on {name} of "
                    f"the later phase {other.phase_id}, so it could never begin",
                    "Move one of the two, or order the phases the other way round.",
                )


def _refuse(what: str, hint: str) -> NoReturn:
    raise DeliverableError(f"{what}. Nothing was created.", hint=hint)
