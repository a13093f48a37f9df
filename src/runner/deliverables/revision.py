"""Correct a plan on which no work has begun: the whole of it is made anew, or nothing is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.deliverables.phasing import PhaseDraft
from runner.deliverables.transitions import Draft, create, require
from runner.errors import DeliverableError


def revise(
    file: StatusFile,
    drafts: Sequence[Draft],
    phases: Sequence[PhaseDraft] = (),
    remove: Sequence[str] = (),
) -> StatusFile:
    """Return `file` with `drafts` and `phases` in it, and without what is to be removed.

    Those with a known id replace the old ones. What is replaced keeps its place, what is new
    follows. Phases that nothing belongs to any more are dropped. Where all phases are given, they
    get the given order.

    Raises:
        DeliverableError: work has begun, an id to be removed is unknown, or the plan would break a
            rule of `create`.
    """
    _require_not_begun(file)
    if not (drafts or phases or remove):
        raise DeliverableError("There is nothing to change.", hint="Give at least one deliverable.")
    if len({draft.id for draft in drafts}) < len(drafts):
        raise DeliverableError(
            "An id is given twice. Nothing was created.", hint="Give each deliverable once."
        )
    gone = {require(file, deliverable_id).id for deliverable_id in remove}
    merged: dict[str, Draft] = {d.id: _draft_of(d) for d in file.deliverables if d.id not in gone}
    merged |= {draft.id: draft for draft in drafts}
    return _remade(file, merged, phases)


def _remade(
    file: StatusFile, merged: Mapping[str, Draft], phases: Sequence[PhaseDraft]
) -> StatusFile:
    empty = replace(file, deliverables=(), phases=())
    return create(empty, tuple(merged.values()), _merged_phases(file, merged, phases))


def _merged_phases(
    file: StatusFile, merged: Mapping[str, Draft], given: Sequence[PhaseDraft]
) -> tuple[PhaseDraft, ...]:
    used = {draft.phase for draft in merged.values()}
    old = {phase.id: _phase_draft_of(phase) for phase in file.phases}
    new = {phase.id: phase for phase in given}
    everything = {**new, **old, **new} if old.keys() <= new.keys() else {**old, **new}
    return tuple(p for p in everything.values() if p.id in used or p.id in new)


def _require_not_begun(file: StatusFile) -> None:
    begun = [d.id for d in file.active if d.status is not Status.PENDING]
    if begun:
        raise DeliverableError(
            f"Work has begun ({', '.join(begun[:5])}), so the plan can't be corrected here.",
            hint="`runner sync` changes a plan under way.",
        )


def _draft_of(deliverable: Deliverable) -> Draft:
    return Draft(
        deliverable.id,
        deliverable.description,
        deliverable.acceptance_criteria,
        deliverable.phase,
        deliverable.depends_on,
        deliverable.verification,
    )


def _phase_draft_of(phase: Phase) -> PhaseDraft:
    return PhaseDraft(phase.id, phase.title, phase.verification)
