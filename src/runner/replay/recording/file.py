"""The file of a recording: a script, written whole each time."""

import contextlib
import errno
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner import __version__
from runner.errors import UsageError
from runner.files import write_atomic, write_error
from runner.replay.wire import Json
from runner.text.messages import reason

_TRIAL_BYTES = 64 * 1024

_HEADER = """\
# A recorded run. `runner run --replay` with this file plays it again in a copy of the project
# as it was before the run. Sessions and turns may be changed by hand; "prompt" and "results"
# are what a replay is compared with, and may be taken out.

"""


def target_of(path: Path) -> Path:
    """Return the absolute path of a recording, with links followed.

    Raises:
        UsageError: there is no such path.
    """
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:  # no such home, links in a circle, NUL
        raise UsageError(
            f"{str(path)!r} can't be the file of a recording: {reason(error, named=True)}.",
            hint="Name another file.",
        ) from error


def check_target(path: Path, project: Path) -> None:
    """Make sure that a recording may go to `path`.

    Raises:
        UsageError: the file is something else, stands in the project, or can't be written.
    """
    try:
        _check_place(path, project)
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise _not_written(path, error) from error
    _remove_leftovers(path)
    _try_to_write(path)


def _check_place(path: Path, project: Path) -> None:
    if path.is_relative_to(project):
        raise UsageError(
            f"The recording {path} would stand in the project, where agents can change it.",
            hint=f"Name a file outside, such as --record {project.parent / path.name}.",
        )
    if not path.parent.is_dir():
        raise UsageError(
            f"The folder of the recording, {path.parent}, does not exist.",
            hint="Create it first, or name another file.",
        )
    if path.exists() and not _may_be_replaced(path):
        raise UsageError(
            f"{path} exists and is not a recording.",
            hint="Name a new file; only an earlier recording is written over.",
        )


def _try_to_write(path: Path) -> None:
    """Write as much as a small recording has beside the file, and remove it.

    Permissions don't tell everything: the disk may be full, or its file system read-only.
    """
    trial = path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"
    try:
        try:
            with trial.open("xb") as file:
                file.write(bytes(_TRIAL_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            trial.unlink(missing_ok=True)
        # Root may write to anything; others may not replace what is not theirs everywhere.
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"The recording {path} can't be written: {reason(error, named=True)}.",
        hint=write_error(path, error).hint,
    )


def _remove_leftovers(path: Path) -> None:
    """Remove what writers of this recording left that were killed on the way."""
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError):
        for entry in path.parent.iterdir():
            if leftover.fullmatch(entry.name) and entry.is_file() and not entry.is_symlink():
                entry.unlink()


class RecordingFile:
    """Writes a recording again and again while it grows.

    Attributes:
        disturbed: whether somebody else has replaced the file meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._head = _toml({"recording": {"version": 1, "runner": __version__}})
        self._rendered: dict[int, tuple[int, str]] = {}
        self._written: dict[int, int] = {}
        self._left: tuple[int, int] | None = None
        self.disturbed = False

    def write(self, sessions: Sequence[tuple[int, Json]]) -> int:
        """Write the sessions that have turns, in one step; only its owner may read the file.

        Args:
            sessions: each with a number that changes when the session does.

        Returns:
            how many it holds now; without any, no file is written.

        Raises:
            StateWriteError: what was there before still stands.
        """
        for place, (revision, session) in enumerate(sessions):
            # A long run has many sessions, and all but the last are as they were.
            if session["turn"] and self._rendered.get(place, (-1,))[0] != revision:
                self._rendered[place] = (revision, _toml({"session": [session]}))
        revisions = {place: rendered[0] for place, rendered in self._rendered.items()}
        found = self._found()
        self.disturbed |= found is not None and self._left not in (None, found)
        if revisions != self._written or (self._rendered and found != self._left):
            parts = [self._rendered[place][1] for place in sorted(self._rendered)]
            write_atomic(self._path, _HEADER + "\n".join([self._head, *parts]), mode=0o600)
            self._written, self._left = revisions, self._found()
        return len(self._rendered)

    def _found(self) -> tuple[int, int] | None:
        """Return what tells the file that stands there from another; None when there is none."""
        with contextlib.suppress(OSError):
            now = self._path.stat()
            return now.st_ino, now.st_mtime_ns
        return None


def _toml(document: dict[str, Any]) -> str:
    import tomli_w  # noqa: PLC0415 - only who records needs it

    # Text blocks are nicer to read, but this writer changes the line ends in them.
    return tomli_w.dumps(document, multiline_strings=not _has_carriage_return(document), indent=2)


def _has_carriage_return(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_carriage_return, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_carriage_return, value))
    return isinstance(value, str) and "\r" in value


def _may_be_replaced(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return not data or isinstance(data.get("recording"), dict)
