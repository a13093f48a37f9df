"""What is done and what is left, for the rules that choose the next step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from runner.autonomy.enums import TaskStatus
from runner.autonomy.models import SessionState
from runner.autonomy.spec.structure import Spec, SpecPhase, SpecTask, command_hash


@dataclass(frozen=True)
class Progress:
    """One look at the spec with the eyes of a session.

    Completed is what this session accepted a report for (or found passed when it started or
    was rebased), never what a file says in between: nothing else can mark work as done.
    Blocked is what the spec says.
    """

    spec: Spec
    done: frozenset[str]
    skipped: frozenset[str]

    @classmethod
    def of(cls, state: SessionState, spec: Spec) -> "Progress":
        return cls(
            spec=spec,
            done=frozenset(state.completed_task_ids),
            skipped=frozenset(state.skipped_task_ids),
        )

    @cached_property
    def pending(self) -> Mapping[str, tuple[SpecTask, ...]]:
        """Phase id → its deliverables that wait to be implemented; phases without are left out."""
        settled = self.done | self.skipped | self.unreachable
        groups: dict[str, tuple[SpecTask, ...]] = {}
        for phase in self.spec.phases:
            waiting = tuple(  # of a list: this is walked on every step
                [
                    task
                    for task in phase.tasks
                    if task.id not in settled and task.status is not TaskStatus.BLOCKED
                ]
            )
            if waiting:
                groups[phase.id] = waiting
        return groups

    @cached_property
    def blocked(self) -> tuple[SpecTask, ...]:
        """The deliverables that are blocked and not completed."""
        return tuple(
            task
            for task in self.spec.tasks.values()
            if task.status is TaskStatus.BLOCKED and task.id not in self.done
        )

    @cached_property
    def unreachable(self) -> frozenset[str]:
        """The ids of deliverables that wait, directly or not, for a blocked one."""
        reached = {task.id for task in self.blocked}
        if not reached:
            return frozenset()
        dependents: dict[str, list[str]] = {}
        for task in self.spec.tasks.values():
            for needed in task.depends_on:
                dependents.setdefault(needed, []).append(task.id)
        waiting: set[str] = set()
        edge = list(reached)
        while edge:
            new = [i for i in dependents.get(edge.pop(), ()) if i not in waiting | self.done]
            waiting.update(new)
            edge.extend(new)
        return frozenset(waiting - reached)

    @property
    def left_out(self) -> tuple[SpecTask, ...]:
        """The deliverables that a caller skipped and that were neither passed nor blocked since."""
        return tuple(
            task
            for task in self.spec.tasks.values()
            if task.id in self.skipped and task.status is TaskStatus.PENDING
        )

    @property
    def completed_any(self) -> bool:
        """Whether at least one deliverable of the spec is completed."""
        return any(task_id in self.done for task_id in self.spec.tasks)

    def next_task(self, phase_id: str, first: str | None = None) -> SpecTask | None:
        """Return the first pending deliverable of the phase that waits for nothing.

        Args:
            phase_id: the phase to look in.
            first: a deliverable that goes before the others when it can be worked on.
        """
        waiting = self.pending.get(phase_id, ())
        wanted = [task for task in waiting if task.id == first] if first is not None else []
        return next((t for t in chain(wanted, waiting) if not self.waits_for(t)), None)

    def waits_for(self, task: SpecTask) -> tuple[str, ...]:
        """Return the dependencies of `task` that are not completed."""
        return tuple(i for i in task.depends_on if i not in self.done)

    def is_judged(self, phase: SpecPhase) -> bool:
        """Whether the phase has anything to verify and review: work, commands alone, or a claim.

        A block with a reason is a claim, which the review looks at. One without is a person's
        decision, and what only waits for blocked work claims nothing.
        """
        if not phase.tasks:
            return bool(phase.verification)
        return any(
            t.id in self.done or t.id in self.skipped or t.block_reason is not None
            for t in phase.tasks
        )

    def commands(self, phase: SpecPhase) -> tuple[str, ...]:
        """Return what verifies the phase; commands of what can't be built are left out.

        Those are the commands of blocked deliverables and of what waits for them. The phase's own
        commands stay.
        """
        if not self.blocked:
            return self.spec.commands(phase)
        out = self.unreachable | {task.id for task in self.blocked}
        tasks = tuple(task for task in phase.tasks if task.id not in out)
        return self.spec.commands(replace(phase, tasks=tasks))

    def needs_verification(self, state: SessionState, phase: SpecPhase) -> bool:
        """Whether the phase's commands are due."""
        gate = state.gate(phase.id)
        verified = gate.verified_at is not None or gate.verification_skipped
        return self.is_judged(phase) and not verified and bool(self.commands(phase))

    def is_proven(self, state: SessionState, phase: SpecPhase, tree: str | None) -> bool:
        """Whether all commands of a closed phase succeeded on the work as it is.

        Args:
            state: of the session.
            phase: the phase.
            tree: the work tree as it is now, None where it can't be read.
        """
        if not self.is_judged(phase) or state.gate(phase.id).verification_skipped:
            return True
        due = {command_hash(command) for command in self.commands(phase)}
        proven = state.proven
        if proven is None or proven.tree != tree_identity(state, tree):
            return not due
        return due.issubset(proven.commands)

    def is_open(self, state: SessionState, phase: SpecPhase) -> bool:
        """Whether anything is left to do in the phase."""
        if phase.id in self.pending:
            return True
        if not self.is_judged(phase):
            return False
        gate_holds = not state.gate(phase.id).is_satisfied
        return gate_holds or self.needs_verification(state, phase)

    def first_open(self, state: SessionState) -> SpecPhase | None:
        """Return the first phase in order with something left to do."""
        return next((p for p in self.spec.phases if self.is_open(state, p)), None)


def tree_identity(state: SessionState, tree: str | None) -> str:
    """Return what tells one state of the work from another.

    Where the tree can't be read, each report of work counts as another state.
    """
    return f"work:{state.work_reports}" if tree is None else f"tree:{tree}"
