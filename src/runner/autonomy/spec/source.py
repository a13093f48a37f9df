"""Where the spec comes from: `status.json`, read only when it has changed."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.autonomy.enums import TaskStatus
from runner.autonomy.models import TaskChange
from runner.autonomy.spec.structure import Spec, SpecPhase, SpecTask
from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.transitions import set_status
from runner.deliverables.workspace import status_path
from runner.errors import StateError

# Two writes within one tick of the file system's clock can look alike.
_CLOCK_TICK_NS = 20_000_000


class SpecUnreadableError(StateError):
    """There is no spec, or it can't be read."""


@dataclass(frozen=True, slots=True)
class _Reading:
    signature: tuple[int, ...]
    read_at_ns: int
    spec: Spec

    def still_holds(self, signature: tuple[int, ...]) -> bool:
        settled = self.read_at_ns - max(signature[:2]) > _CLOCK_TICK_NS
        return settled and signature == self.signature


class SpecSource:
    """Reads the spec of a workspace, and writes the statuses that follow from steps.

    Args:
        workspace: the project's folder.
        common_verification: commands that close every phase (`[verification]` in runner.toml).
        lock_timeout: seconds to wait for another writer of `status.json`.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        common_verification: Sequence[str] = (),
        lock_timeout: float = 5.0,
    ) -> None:
        self._repository = StatusRepository(status_path(workspace), lock_timeout=lock_timeout)
        self._workspace = workspace
        self._common = tuple(common_verification)
        self._reading: _Reading | None = None

    def read(self, *, fresh: bool = False) -> Spec:
        """Return the spec.

        Args:
            fresh: read the file although nothing about it seems to have changed.

        Raises:
            SpecUnreadableError: there is none, or it is damaged.
        """
        try:
            signature = _signature(self._repository.path)
        except OSError as error:
            raise _missing(self._repository.path, error) from error
        known = self._reading
        if known is not None and not fresh and known.still_holds(signature):
            return known.spec
        read_at = time.time_ns()
        spec = self._load(signature)
        self._reading = _Reading(signature, read_at, spec)
        return replace(spec, fresh=True) if fresh else spec

    def apply(self, changes: Sequence[TaskChange]) -> None:
        """Set statuses. Deliverables that are gone are passed over.

        Raises:
            StateError: the file can't be read or written; nothing was changed.
            LockTimeoutError: another writer kept the lock; nothing was changed.
        """
        self._repository.update(lambda file: _changed(file, changes))

    def _load(self, signature: tuple[int, ...]) -> Spec:
        try:
            file = self._repository.load()
        except StateError as error:
            raise SpecUnreadableError(error.message, hint=error.hint) from error
        if file is None:
            raise _missing(self._repository.path, None)
        return build_spec(
            file,
            title=self._workspace.resolve().name,
            mtime=signature[0] / 1e9,
            size=signature[2],
            common_verification=self._common,
        )


def build_spec(
    file: StatusFile,
    *,
    title: str,
    mtime: float = 0.0,
    size: int = 0,
    common_verification: tuple[str, ...] = (),
) -> Spec:
    """Return the spec that a status file says; deprecated deliverables are no part of it."""
    gone = {d.id for d in file.deliverables if not d.is_active}
    groups: dict[str, list[SpecTask]] = {phase.id: [] for phase in file.ordered_phases}
    for deliverable in file.active:
        groups[deliverable.phase_id].append(_task(deliverable, gone))
    phases = tuple(
        SpecPhase(
            id=phase.id,
            title=phase.title,
            tasks=tuple(groups[phase.id]),
            verification=phase.verification,
        )
        for phase in file.ordered_phases
        if groups[phase.id] or phase.verification
    )
    return Spec(
        spec_id=file.spec_id,
        title=title,
        phases=phases,
        mtime=mtime,
        size=size,
        common_verification=common_verification,
    )


def _task(deliverable: Deliverable, gone: set[str]) -> SpecTask:
    return SpecTask(
        id=deliverable.id,
        title=deliverable.description,
        phase_id=deliverable.phase_id,
        status=TaskStatus(deliverable.status.value),
        depends_on=tuple(i for i in deliverable.depends_on if i not in gone),
        verification=deliverable.verification,
    )


def _changed(file: StatusFile, changes: Sequence[TaskChange]) -> StatusFile:
    known = {d.id for d in file.active}
    for change in changes:
        if change.task_id in known:
            file = set_status(file, change.task_id, Status(change.status.value))
    return file


def _signature(path: Path) -> tuple[int, ...]:
    found = os.stat(path)  # noqa: PTH116 - Path.stat costs three times as much, on every step
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _missing(path: Path, error: OSError | None) -> SpecUnreadableError:
    why = f": {error.strerror}" if error is not None else ""
    return SpecUnreadableError(
        f"The spec's deliverables can't be read from {path}{why}.",
        hint="Plan the spec with runner run, or restore the file.",
    )
