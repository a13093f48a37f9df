"""The state machine of deliverables, as pure functions from one `StatusFile` to the next.

A refused change raises `DeliverableError`. An agent reads its text, so it says why and what
to do instead. Asking for what already holds changes nothing and is not an error, except in
`create`: an id that exists is refused even with the same content, because a planner that
creates something twice has lost track and should look at the list.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NoReturn

from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.deliverables.phasing import PhaseDraft, add_phases, is_phase_id
from runner.errors import DeliverableError
from runner.text.safe import is_visible

# Ids that are created here: {TYPE}-{NNN} (seed 001 §4.2). Ids in a file may be anything.
ID_PATTERN = r"^[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*-[0-9]{3,}$"

_ID = re.compile(ID_PATTERN)
_MAX_ID_LENGTH = 64
_MAX_TEXT_LENGTH = 4000
_MAX_TEXTS = 100
# Everything else below U+0020, DEL, C1 and lone surrogates could upset a terminal or a file.

# From which status to which; a deliverable can be blocked only while it has not passed
# (seed 001 §3.4).
_ALLOWED: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.PASSED, Status.BLOCKED}),
    Status.PASSED: frozenset({Status.PENDING}),
    Status.BLOCKED: frozenset({Status.PENDING, Status.PASSED}),
}


@dataclass(frozen=True, slots=True)
class DeliverableDraft:
    """A deliverable to be created, before any rule was applied to it."""

    id: str
    description: str
    acceptance_criteria: tuple[str, ...]
    phase: str | None = None
    depends_on: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()


def set_status(
    file: StatusFile, deliverable_id: str, status: Status, *, reason: str | None = None
) -> StatusFile:
    """Return `file` with one deliverable's status changed.

    Args:
        file: the deliverables.
        deliverable_id: which one.
        status: the new one.
        reason: why it is blocked; for any other status it is dropped.

    Raises:
        DeliverableError: unknown or deprecated deliverable, or a passed one to be blocked.
    """
    deliverable = require_active(file, deliverable_id)
    kept = reason or deliverable.blocked_reason if status is Status.BLOCKED else None
    if (deliverable.status, deliverable.blocked_reason) == (status, kept):
        return file
    if deliverable.status is status:
        return _put(file, replace(deliverable, blocked_reason=kept))
    if status not in _ALLOWED[deliverable.status]:
        raise DeliverableError(
            f"{deliverable_id} has passed, and what has passed can't be blocked.",
            hint=f"If it no longer works, set {deliverable_id} to pending first.",
        )
    return _put(file, replace(deliverable, status=status, blocked_reason=kept))


def deprecate(file: StatusFile, deliverable_id: str, today: date) -> StatusFile:
    """Return `file` with one deliverable marked as removed from the spec.

    Its record and status stay. Deprecating it again keeps the first date.

    Raises:
        DeliverableError: unknown deliverable.
    """
    deliverable = require(file, deliverable_id)
    if not deliverable.is_active:
        return file
    return _put(file, replace(deliverable, deprecated_at=today))


def create(
    file: StatusFile, drafts: Sequence[DeliverableDraft], phases: Sequence[PhaseDraft] = ()
) -> StatusFile:
    """Return `file` with all `drafts` added, pending, in the given order, and their phases.

    It is all or nothing. White space around texts is taken off, line breaks in a description
    become spaces, and repeated dependencies are named once.

    Raises:
        DeliverableError: any rule is broken by any of the drafts.
    """
    if not drafts:
        raise DeliverableError("There is nothing to create.", hint="Give at least one deliverable.")
    known = {d.id for d in file.deliverables}
    for draft in drafts:
        _check_id(draft.id, known)
        known.add(draft.id)
    added = tuple(_accept(draft, known) for draft in drafts)
    result = replace(file, deliverables=(*file.deliverables, *added))
    _check_cycles(result, [d.id for d in added])
    return add_phases(result, phases, added)


def require(file: StatusFile, deliverable_id: str) -> Deliverable:
    """Return the deliverable, deprecated or not. Raises DeliverableError when there is none."""
    found = file.find(deliverable_id)
    if found is None:
        ids = _some(d.id for d in file.active)
        raise DeliverableError(
            f"There is no deliverable {deliverable_id[:80]!r}.",
            hint=f"Use one of these ids: {ids}." if ids else "There are no deliverables yet.",
        )
    return found


def require_active(file: StatusFile, deliverable_id: str) -> Deliverable:
    """Return the deliverable. Raises DeliverableError when it is unknown or deprecated."""
    found = require(file, deliverable_id)
    if found.deprecated_at is not None:
        raise DeliverableError(
            f"{deliverable_id} was deprecated on {found.deprecated_at.isoformat()}; "
            "it is no longer part of the spec and can't change.",
            hint="Leave it as it is and go on with an active deliverable.",
        )
    return found


def _put(file: StatusFile, changed: Deliverable) -> StatusFile:
    return replace(
        file,
        deliverables=tuple(changed if d.id == changed.id else d for d in file.deliverables),
    )


def _check_id(draft_id: str, known: set[str]) -> None:
    if not _ID.fullmatch(draft_id) or len(draft_id) > _MAX_ID_LENGTH:
        raise DeliverableError(
            f"{draft_id[:80]!r} is not a valid id.",
            hint="Use an upper-case type, a hyphen and at least three digits, e.g. UI-001.",
        )
    if draft_id in known:
        raise DeliverableError(
            f"{draft_id} exists already, and ids are never used twice. Nothing was created.",
            hint=f"Leave it out, or give the new one a free id such as {_free_id(draft_id, known)}.",
        )


def _free_id(taken: str, known: set[str]) -> str:
    prefix, _, digits = taken.rpartition("-")
    numbers = [_number(i, prefix) for i in known]
    return f"{prefix}-{max([*numbers, int(digits)]) + 1:0{len(digits)}d}"


def _number(deliverable_id: str, prefix: str) -> int:
    start, _, digits = deliverable_id.rpartition("-")
    return int(digits) if start == prefix and digits.isascii() and digits.isdigit() else 0


def _accept(draft: DeliverableDraft, known: set[str]) -> Deliverable:
    _check_phase(draft)
    _check_dependencies(draft, known)
    if not draft.acceptance_criteria:
        _refuse(draft, "has no acceptance criteria", "Give at least one that can be checked.")
    return Deliverable(
        id=draft.id,
        description=" ".join(_text(draft, "description", draft.description).split()),
        acceptance_criteria=_texts(draft, "acceptanceCriteria", draft.acceptance_criteria),
        phase=draft.phase,
        depends_on=tuple(dict.fromkeys(draft.depends_on)),
        verification=_texts(draft, "verification", draft.verification),
    )


def _check_phase(draft: DeliverableDraft) -> None:
    if draft.phase is not None and not is_phase_id(draft.phase):
        _refuse(
            draft,
            f"has the phase {draft.phase[:80]!r}, which is not a valid phase id",
            "Use letters, digits, hyphens and underscores only, e.g. phase-1.",
        )


def _check_dependencies(draft: DeliverableDraft, known: set[str]) -> None:
    if draft.id in draft.depends_on:
        _refuse(draft, "depends on itself", "Take its own id out of dependsOn.")
    unknown = [i for i in draft.depends_on if i not in known]
    if unknown:
        _refuse(
            draft,
            f"depends on unknown ids: {_some(unknown)}",
            "Name existing deliverables, or create those in the same call.",
        )


def _texts(draft: DeliverableDraft, name: str, values: Iterable[str]) -> tuple[str, ...]:
    texts = tuple(_text(draft, name, value) for value in values)
    if len(texts) > _MAX_TEXTS:
        _refuse(draft, f"has {len(texts)} entries in {name}", "Cut it into several deliverables.")
    return texts


def _text(draft: DeliverableDraft, name: str, value: str) -> str:
    if len(value) > _MAX_TEXT_LENGTH:
        _refuse(
            draft,
            f"has a text of {len(value)} characters in {name}",
            f"Say it in at most {_MAX_TEXT_LENGTH}; every later prompt carries it.",
        )
    stripped = value.strip()
    if not stripped:
        _refuse(draft, f"has an empty text in {name}", "Write what is meant, or leave it out.")
    if not is_visible(stripped):
        _refuse(draft, f"has invisible or control characters in {name}", "Use plain text.")
    return stripped


def _refuse(draft: DeliverableDraft, what: str, hint: str) -> NoReturn:
    raise DeliverableError(f"{draft.id} {what}. Nothing was created.", hint=hint)


def _check_cycles(file: StatusFile, starts: Iterable[str]) -> None:
    """Refuse a circle of dependencies through a new deliverable; no recursion, files are deep."""
    graph = {d.id: d.depends_on for d in file.deliverables}
    done: set[str] = set()
    for start in starts:
        path: list[str] = []
        open_edges = [iter((start,))]
        while open_edges:
            node = next(open_edges[-1], None)
            if node is None:
                open_edges.pop()
                if path:
                    done.add(path.pop())
            elif node in path:
                _refuse_circle([*path[path.index(node) :], node])
            elif node not in done:
                path.append(node)
                open_edges.append(iter(graph.get(node, ())))


def _refuse_circle(circle: Sequence[str]) -> NoReturn:
    raise DeliverableError(
        f"These deliverables wait for each other: {' → '.join(circle)}. Nothing was created.",
        hint="Take one of these dependencies out.",
    )


def _some(ids: Iterable[str], limit: int = 20) -> str:
    listed = list(ids)
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more


def revise(
    file: StatusFile,
    drafts: Sequence[DeliverableDraft],
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
    merged: dict[str, DeliverableDraft] = {
        d.id: _draft_of(d) for d in file.deliverables if d.id not in gone
    }
    merged |= {draft.id: draft for draft in drafts}
    return _remade(file, merged, phases)


def _remade(
    file: StatusFile, merged: Mapping[str, DeliverableDraft], phases: Sequence[PhaseDraft]
) -> StatusFile:
    empty = replace(file, deliverables=(), phases=())
    return create(empty, tuple(merged.values()), _merged_phases(file, merged, phases))


def _merged_phases(
    file: StatusFile, merged: Mapping[str, DeliverableDraft], given: Sequence[PhaseDraft]
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


def _draft_of(deliverable: Deliverable) -> DeliverableDraft:
    return DeliverableDraft(
        deliverable.id,
        deliverable.description,
        deliverable.acceptance_criteria,
        deliverable.phase,
        deliverable.depends_on,
        deliverable.verification,
    )


def _phase_draft_of(phase: Phase) -> PhaseDraft:
    return PhaseDraft(phase.id, phase.title, phase.verification)
