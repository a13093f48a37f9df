"""Which sessions a workspace has, noted outside of it (ADR-0024).

Whoever can write in the project can delete a session or put an older copy of it back; an HMAC
shows neither. So the user's state folder, beside the local secret, holds for each session its
spec, its version, and whether it is live. Notes are written after the session's file: one that
is behind means a crash, one that is ahead means that the file is not the latest.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Container, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from runner.autonomy.store.layout import is_session_id
from runner.files import read_regular

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = 512
_PARTS = 3
_PLACE = "workspace"
_MOST_PATH = 64 * 1024
_KEPT_DAYS = 90


class Anchor(NamedTuple):
    """What is noted of a session."""

    version: int
    live: bool
    spec_id: str


class Anchors:
    """The notes about one workspace's sessions. Writing needs the session's lock.

    Args:
        directory: the user's state folder.
        place: the workspace's resolved path.
    """

    def __init__(self, directory: Path, place: str) -> None:
        self._place = place.encode("utf-8", "surrogateescape")
        self._all = directory / "anchors"
        self._folder = self._all / hashlib.sha256(self._place).hexdigest()[:24]

    def read(self, session_id: str) -> Anchor | None:
        """Return the note on a session; None when there is none that can be read."""
        with contextlib.suppress(OSError, ValueError):
            descriptor = os.open(self._path(session_id), _READ_FLAGS)
            try:
                text = os.read(descriptor, _MAX_BYTES).decode("ascii")
            finally:
                os.close(descriptor)
            return _parse(text)
        return None

    def noted_at(self, session_id: str) -> datetime | None:
        """Return when a session was last noted, None when there is no note."""
        with contextlib.suppress(OSError):
            noted = os.stat(self._path(session_id)).st_mtime  # noqa: PTH116 - as in `forget`
            return datetime.fromtimestamp(noted, UTC).replace(microsecond=0)
        return None

    def write(self, session_id: str, anchor: Anchor) -> None:
        """Note a session's version and status. Not synced to disk: an old note is harmless.

        Raises OSError.
        """
        kind = "live" if anchor.live else "over"
        text = f"{anchor.version:020d} {kind} {anchor.spec_id}\n".encode("ascii")
        path = self._path(session_id)
        try:
            descriptor = os.open(path, _FLAGS, 0o600)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self._folder / _PLACE).write_bytes(self._place)
            descriptor = os.open(path, _FLAGS, 0o600)
        try:
            os.write(descriptor, text)
        finally:
            os.close(descriptor)

    def forget(self, session_id: str) -> None:
        """Remove the note on a session that was removed on purpose. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(session_id))  # noqa: PTH108 - the path is a string here

    def sweep(self, now: datetime) -> None:
        """Remove the notes of workspaces that are gone, once they are old. Never raises.

        Young ones stay: a disk may just not be mounted.
        """
        limit = (now - timedelta(days=_KEPT_DAYS)).timestamp()
        with contextlib.suppress(OSError):
            for folder in list(self._all.iterdir()):
                with contextlib.suppress(OSError):
                    if _is_abandoned(folder, limit):
                        shutil.rmtree(folder)

    def live(self, *, besides: Container[str] = ()) -> Iterator[tuple[str, Anchor]]:
        """Yield the sessions that are noted as live, but for those that are known already."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            return
        for name in sorted(name for name in names if name not in besides):
            if not is_session_id(name):
                continue
            anchor = self.read(name)
            if anchor is not None and anchor.live:
                yield name, anchor

    def _path(self, session_id: str) -> str:
        return f"{self._folder}/{session_id}"


def _is_abandoned(folder: Path, limit: float) -> bool:
    place = os.fsdecode(read_regular(folder / _PLACE, limit=_MOST_PATH))
    return not Path(place).exists() and all(p.stat().st_mtime < limit for p in folder.iterdir())


def _parse(text: str) -> Anchor | None:
    parts = text.split()
    if len(parts) != _PARTS or parts[1] not in ("live", "over"):
        return None
    return Anchor(int(parts[0]), parts[1] == "live", parts[2])
