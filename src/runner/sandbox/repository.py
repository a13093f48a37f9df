"""Which parts of a git repository the agent may write.

Commits must work, so `.git` is writable as a whole; but what makes git run programs (its
configuration and hooks) is not, for whoever runs git there next runs it outside. A folder above
a read-only file is mounted on itself: what is a mount point can't be renamed out of the way.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.repository import is_shared_folder, linked_folder
from runner.files import read_regular

_PROTECTED = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir")
_ENSURED = ("hooks", "info")
_MODULE_DEPTH = 4
_SMALL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of the project's repository, and whether the agent may write it."""

    path: Path
    writable: bool


def repository_mounts(project: Path) -> list[Mount]:
    """Return the mounts for the project's repository, in the order in which to make them.

    Creates the folders for hooks and for what is ignored where they are missing: what is not
    there can't be protected.
    """
    dot_git = project / ".git"
    if dot_git.is_symlink():
        return []
    if dot_git.is_dir():
        return list(_own(dot_git))
    return list(_linked(dot_git)) if dot_git.is_file() else []


def unprotected(project: Path) -> list[Path]:
    """Return what should be protected and can't be, because it is a symbolic link."""
    dot_git = project / ".git"
    places = (dot_git, *(dot_git / name for name in _PROTECTED))
    return [path for path in places if path.is_symlink()]


def undo_redirection(project: Path, *, existed: bool) -> Path | None:
    """Take away a `.git/commondir` that was made meanwhile; return where it went.

    With such a file git reads its configuration from another folder. It can't be kept from
    being made while commits are possible.
    """
    redirection = project / ".git" / "commondir"
    if existed or redirection.parent.is_symlink() or not redirection.is_file():
        return None
    moved = redirection.with_name("commondir.taken-away-by-runner")
    try:
        redirection.replace(moved)
    except OSError:
        return redirection
    return moved


def _own(git: Path) -> Iterator[Mount]:
    yield Mount(git, writable=True)
    _ensure(git)
    yield from _read_only(git)
    modules = git / "modules"
    if modules.is_dir() and not modules.is_symlink():
        yield from _modules(modules, _MODULE_DEPTH)


def _ensure(git: Path) -> None:
    try:
        for name in _ENSURED:
            (git / name).mkdir(exist_ok=True)
        if "worktreeconfig" in _text(git / "config").lower():
            flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            os.close(os.open(git / "config.worktree", flags, 0o644))
    except OSError:
        return


def _read_only(git: Path) -> Iterator[Mount]:
    for name in _PROTECTED:
        path = git / name
        # A link could lead the mount to any file of the user's.
        if path.exists() and not path.is_symlink():
            yield Mount(path, writable=False)


def _modules(folder: Path, depth: int) -> Iterator[Mount]:
    yield Mount(folder, writable=True)
    for child in sorted(folder.iterdir()):
        if child.is_dir() and not child.is_symlink():
            if (child / "HEAD").is_file():
                yield from _own(child)
            elif depth > 0:
                yield from _modules(child, depth - 1)


def _linked(dot_git: Path) -> Iterator[Mount]:
    """Yield the mounts for a linked work tree or a submodule.

    Only a folder that points back at this project is believed: the file is the repository's
    to choose, and could name any folder of the user's.
    """
    yield Mount(dot_git, writable=False)
    git = linked_folder(dot_git, dot_git.parent)
    if git is None or not (git / "HEAD").is_file():
        return
    shared = _text(git / "commondir").strip()
    if shared:
        common = (git / shared).resolve()
        if not is_shared_folder(common, git, dot_git.parent):
            return
        yield from _own(common)
        yield Mount(git.parent, writable=True)
    yield from _own(git)


def _text(path: Path) -> str:
    try:
        return read_regular(path, limit=_SMALL_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
