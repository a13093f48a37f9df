"""The log of a run: every event as a JSON line in `.runner/logs/`, credentials taken out."""

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.app.event_json import event_object
from runner.credentials import Redactor
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import RunnerError
from runner.events import Notice, RunEvent, SessionActivity
from runner.ports import RunSink
from runner.text.messages import reason

LOG_FOLDER = "logs"
KEPT_FILES = 20
KEPT_BYTES = 200 * 1024 * 1024
FILE_BYTES = 50 * 1024 * 1024
"""Beyond this a log holds no more of what happens inside sessions, only the run itself."""

_NAME = re.compile(r"\d{8}T\d{6}Z-[a-z]+-\d+\.jsonl")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER_ONLY = 0o600


def _now() -> datetime:
    return datetime.now(UTC)


class RunLog:
    """A subscriber that writes every event to a file.

    The file is made with the first event. A log that can't be written is reported once
    and never ends a run.

    Args:
        project_dir: the log goes into its `.runner/logs/`.
        command: `run`, `sync`; part of the file's name.
        publish: gets a warning when the log can't be written.
        redactor: takes credentials out of events.
        now: the time that the lines carry.
        file_bytes: see FILE_BYTES.
    """

    def __init__(
        self,
        project_dir: Path,
        command: str,
        publish: RunSink,
        *,
        redactor: Redactor,
        now: Callable[[], datetime] = _now,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        name = f"{now():%Y%m%dT%H%M%SZ}-{command}-{os.getpid()}.jsonl"
        self.path = project_dir / STATE_DIRECTORY / LOG_FOLDER / name
        self._project_dir = project_dir
        self._publish = publish
        self._redactor = redactor
        self._now = now
        self._left = file_bytes
        self._descriptor: int | None = None
        self._over = False

    @property
    def shown(self) -> str:
        """The path as the startup display names it, relative to the project."""
        return str(self.path.relative_to(self._project_dir))

    def __call__(self, event: RunEvent) -> None:
        """Write one event; credentials are taken out first."""
        problem = self._record(self._redactor.record(event))
        if problem is not None:
            self._publish(problem)

    def __enter__(self) -> Self:
        """Begin; nothing is written yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._over = True
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def _record(self, event: RunEvent) -> Notice | None:
        if self._over or (self._left <= 0 and isinstance(event, SessionActivity)):
            return None
        try:
            self._write(event)
        except (OSError, RunnerError) as error:
            self._over = True
            return Notice("warning", f"The log of this run could not be written: {reason(error)}.")
        if self._left <= 0 and isinstance(event, SessionActivity):
            self._write(Notice("info", "The log is full; what happens in sessions is left out."))
        return None

    def _write(self, event: RunEvent) -> None:
        if self._descriptor is None:
            self._descriptor = self._create()
        plain = event_object(event, self._now())
        line = json.dumps(plain, default=str).encode() + b"\n"
        self._left -= len(line)
        while line:
            line = line[os.write(self._descriptor, line) :]

    def _create(self) -> int:
        folder = self.path.parent
        ensure_state_directory(self._project_dir)
        folder.mkdir(exist_ok=True)
        if not folder.resolve().is_relative_to(self._project_dir.resolve()):
            raise NotADirectoryError(f"{folder} leads out of the project")
        descriptor = os.open(self.path, _FLAGS, _OWNER_ONLY)
        sweep(folder)
        return descriptor


def sweep(folder: Path, *, files: int = KEPT_FILES, size: int = KEPT_BYTES) -> None:
    """Remove the oldest logs until at most `files` of together `size` bytes are left.

    Files with other names are not ours, and stay. The newest stays in any case.
    """
    logs = sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)
    total = 0
    for position, path in enumerate(logs):
        with suppress(OSError):
            total += path.lstat().st_size
            if position and (position >= files or total > size):
                path.unlink()
