"""`status.json` on disk: the only place that reads or writes it."""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from runner.deliverables.codec import decode, encode
from runner.deliverables.document import (
    InvalidValueError,
    corrupt_value,
    dump,
    parse_object,
    unusable,
)
from runner.deliverables.model import StatusFile
from runner.deliverables.workspace import derive_spec_id, prepare_state_directory
from runner.errors import StateError, StateWriteError
from runner.files import locked, sweep_temporary, write_atomic

MAX_FILE_BYTES = 8 * 1024 * 1024
_LEFTOVER_SECONDS = 3600.0
# A pipe must not make us wait, and a link must not make us read something else.
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _local_today() -> date:
    return datetime.now().astimezone().date()


class StatusRepository:
    """Reads and changes the deliverables of one project.

    Readers need no lock: a change replaces the file in one step. Writers exclude each other
    by `.runner/autonomy/locks/status.lock`, across processes and threads.

    Args:
        path: the file, as `workspace.status_path` gives it; its folder's parent is the project.
        today: the date that changes are stamped with.
        lock_timeout: seconds to wait for another writer.
    """

    def __init__(
        self,
        path: Path,
        *,
        today: Callable[[], date] = _local_today,
        lock_timeout: float = 5.0,
    ) -> None:
        self._path = path
        self._today = today
        self._lock_timeout = lock_timeout

    @property
    def path(self) -> Path:
        return self._path

    @property
    def lock_path(self) -> Path:
        return self.path.parent / "autonomy" / "locks" / "status.lock"

    def today(self) -> date:
        """Return the date that a change made now is stamped with."""
        return self._today()

    def load(self) -> StatusFile | None:
        """Return what the file says, None when, and only when, there is no file.

        Raises:
            StateCorruptError: it is damaged or not ours; it is left untouched.
            StateError: it can't be read.
        """
        found = self._read()
        return None if found is None else found[1]

    def update(self, change: Callable[[StatusFile], StatusFile]) -> StatusFile:
        """Replace the file by what `change` makes of it, under the lock; return that.

        Without a file, `change` gets an empty one. When it returns what it got, or raises,
        nothing is written. The lock is not reentrant: `change` must not update.

        Raises:
            StateCorruptError: the file is damaged or not ours; it is left untouched.
            LockTimeoutError: another writer kept the lock; nothing was changed.
            StateWriteError: it could not be written; what was there before still stands.
        """
        self._read()  # a damaged file is reported before anything is created beside it
        prepare_state_directory(self.path.parent)
        with locked(self.lock_path, self._lock_timeout):
            sweep_temporary(self.path.parent, _LEFTOVER_SECONDS)
            found = self._read()
            raw, old = found or ({}, None)
            today = self._today()
            before = old or StatusFile(
                spec_id=self._derived_spec_id(), created_at=today, updated_at=today
            )
            after = change(before)
            if after == before:
                return before
            after = replace(after, updated_at=today)
            self._write(encode(after, old=old, raw=raw))
            return after

    def _derived_spec_id(self) -> str:
        return derive_spec_id(self.path.parent.parent)

    def _read(self) -> tuple[dict[str, Any], StatusFile] | None:
        data = self._read_bytes()
        if data is None:
            return None
        raw, text = parse_object(self.path, data)
        try:
            return raw, decode(raw, derived_spec_id=self._derived_spec_id())
        except InvalidValueError as error:
            raise corrupt_value(self.path, text, error) from error

    def _read_bytes(self) -> bytes | None:
        try:
            descriptor = os.open(self.path, _OPEN_FLAGS)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise unusable(self.path, "it is not a regular file")
            if found.st_size > MAX_FILE_BYTES:
                raise unusable(self.path, f"it has {found.st_size} bytes, far too many")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def _unreadable(self, error: OSError) -> StateError:
        if error.errno == errno.ELOOP:
            return unusable(self.path, "it is a symbolic link")
        if error.errno == errno.ENOTDIR:
            return unusable(self.path, f"{self.path.parent} is not a folder")
        return StateError(
            f"{self.path} can't be read: {error.strerror}.",
            hint="Check the owner and permissions of the file and its folder.",
        )

    def _write(self, document: dict[str, Any]) -> None:
        data = dump(document).encode("utf-8")
        if len(data) > MAX_FILE_BYTES:
            raise StateWriteError(
                f"{self.path} would grow to {len(data)} bytes; the limit is {MAX_FILE_BYTES}.",
                hint="Describe the deliverables more briefly.",
            )
        write_atomic(self.path, data)
