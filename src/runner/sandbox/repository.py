"""Which parts of a git repository the agent may write.

Commits must work, so `.git` is writable as a whole; but what makes git run programs (its
configuration and hooks) is not, for whoever runs git there next runs it outside. A folder above
a read-only file is mounted on itself: what is a mount point can't be renamed out of the way.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.repository import is_shared_folder, linked_folder
from runner.files import read_regular

_PROTECTED = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir")
_ENSURED = ("hooks", "info")
_OF_WORK_TREES = ("config.worktree", "commondir", "gitdir")
_REDIRECTION = "commondir"
_OF_OBJECTS = re.compile(r"[0-9a-f]{2}|pack")
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


def redirections(project: Path) -> frozenset[Path]:
    """Return each `commondir` in the repository where git makes none.

    With such a file git reads its configuration from another folder. It can't be kept from
    being made while commits are possible.
    """
    return frozenset(
        path
        for folder in _whole_repositories(project)
        if os.path.lexists(path := folder / _REDIRECTION)
    )


def undo_redirections(project: Path, before: Collection[Path]) -> list[tuple[Path, Path | None]]:
    """Take away what redirects git, and was not there before.

    Returns:
        Each with the place where it is now; None where it could not be moved.
    """
    return [(path, _taken_away(path)) for path in sorted(redirections(project) - {*before})]


def _taken_away(path: Path) -> Path | None:
    names = (f"{path.name}.taken-away-by-runner{end}" for end in ("", *map(str, range(2, 100))))
    free = next((path.with_name(n) for n in names if not os.path.lexists(path.with_name(n))), None)
    if free is None:
        free = path.with_name(f"{path.name}.taken-away-by-runner-{os.urandom(8).hex()}")
    try:
        folder = path.parent
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IRWXU)
        path.rename(free)
    except OSError:
        return None
    return free


def _whole_repositories(project: Path) -> Iterator[Path]:
    """Yield the git folders that share nothing: the project's, or its common one, and submodules'."""
    dot_git = project / ".git"
    if dot_git.is_symlink():
        return
    git = dot_git if dot_git.is_dir() else linked_folder(dot_git, project)
    if git is None:
        return
    if git != dot_git:
        shared = _text(git / _REDIRECTION).strip()
        common = (git / shared).resolve() if shared else git
        if common != git and not is_shared_folder(common, git, project):
            return
        git = common
    yield git
    yield from _modules(git)


def _own(git: Path) -> Iterator[Mount]:
    yield Mount(git, writable=True)
    yield from _parts(git)
    yield from _work_trees(git)
    for module in _modules(git):
        # What is above a mount point can't be renamed only if it is one, too.
        above = [folder for folder in module.parents if git in folder.parents]
        yield from (Mount(folder, writable=True) for folder in reversed(above))
        yield Mount(module, writable=True)
        yield from _parts(module)


def _parts(git: Path) -> Iterator[Mount]:
    _ensure(git)
    yield from _read_only(git, _PROTECTED)


def _work_trees(git: Path) -> Iterator[Mount]:
    """Yield the mounts for what other work trees of this repository obey: they are elsewhere.

    One whose files are gone can be pruned.
    """
    folder = git / "worktrees"
    if folder.is_symlink() or not folder.is_dir():
        return
    for tree in _folders(folder):
        place = _text(tree / "gitdir").strip()
        if place and os.path.lexists(tree / place):
            yield Mount(folder, writable=True)
            yield Mount(tree, writable=True)
            _ensure_configuration(tree, git)
            yield from _read_only(tree, _OF_WORK_TREES)


def _modules(git: Path) -> Iterator[Path]:
    """Yield the git folders of submodules, however deep their names are.

    Agents can take away or add most files in them, but not the configuration. So each folder with
    one counts, and others are looked for also below.
    """
    modules = git / "modules"
    pending = [] if modules.is_symlink() else [modules]
    while pending:
        for child in _folders(pending.pop()):
            if any((child / name).is_file() for name in ("config", "HEAD")):
                yield child
            elif child.parent.name == "objects" and _OF_OBJECTS.fullmatch(child.name):
                continue
            pending.append(child)


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _ensure(git: Path) -> None:
    try:
        for name in _ENSURED:
            (git / name).mkdir(exist_ok=True)
    except OSError:
        return
    _ensure_configuration(git, git)


def _ensure_configuration(folder: Path, shared: Path) -> None:
    """Make the configuration of a work tree, empty, where git would read one."""
    with suppress(OSError):
        if "worktreeconfig" in _text(shared / "config").lower():
            flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            os.close(os.open(folder / "config.worktree", flags, 0o644))


def _read_only(git: Path, names: Sequence[str]) -> Iterator[Mount]:
    for name in names:
        path = git / name
        # A link could lead the mount to any file of the user's.
        if path.exists() and not path.is_symlink():
            yield Mount(path, writable=False)


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
