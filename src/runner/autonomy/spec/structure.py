"""A snapshot of the spec, its structure hash, and the difference between two structures.

Structure is what decides the order of steps: the phases in order, which of them are closed by
verification commands, and in each the deliverables in order and whether they bring commands of
their own. Titles, criteria and the text of commands are not.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from runner.autonomy.enums import TaskStatus
from runner.autonomy.models import PhaseShape, WorkflowStructure
from runner.text.messages import plural


@dataclass(frozen=True, slots=True)
class SpecTask:
    """An active deliverable.

    Attributes:
        depends_on: ids of deliverables that must be completed first.
        block_reason: why it is blocked, as an agent claims; None where a person has blocked it
            without a word, and where it is not blocked.
    """

    id: str
    title: str
    phase_id: str
    status: TaskStatus = TaskStatus.PENDING
    depends_on: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    block_reason: str | None = None


@dataclass(frozen=True, slots=True)
class SpecPhase:
    """A phase with its active deliverables in order; `verification` are its own commands."""

    id: str
    title: str
    tasks: tuple[SpecTask, ...]
    verification: tuple[str, ...] = ()


_OF_STRUCTURE = ("structure", "structure_hash", "_places")
"""What a spec has worked out about its structure, which no status changes."""


@dataclass(frozen=True)
class Spec:
    """One reading of the spec.

    Attributes:
        mtime: of the file, seconds since the epoch.
        size: of the file, bytes.
        fresh: read for the sake of its structure, so that equal metadata prove nothing.
        common_verification: commands that close every phase with work in it; configuration,
            so no part of the structure.
    """

    spec_id: str
    title: str
    phases: tuple[SpecPhase, ...]
    mtime: float = 0.0
    size: int = 0
    fresh: bool = False
    common_verification: tuple[str, ...] = ()

    @cached_property
    def tasks(self) -> Mapping[str, SpecTask]:
        return {task.id: task for phase in self.phases for task in phase.tasks}

    @cached_property
    def structure(self) -> WorkflowStructure:
        shapes = tuple(_shape(phase) for phase in self.phases)
        return WorkflowStructure(total_phases=len(shapes), phases=shapes)

    @cached_property
    def structure_hash(self) -> str:
        return hash_structure(self.structure.phases)

    def with_status(self, task_id: str, status: TaskStatus, mtime: float, size: int) -> "Spec":
        """Return this spec after its file changed in one deliverable's status and nothing else.

        What is known about the structure is kept: a status is no part of it.
        """
        old = self.tasks[task_id]
        new = replace(old, status=status, block_reason=None)
        phases = tuple(
            _with_task(phase, self._places[task_id], new) if phase.id == old.phase_id else phase
            for phase in self.phases
        )
        changed = replace(self, phases=phases, mtime=mtime, size=size)
        known = {k: v for k, v in self.__dict__.items() if k in _OF_STRUCTURE}
        changed.__dict__.update(known, tasks={**self.tasks, task_id: new})
        return changed

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """Each deliverable's position in its phase."""
        return {task.id: at for phase in self.phases for at, task in enumerate(phase.tasks)}

    @cached_property
    def _by_id(self) -> Mapping[str, SpecPhase]:
        return {phase.id: phase for phase in self.phases}

    def phase(self, phase_id: str | None) -> SpecPhase | None:
        return self._by_id.get(phase_id) if phase_id is not None else None

    def commands(self, phase: SpecPhase) -> tuple[str, ...]:
        """Every command that verifies `phase`, each once, the deliverables' own first."""
        return tuple(dict.fromkeys((*_own_commands(phase), *self.common_verification)))

    @property
    def commands_by_phase(self) -> dict[str, tuple[str, ...]]:
        """The commands that the spec itself gives each phase; phases without any are left out."""
        own = {phase.id: _own_commands(phase) for phase in self.phases}
        return {phase_id: commands for phase_id, commands in own.items() if commands}

    def own_commands(self, phase_id: str) -> tuple[str, ...]:
        """Every command that the spec itself gives the phase, without those of the configuration."""
        phase = self.phase(phase_id)
        return () if phase is None else _own_commands(phase)


def command_hash(command: str) -> str:
    """Return the hash under which a verification command is issued: SHA-256 in hex."""
    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def hash_structure(shapes: Iterable[PhaseShape]) -> str:
    """Return `sha256:` and the digest over everything that is structure."""
    content = [
        [shape.id, shape.verifies, list(shape.task_ids), sorted(shape.verifying_task_ids)]
        for shape in shapes
    ]
    return "sha256:" + hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StructureDiff:
    """What changed between two structures; ids in the order of their structure.

    Attributes:
        reordered_phases: kept phases whose order changed.
        reordered_tasks: kept deliverables whose order within their phase changed.
        moved_tasks: kept deliverables that belong to another phase now.
        retyped: kept phases and deliverables that gained or lost verification commands.
    """

    added_phases: tuple[str, ...] = ()
    removed_phases: tuple[str, ...] = ()
    added_tasks: tuple[str, ...] = ()
    removed_tasks: tuple[str, ...] = ()
    moved_tasks: tuple[str, ...] = ()
    reordered_phases: tuple[str, ...] = ()
    reordered_tasks: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(self.as_dict().values())

    def as_dict(self) -> dict[str, Any]:
        return {name: list(getattr(self, name)) for name in self.__slots__}

    def summary(self) -> str:
        """Say it in one line, for the journal."""
        return (
            f"Added: {plural(len(self.added_tasks), 'task')}, {plural(len(self.added_phases), 'phase')}. "
            f"Removed: {plural(len(self.removed_tasks), 'task')}, {plural(len(self.removed_phases), 'phase')}."
        )


def diff_structures(old: WorkflowStructure, new: WorkflowStructure) -> StructureDiff:
    """Return how `new` differs from `old`."""
    old_owner = {task: shape.id for shape in old.phases for task in shape.task_ids}
    new_owner = {task: shape.id for shape in new.phases for task in shape.task_ids}
    old_phases = {shape.id: shape for shape in old.phases}
    new_phases = {shape.id: shape for shape in new.phases}
    kept = [t for t in new_owner if t in old_owner]
    stayed = {t for t in kept if old_owner[t] == new_owner[t]}
    return StructureDiff(
        added_phases=_only_in(new_phases, old_phases),
        removed_phases=_only_in(old_phases, new_phases),
        added_tasks=_only_in(new_owner, old_owner),
        removed_tasks=_only_in(old_owner, new_owner),
        moved_tasks=tuple(t for t in kept if t not in stayed),
        reordered_phases=_reordered(old_phases, new_phases, set(new_phases) & set(old_phases)),
        reordered_tasks=_reordered(
            _by_phase(old_owner, old_phases), _by_phase(new_owner, old_phases), stayed
        ),
        retyped=(*_retyped(old_phases, new_phases), *_retyped_tasks(old, new)),
    )


def _own_commands(phase: SpecPhase) -> tuple[str, ...]:
    of_tasks = (command for task in phase.tasks for command in task.verification)
    return tuple(dict.fromkeys((*of_tasks, *phase.verification)))


def _with_task(phase: SpecPhase, at: int, task: SpecTask) -> SpecPhase:
    return replace(phase, tasks=(*phase.tasks[:at], task, *phase.tasks[at + 1 :]))


def _shape(phase: SpecPhase) -> PhaseShape:
    return PhaseShape(
        id=phase.id,
        title=phase.title,
        verifies=bool(phase.verification),
        task_ids=tuple(task.id for task in phase.tasks),
        verifying_task_ids=tuple(task.id for task in phase.tasks if task.verification),
    )


def _only_in(one: Iterable[str], other: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key for key in one if key not in other)


def _by_phase(owner: Mapping[str, str], phases: Mapping[str, Any]) -> list[str]:
    """Return the tasks phase by phase in the old order, so that moved phases don't count."""
    groups: dict[str, list[str]] = {phase: [] for phase in phases}
    for task, phase in owner.items():
        groups.setdefault(phase, []).append(task)
    return [task for group in groups.values() for task in group]


def _reordered(old: Iterable[str], new: Iterable[str], kept: set[str]) -> tuple[str, ...]:
    before = [key for key in old if key in kept]
    after = [key for key in new if key in kept]
    return tuple(b for a, b in zip(before, after, strict=True) if a != b)


def _retyped(old: Mapping[str, PhaseShape], new: Mapping[str, PhaseShape]) -> tuple[str, ...]:
    return tuple(i for i, s in new.items() if i in old and old[i].verifies != s.verifies)


def _retyped_tasks(old: WorkflowStructure, new: WorkflowStructure) -> tuple[str, ...]:
    old_tasks = {task for shape in old.phases for task in shape.task_ids}
    was = {task for shape in old.phases for task in shape.verifying_task_ids}
    now = {task for shape in new.phases for task in shape.verifying_task_ids}
    return tuple(
        task
        for shape in new.phases
        for task in shape.task_ids
        if task in old_tasks and (task in was) != (task in now)
    )
