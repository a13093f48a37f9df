"""What agents can write: runner itself must neither execute nor import anything of it.

A path is followed entry by entry, because whoever can replace one link on the way decides what the
whole path leads to.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

_SCRATCH = "runner-scratch-"
STATE_FOLDER = ".runner"
"""The folder of a project that its agents can't write."""

_STATE_FILES = ("status.json", "autonomy")
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Reach:
    """The folders that agents can write.

    Attributes:
        folders: absolute, links resolved.
        read_only: folders in them that the sandbox mounts read-only.
    """

    folders: tuple[Path, ...]
    read_only: tuple[Path, ...] = ()

    def problem(self, path: str | Path) -> str | None:
        """Return why agents can decide what is at `path`, None when they can't.

        Args:
            path: absolute; it need not exist.
        """
        way, aliases = list(steps(path)), {}
        known = {_identity(str(folder)): str(folder) for folder in self.folders}
        for step in way:
            folder = known.get(_identity(step) or (0, 0))
            if folder is not None:
                # Under another name, too: a bind mount, or capitals where those mean nothing.
                aliases[step] = folder
            if self._holds(_renamed(step, aliases), is_end=step is way[-1]):
                return _writable(step, path)
        return None

    def problem_of_program(self, path: str | Path) -> str | None:
        """Return why a program that the PATH names may be an agent's, None when it can't be.

        Beside `problem` this looks at what agents of other projects could write, and at folders
        for temporary files. No program that runner needs has its place there.
        """
        problem, real = self.problem(path), Path(path)
        if problem is not None:
            return problem
        for step in steps(path):
            real = Path(step)
            if real.name == ".git":
                return _writable(step, path)
            if any((real.parent / STATE_FOLDER / name).exists() for name in _STATE_FILES):
                return f"agents that work on {real.parent} can write {path}"
        if _is_shared(Path(path).parent) or _is_shared(real.parent):
            return f"{path} is in a folder that everybody can write"
        return None

    def _holds(self, step: str, *, is_end: bool) -> bool:
        if f"{os.sep}{_SCRATCH}" in step:
            return True
        if not any(_is_in(step, str(folder)) for folder in self.folders):
            return False
        # What is above a read-only folder is a mount point, too: it can't be renamed.
        shielded = map(str, self.read_only)
        return not any(_is_in(step, f) or (not is_end and _is_in(f, step)) for f in shielded)


def reach_of(project: Path, read_only: tuple[Path, ...] = ()) -> Reach:
    """Return what agents can write in a run on `project`: the project and runner's own caches."""
    folders = dict.fromkeys((project.resolve(), user_cache_path("runner").resolve()))
    return Reach(tuple(folders), read_only)


def steps(path: str | Path) -> Iterator[str]:
    """Yield each path whose entry in its folder decides what `path` leads to, in order.

    The last one is the real path. Links are followed; a loop of links ends the walk.

    Args:
        path: absolute.
    """
    rest = deque(str(path).split(os.sep))
    at, links = os.sep, 0
    while rest:
        name = rest.popleft()
        if name in ("", os.curdir):
            continue
        if name == os.pardir:
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, name)
        yield step
        target = _target(step)
        if target is None or links == _MOST_LINKS:
            at = step
            continue
        links += 1
        rest.extendleft(reversed(target.split(os.sep)))
        if target.startswith(os.sep):
            at = os.sep


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _renamed(step: str, aliases: Mapping[str, str]) -> str:
    for alias, folder in aliases.items():
        if _is_in(step, alias):
            return folder + step[len(alias) :]
    return step


def _target(step: str) -> str | None:
    try:
        return os.readlink(step)
    except OSError:
        return None


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_shared(folder: Path) -> bool:
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    return bool(mode & stat.S_ISVTX and mode & stat.S_IWOTH)


def _writable(step: str, path: str | Path) -> str:
    through = "" if step == str(path) else f", by way of {step}"
    return f"agents can write {path}{through}"
