"""Deliverables, phases, and the questions that planning and termination ask of them.

Everything here is frozen: a change is a new `StatusFile` (see `transitions`).
"""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

# Deliverables that name no phase belong together to this one (DESIGN §5).
IMPLICIT_PHASE_ID = "phase-1"


class Status(StrEnum):
    """Where a deliverable stands (seed 001 §4.2)."""

    PENDING = "pending"
    PASSED = "passed"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Deliverable:
    """A verifiable unit of work.

    Attributes:
        phase: the phase's id, None for the implicit phase.
        depends_on: ids that must have passed first; a hand-written file may name unknown ones.
        verification: shell commands that verify it.
        blocked_reason: why it is blocked, as whoever blocked it says; None where nobody says.
        deprecated_at: the day it left the spec; from then on it counts for nothing.
    """

    id: str
    description: str
    acceptance_criteria: tuple[str, ...]
    status: Status = Status.PENDING
    deprecated_at: date | None = None
    phase: str | None = None
    depends_on: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    blocked_reason: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether it is still part of the spec."""
        return self.deprecated_at is None

    @property
    def phase_id(self) -> str:
        return self.phase or IMPLICIT_PHASE_ID


@dataclass(frozen=True, slots=True)
class Phase:
    """An ordered group of deliverables; `verification` are the commands that close it."""

    id: str
    title: str
    verification: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """Active deliverables by status; deprecated ones are not counted."""

    total: int = 0
    passed: int = 0
    blocked: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class StatusFile:
    """What `status.json` says.

    Attributes:
        spec_id: as written in the file, or derived from the folder's name.
        created_at: None when a hand-written file does not say.
        updated_at: day of the last change, None when a hand-written file does not say.
        phases: the phases that the file lists; see `ordered_phases` for all of them.
        deliverables: in file order, deprecated ones included.
    """

    spec_id: str
    created_at: date | None = None
    updated_at: date | None = None
    phases: tuple[Phase, ...] = ()
    deliverables: tuple[Deliverable, ...] = ()

    def find(self, deliverable_id: str) -> Deliverable | None:
        return next((d for d in self.deliverables if d.id == deliverable_id), None)

    @property
    def active(self) -> tuple[Deliverable, ...]:
        """Every deliverable that is not deprecated, in file order."""
        return tuple(d for d in self.deliverables if d.is_active)

    @property
    def achievable(self) -> tuple[Deliverable, ...]:
        """The active deliverables that neither are blocked nor wait for one that is."""
        waiting = {d.id for d in self.unreachable}
        return tuple(
            d for d in self.active if d.status is not Status.BLOCKED and d.id not in waiting
        )

    @property
    def blocked(self) -> tuple[Deliverable, ...]:
        return tuple(d for d in self.active if d.status is Status.BLOCKED)

    @property
    def unreachable(self) -> tuple[Deliverable, ...]:
        """The pending deliverables that wait, directly or not, for a blocked one."""
        if not self.blocked:
            return ()
        dependents: dict[str, list[Deliverable]] = {}
        for deliverable in self.active:
            for needed in deliverable.depends_on:
                dependents.setdefault(needed, []).append(deliverable)
        reached: set[str] = set()
        edge = [d.id for d in self.blocked]
        while edge:
            for dependent in dependents.get(edge.pop(), ()):
                if dependent.status is Status.PENDING and dependent.id not in reached:
                    reached.add(dependent.id)
                    edge.append(dependent.id)
        return tuple(d for d in self.active if d.id in reached)

    @property
    def counts(self) -> Counts:
        statuses = [d.status for d in self.active]
        return Counts(
            total=len(statuses),
            passed=statuses.count(Status.PASSED),
            blocked=statuses.count(Status.BLOCKED),
            pending=statuses.count(Status.PENDING),
        )

    @property
    def all_achievable_passed(self) -> bool:
        """The goal of a run: at least one achievable deliverable, and all of them passed."""
        achievable = self.achievable
        return bool(achievable) and all(d.status is Status.PASSED for d in achievable)

    @property
    def all_blocked(self) -> bool:
        """Whether there is work, and none of it can be done."""
        active = self.active
        return bool(active) and all(d.status is Status.BLOCKED for d in active)

    @property
    def ordered_phases(self) -> tuple[Phase, ...]:
        """All phases: those listed, then the others as deliverables first mention them."""
        ordered = {phase.id: phase for phase in self.phases}
        for deliverable in self.deliverables:
            phase_id = deliverable.phase_id
            ordered.setdefault(phase_id, Phase(id=phase_id, title=phase_id))
        return tuple(ordered.values())

    @property
    def in_phase_order(self) -> tuple[Deliverable, ...]:
        """The active deliverables by phase, and in file order inside a phase."""
        rank = {phase.id: number for number, phase in enumerate(self.ordered_phases)}
        return tuple(sorted(self.active, key=lambda d: rank[d.phase_id]))

    def of_phase(self, phase_id: str) -> tuple[Deliverable, ...]:
        """The active deliverables of one phase, in file order."""
        return tuple(d for d in self.active if d.phase_id == phase_id)

    def unmet_dependencies(self, deliverable: Deliverable) -> tuple[str, ...]:
        """Ids that `deliverable` still waits for; an id that nobody has is never met."""
        return _unmet(deliverable, self._satisfied())

    @property
    def runnable(self) -> tuple[Deliverable, ...]:
        """Pending deliverables with every dependency passed or deprecated, in phase order."""
        satisfied = self._satisfied()
        return tuple(
            d
            for d in self.in_phase_order
            if d.status is Status.PENDING and not _unmet(d, satisfied)
        )

    @property
    def next_runnable(self) -> Deliverable | None:
        """What to work on next, None when nothing can be worked on."""
        return next(iter(self.runnable), None)

    def _satisfied(self) -> frozenset[str]:
        return frozenset(
            d.id for d in self.deliverables if d.status is Status.PASSED or not d.is_active
        )


def _unmet(deliverable: Deliverable, satisfied: frozenset[str]) -> tuple[str, ...]:
    return tuple(i for i in deliverable.depends_on if i not in satisfied)
