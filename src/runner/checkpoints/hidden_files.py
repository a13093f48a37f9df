"""The files of a project that are hidden from agents: no snapshot holds them, no prompt shows them.

Whoever decides what is hidden notes it here, because snapshots are also taken by other processes.
"""

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path

from runner.deliverables.workspace import STATE_DIRECTORY
from runner.errors import StateError
from runner.files import read_regular, write_atomic
from runner.text.messages import reason

_NOTE = Path(STATE_DIRECTORY, "autonomy", "checkpoints", "hidden.json")
_MOST_BYTES = 4 * 1024 * 1024


def note_hidden(project: Path, paths: Iterable[Path]) -> None:
    """Note which files and folders of the project are hidden from now on.

    Raises:
        OSError: the folder for the note can't be made.
        StateWriteError: it can't be written.
    """
    note = project / _NOTE
    names = sorted(str(path.relative_to(project)) for path in paths if project in path.parents)
    if names or note.exists():
        note.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(note, json.dumps(names, indent=1))


class HiddenFiles:
    """What is hidden in a project.

    Raises:
        StateError: the note can't be read.
    """

    def __init__(self, project: Path) -> None:
        note = project / _NOTE
        try:
            names = json.loads(read_regular(note, limit=_MOST_BYTES))
            self._names = frozenset(os.fsencode(name) for name in names)
        except (FileNotFoundError, NotADirectoryError):
            self._names = frozenset()
        except (OSError, ValueError, TypeError) as error:
            raise StateError(
                f"{note} says what is hidden from agents, and can't be read: {reason(error)}.",
                hint="Remove it. The next run in the sandbox writes it again.",
            ) from error

    def __contains__(self, path: bytes) -> bool:
        """Whether a path relative to the project, or a folder above it, is hidden."""
        if not self._names:
            return False
        parts = path.rstrip(b"/").split(b"/")
        return any(b"/".join(parts[: n + 1]) in self._names for n in range(len(parts)))


def read_shown(project: Path, name: str, *, limit: int) -> bytes:
    """Return the content of a file of the project that a prompt may show.

    Raises:
        OSError: it can't be read, leads out of the project, or is hidden from agents.
        StateError: what is hidden can't be told.
    """
    try:
        real, top = (project / name).resolve(), project.resolve()
    except RuntimeError as error:  # what pathlib makes of a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from error
    if real.is_relative_to(top) and os.fsencode(real.relative_to(top)) in HiddenFiles(top):
        raise PermissionError(errno.EACCES, "it leads to what is hidden from agents", name)
    return read_regular(project / name, limit=limit, within=project)
