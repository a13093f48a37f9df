"""Find the git repository of a project by looking at files, without running git.

The agent may have made it, or parts of it. Nothing is written into it. Of a repository that leads
out of its own folder nothing is read either.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from runner.files import read_regular
from runner.reach import reach_of

_GITDIR = re.compile(r"gitdir: (.+)")
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*\"?(.+?)\"?\s*$", re.MULTILINE)
_FORMAT = re.compile(r"^\s*objectformat\s*=\s*\"?(\w+)\"?\s*$", re.MULTILINE | re.IGNORECASE)
_SMALL = 64 * 1024


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a project's git repository is.

    Attributes:
        project: the project's folder; `top` or a folder in it.
        top: the root of the work tree.
        git_dir: what is this work tree's own, its HEAD and index; None where it can't be trusted.
        common: what it shares with other work trees, its objects; None likewise.
        object_format: `sha1` or `sha256`.
    """

    project: Path
    top: Path
    git_dir: Path | None = None
    common: Path | None = None
    object_format: str = "sha1"

    @property
    def objects(self) -> Path | None:
        return self.common / "objects" if self.common is not None else None

    @property
    def index(self) -> Path | None:
        return self.git_dir / "index" if self.git_dir is not None else None

    @property
    def prefix(self) -> str:
        """The project's path in the work tree with a slash behind it; "" when it is the root."""
        inside = self.project.relative_to(self.top).as_posix()
        return "" if inside == "." else f"{inside}/"

    @property
    def exclude(self) -> Path | None:
        """The file with what is ignored in this repository alone."""
        return self.common / "info" / "exclude" if self.common is not None else None


def find_repository(project: Path) -> Repository | None:
    """Return the repository that `project` is in, None when there is none.

    One that can't be trusted has only its place: nothing of it may be read.
    """
    project = project.resolve()
    for top in (project, *project.parents):
        dot_git = top / ".git"
        if os.path.lexists(dot_git):
            return _repository(project, top, dot_git)
    return None


def folder_alone(project: Path) -> Repository:
    """Return what stands for a repository where there is none (any more)."""
    project = project.resolve()
    return Repository(project, project)


def _repository(project: Path, top: Path, dot_git: Path) -> Repository:
    nothing = Repository(project, top)
    if dot_git.is_symlink():
        return nothing
    git_dir = dot_git if dot_git.is_dir() else linked_folder(dot_git, project)
    if git_dir is None or not (git_dir / "HEAD").is_file():
        return nothing
    shared = _text(git_dir / "commondir").strip()
    common = (git_dir / shared).resolve() if shared else git_dir
    if common != git_dir and not is_shared_folder(common, git_dir, project):
        return nothing  # no git makes this; it would be a way to another repository
    if not _stays_inside(common):
        return nothing
    named = _FORMAT.search(_text(common / "config"))
    return Repository(project, top, git_dir, common, named[1].lower() if named else "sha1")


def linked_folder(dot_git: Path, project: Path) -> Path | None:
    """Return where the `.git` file of a linked work tree or submodule leads, if that leads back.

    An agent can write such a file, and whatever else is in its reach: only a folder where it can't
    write is believed.
    """
    named = _GITDIR.match(_text(dot_git))
    if named is None:
        return None
    git_dir = (dot_git.parent / named[1].strip()).resolve()
    if reach_of(project).problem(git_dir / "HEAD") is not None:
        return None
    back = _text(git_dir / "gitdir").strip()
    if back and (git_dir / back).resolve() == dot_git:
        return git_dir
    tree = _WORKTREE.search(_text(git_dir / "config"))
    if tree is not None and (git_dir / tree[1]).resolve() == dot_git.parent:
        return git_dir
    return None


def is_shared_folder(common: Path, git_dir: Path, project: Path) -> bool:
    """Whether `common` is what a linked work tree shares: git keeps its own folder there."""
    if git_dir.parent != common / "worktrees" or project.is_relative_to(common):
        return False
    return reach_of(project).problem(common / "HEAD") is None


def _stays_inside(common: Path) -> bool:
    """Whether what is read of the repository is in it: no link in the folders for objects."""
    objects = common / "objects"
    if objects.is_symlink() or not objects.is_dir():
        return False
    try:
        with os.scandir(objects) as entries:
            return not any(entry.is_symlink() for entry in entries)
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        return read_regular(path, limit=_SMALL).decode("utf-8", errors="replace")
    except OSError:
        return ""
