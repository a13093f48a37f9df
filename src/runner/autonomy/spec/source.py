"""Where the spec comes from: `status.json`, read only when it has changed."""

import contextlib
import errno
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from runner.autonomy.calls import seconds_left
from runner.autonomy.enums import TaskStatus
from runner.autonomy.models import TaskChange
from runner.autonomy.spec.structure import Spec, SpecPhase, SpecTask
from runner.autonomy.store.regular import read_regular
from runner.deliverables.codec import decode
from runner.deliverables.document import InvalidValueError, corrupt_value, parse_object
from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.repository import MAX_FILE_BYTES, StatusRepository
from runner.deliverables.transitions import set_status
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.errors import RunnerError, StateError
from runner.files import locked, write_atomic

# Every completed step changes one boolean in a file that may hold thousands of deliverables. The
# text is changed in place only where it is laid out as runner writes it, every deliverable in its
# place; anything else goes the long way through the repository.
_SECTION = b'\n  "deliverables": [\n'
_SECTION_END = b"\n  ]"
_OPEN, _CLOSE = b"\n    {\n", b"\n    }"
_ID_LINE = re.compile(rb'^      "id": ("(?:[^"\\\n]|\\.)*"),?$', re.MULTILINE)
_FLAG_LINES = {
    flag: re.compile(rb'^      "%s": (true|false)(,?)$' % flag, re.MULTILINE)
    for flag in (b"passed", b"blocked")
}


def is_plain(text: bytes, task_ids: Sequence[str]) -> bool:
    """Say whether the text is laid out so that a status can be changed in place.

    Args:
        text: the whole file.
        task_ids: of all deliverables, deprecated ones too, in the order of the file.
    """
    section = _section(text)
    if section is None:
        return False
    found = [json.loads(m[1]) for m in _ID_LINE.finditer(text, *section)]
    flags = [len(p.findall(text, *section)) for p in _FLAG_LINES.values()]
    return found == list(task_ids) and flags == [len(found)] * len(flags)


def with_status(text: bytes, task_id: str, status: TaskStatus) -> bytes | None:
    """Return the text with one deliverable's status changed; None when that fails.

    The text must be plain. What is changed is parsed and compared before it is returned.
    """
    block = _block(text, task_id)
    if block is None:
        return None
    start, end = block
    old = text[start:end]
    new = _set(
        _set(old, b"passed", status is TaskStatus.PASSED), b"blocked", status is TaskStatus.BLOCKED
    )
    try:
        before, after = json.loads(old), json.loads(new)
    except ValueError:
        return None
    wanted = {"passed": status is TaskStatus.PASSED, "blocked": status is TaskStatus.BLOCKED}
    if before.get("id") != task_id or after != {**before, **wanted}:
        return None
    return text[:start] + new + text[end:]


def _section(text: bytes) -> tuple[int, int] | None:
    start = text.find(_SECTION)
    end = text.find(_SECTION_END, start)
    return None if start < 0 or end < 0 else (start + len(_SECTION), end)


def _block(text: bytes, task_id: str) -> tuple[int, int] | None:
    """Return where the deliverable's object begins and ends."""
    section = _section(text)
    name = json.dumps(task_id, ensure_ascii=False).encode("utf-8", "replace")
    at = -1 if section is None else text.find(b'\n      "id": ' + name, section[0] - 1)
    if at < 0:
        return None
    start = text.rfind(_OPEN, 0, at + 1)
    end = text.find(_CLOSE, at)
    return None if start < 0 or end < 0 else (start + len(b"\n    "), end + len(_CLOSE))


def _set(block: bytes, flag: bytes, value: bool) -> bytes:
    line = b'      "%s": %s\\2' % (flag, b"true" if value else b"false")
    return _FLAG_LINES[flag].sub(line, block, count=1)


# Two writes within one tick of the file system's clock can look alike.
CLOCK_TICK_NS = 20_000_000


class SpecUnreadableError(StateError):
    """There is no spec, or it can't be read."""


class _Reading(NamedTuple):
    """What the file said when it was read last.

    Attributes:
        updated_on: the day in the file's `updatedAt`.
        plain: its layout allows changing a status in place; None when that was not looked at.
    """

    signature: tuple[int, ...]
    read_at_ns: int
    content: bytes
    spec: Spec
    updated_on: date | None
    all_ids: tuple[str, ...]
    plain: bool | None = None

    def still_holds(self, signature: tuple[int, ...]) -> bool:
        settled = self.read_at_ns - max(signature[:2]) > CLOCK_TICK_NS
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
        self._lock_path = self._repository.lock_path
        self._workspace = workspace
        self._common = tuple(common_verification)
        self._lock_timeout = lock_timeout
        self._reading: _Reading | None = None

    def read(self, *, fresh: bool = False) -> Spec:
        """Return the spec.

        Args:
            fresh: read the file although nothing about it seems to have changed, and hash its
                structure again.

        Raises:
            SpecUnreadableError: it is missing or damaged.
        """
        spec = self._current(fresh=fresh).spec
        return replace(spec, fresh=True) if fresh else spec

    def apply(self, changes: Sequence[TaskChange]) -> None:
        """Set statuses. Deliverables that are gone are passed over.

        Raises:
            StateError: the file can't be read or written; nothing was changed.
            LockTimeoutError: another writer kept the lock; nothing was changed.
        """
        if not (len(changes) == 1 and self._apply_in_place(changes[0])):
            self._repository.update(lambda file: _changed(file, changes))

    def acceptance_criteria(self, task_id: str) -> tuple[str, ...]:
        """Return the criteria of a deliverable, none when it is not there.

        Raises:
            SpecUnreadableError: there is no spec, or it is damaged.
        """
        found = self._file(self._current().content).find(task_id)
        return found.acceptance_criteria if found is not None else ()

    def sweep_leftovers(self) -> None:
        """Remove what killed writers of `status.json` left, unless one is at work. Never raises."""
        path = self._repository.path
        with contextlib.suppress(RunnerError, OSError), locked(self._lock_path, 0.0):
            for leftover in path.parent.glob(f".{path.name}.*.tmp"):
                leftover.unlink(missing_ok=True)

    def _current(self, *, fresh: bool = False) -> _Reading:
        """Return what the file says now; it is parsed again only when its bytes changed."""
        path, known = self._repository.path, self._reading
        try:
            signature = _signature(path)
            if known is not None and not fresh and known.still_holds(signature):
                return known
            read_at = time.time_ns()
            content = read_regular(path, MAX_FILE_BYTES)
        except OSError as error:
            raise _missing(path, error) from error
        if known is not None and content == known.content and known.signature[0] == signature[0]:
            reading = known._replace(signature=signature, read_at_ns=read_at)
        else:
            reading = self._parse(content, signature, read_at)
        self._reading = reading
        return reading

    def _apply_in_place(self, change: TaskChange) -> bool:
        """Change one status where the layout allows it; False leaves it to the repository."""
        with locked(self._lock_path, seconds_left(self._lock_timeout)):
            reading = self._current(fresh=True)
            if reading.updated_on != self._repository.today() or not self._is_plain(reading):
                return False
            task = reading.spec.tasks.get(change.task_id)
            if task is None:
                return True
            if change.reason is not None or task.block_reason is not None:
                return False  # a field comes or goes besides
            content = with_status(reading.content, change.task_id, change.status)
            if content is None:
                return False
            write_atomic(self._repository.path, content)
            self._remember(reading, change, content)
        return True

    def _is_plain(self, reading: _Reading) -> bool:
        if reading.plain is not None:
            return reading.plain
        plain = is_plain(reading.content, reading.all_ids)
        self._reading = reading._replace(plain=plain)
        return plain

    def _remember(self, reading: _Reading, change: TaskChange, content: bytes) -> None:
        """Keep what was written as read: with the lock held, nobody else wrote it."""
        signature = _signature(self._repository.path)
        spec = reading.spec.with_status(
            change.task_id, change.status, mtime=signature[0] / 1e9, size=signature[2]
        )
        self._reading = reading._replace(
            signature=signature,
            read_at_ns=time.time_ns(),
            content=content,
            spec=spec,
            plain=True,
        )

    def _parse(self, content: bytes, signature: tuple[int, ...], read_at: int) -> _Reading:
        file = self._file(content)
        self._require_commands_in_unicode(file)
        spec = build_spec(
            file,
            title=self._workspace.resolve().name,
            mtime=signature[0] / 1e9,
            size=signature[2],
            common_verification=self._common,
        )
        ids = tuple(deliverable.id for deliverable in file.deliverables)
        return _Reading(signature, read_at, content, spec, file.updated_at, ids)

    def _require_commands_in_unicode(self, file: StatusFile) -> None:
        """Refuse a command that no shell can be given and no session's file can hold."""
        commands = [(phase.id, phase.verification) for phase in file.ordered_phases]
        commands += [(one.id, one.verification) for one in file.deliverables]
        for owner, texts in commands:
            if not all(text == _encodable(text) for text in texts):
                raise SpecUnreadableError(
                    f"{self._repository.path}: a verification command of {owner} is not valid "
                    "Unicode.",
                    hint="Correct the command there.",
                )

    def _file(self, content: bytes) -> StatusFile:
        try:
            return self._decode(content)
        except StateError as error:
            raise SpecUnreadableError(error.message, hint=error.hint) from error

    def _decode(self, content: bytes) -> StatusFile:
        raw, text = parse_object(self._repository.path, content)
        try:
            return decode(raw, derived_spec_id=derive_spec_id(self._workspace))
        except InvalidValueError as error:
            raise corrupt_value(self._repository.path, text, error) from error


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
            title=_encodable(phase.title),
            tasks=tuple(groups[phase.id]),
            verification=phase.verification,
        )
        for phase in file.ordered_phases
        if groups[phase.id] or phase.verification
    )
    return Spec(
        spec_id=file.spec_id,
        title=_encodable(title),
        phases=phases,
        mtime=mtime,
        size=size,
        common_verification=common_verification,
    )


def _task(deliverable: Deliverable, gone: set[str]) -> SpecTask:
    return SpecTask(
        id=deliverable.id,
        title=_encodable(deliverable.description),
        phase_id=deliverable.phase_id,
        status=TaskStatus(deliverable.status.value),
        depends_on=tuple(i for i in deliverable.depends_on if i not in gone),
        verification=deliverable.verification,
        block_reason=deliverable.blocked_reason,
    )


def _encodable(text: str) -> str:
    """Return a text that can be written; half a character, as cutting a text leaves it, is `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _changed(file: StatusFile, changes: Sequence[TaskChange]) -> StatusFile:
    known = {d.id for d in file.active}
    for change in changes:
        if change.task_id in known:
            status = Status(change.status.value)
            file = set_status(file, change.task_id, status, reason=change.reason)
    return file


def _signature(path: Path) -> tuple[int, ...]:
    found = os.stat(path)  # noqa: PTH116 - Path.stat costs three times as much, on every step
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _missing(path: Path, error: OSError | None) -> SpecUnreadableError:
    if error is not None and error.errno == errno.EFBIG:
        return SpecUnreadableError(f"{path} is far too large.")
    why = f": {error.strerror}" if error is not None else ""
    return SpecUnreadableError(
        f"The spec's deliverables can't be read from {path}{why}.",
        hint="Plan the spec with runner run, or restore the file.",
    )
