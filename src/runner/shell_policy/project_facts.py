"""What the policy may know about files: one object, the only thing that looks at the disk.

The rules get their facts from here, lazily, and from nowhere else, so that a decision is a
function of the text, the mode, the settings and these facts. A path that a command names is
followed through links. Outside of the project no file is read, and no folder listed but that of
a script under /tmp, for modules of other users that it would import.
"""

import os
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from runner.shell_policy.git_facts import GitFacts, Guarded

_LARGEST_TEXT = 1_000_000


class FolderEntry(NamedTuple):
    """One name in a folder of the project."""

    name: str
    is_link: bool
    is_folder: bool


class ProjectFacts(Protocol):
    """The facts that rules may ask for. Paths are absolute; nothing raises.

    Attributes:
        project: the real path of the project directory; it need not exist.
        home: the home folder of the user, as `~` means it.
    """

    @property
    def project(self) -> str: ...

    @property
    def home(self) -> str: ...

    def real_path(self, path: str) -> str:
        """The path with all symbolic links followed, also of names that do not exist yet."""
        ...

    def exists(self, path: str) -> bool:
        """Whether the path is there; False for every path outside of the project."""
        ...

    def entries(self, folder: str) -> tuple[FolderEntry, ...]:
        """The names in a folder of the project; none outside of it."""
        ...

    def text(self, path: str) -> str | None:
        """The beginning of a file of the project (1 MB); None when it can't be read."""
        ...

    def is_foreign(self, path: str) -> bool:
        """Whether there is something at this path that is no regular file of this user."""
        ...

    def has_foreign_module(self, folder: str, names: frozenset[str]) -> bool:
        """Whether another user put a module of one of these names into a scratch folder."""
        ...

    def has_option_like_refs(self) -> bool:
        """Whether a branch or tag of the repository begins with a dash."""
        ...

    def guarded_files(self, where: str) -> Guarded | None:
        """The protected files below the project that git holds in `where`; None when unknown.

        Args:
            where: `index`, or a revision.
        """
        ...

    def guarded_unchanged(self) -> bool:
        """Whether the protected files on disk are those of the index, and those of HEAD."""
        ...

    def guarded_stashed(self) -> bool:
        """Whether a stash holds protected files that it would write; True when unknown."""
        ...


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """The facts as they are on this machine's disk now. One object for one decision.

    Args:
        project: the real path of the project directory; need not exist.
        home: the home folder of the user.
    """

    project: str
    home: str
    _real: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, project: str | Path, home: str | None = None) -> "DiskFacts":
        """Return the facts about a project; the home is that of this process when left out."""
        return cls(os.path.realpath(project), home or os.path.expanduser("~"))  # noqa: PTH111

    def real_path(self, path: str) -> str:
        found = self._real.get(path)
        if found is None:
            found = os.path.realpath(path)
            own = f"/proc/{os.getpid()}/"  # what /proc/self and /dev/fd lead to, for this process
            if found.startswith(own):
                found = "/proc/self/" + found.removeprefix(own)
            self._real[path] = found
        return found

    def _is_inside(self, path: str) -> bool:
        real = self.real_path(path)
        return real == self.project or real.startswith(self.project.rstrip("/") + "/")

    def exists(self, path: str) -> bool:
        return self._is_inside(path) and os.path.lexists(path)

    def entries(self, folder: str) -> tuple[FolderEntry, ...]:
        if not self._is_inside(folder):
            return ()
        try:
            with os.scandir(folder) as found:
                return tuple(_entry(one) for one in found)
        except OSError:
            return ()

    def text(self, path: str) -> str | None:
        if not self._is_inside(path):
            return None
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a text, as all paths here
                return None
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                return file.read(_LARGEST_TEXT)
        except (OSError, ValueError):
            return None

    def is_foreign(self, path: str) -> bool:
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return False
        except (OSError, ValueError):
            return True
        return not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid()

    def has_foreign_module(self, folder: str, names: frozenset[str]) -> bool:
        try:
            with os.scandir(folder) as found:
                return any(
                    one.name.partition(".")[0] in names
                    and one.stat(follow_symlinks=False).st_uid != os.geteuid()
                    for one in found
                )
        except OSError:
            return True

    def has_option_like_refs(self) -> bool:
        return GitFacts.of(self.project).has_option_like_refs()

    def guarded_files(self, where: str) -> Guarded | None:
        return GitFacts.of(self.project).guarded_files(where)

    def guarded_unchanged(self) -> bool:
        return GitFacts.of(self.project).guarded_unchanged()

    def guarded_stashed(self) -> bool:
        return GitFacts.of(self.project).guarded_stashed()


def _entry(found: "os.DirEntry[str]") -> FolderEntry:
    try:
        is_folder = found.is_dir()
    except OSError:
        is_folder = False
    return FolderEntry(found.name, found.is_symlink(), is_folder)


def below(facts: ProjectFacts, folder: str) -> Iterator[str]:
    """Return the names of all files below a folder of the project, without following links."""
    pending = [folder]
    while pending:
        here = pending.pop()
        for entry in facts.entries(here):
            if entry.is_folder and not entry.is_link:
                pending.append(posixpath.join(here, entry.name))
            else:
                yield entry.name
