"""What tells one work tree from another, so that a verification counts for the tree it ran on.

Taken is what would be committed, tracked or not, and the note. Ignored files are left out where git
says what those are, else the folders that a clean room leaves out, too. `.runner` is the runner's own.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from runner.checkpoints.checkout import GENERATED_FOLDERS
from runner.checkpoints.folder_digest import NOTE_NAME, content_digest, walk
from runner.checkpoints.isolated_git import GitError, ShadowGit, project_git
from runner.checkpoints.repository import find_repository
from runner.checkpoints.snapshot import is_inside
from runner.deliverables.workspace import STATE_DIRECTORY

_NOT_WORK = frozenset({STATE_DIRECTORY, ".git"})


def tree_identity(project_dir: Path) -> str:
    """Return what identifies the project's files as they are: a digest of paths, modes, contents.

    Raises:
        OSError: the project can't be read.
    """
    project = project_dir.resolve()
    paths = _committable(project)
    if paths is None:
        paths = _below(project, GENERATED_FOLDERS)
    total = hashlib.sha256()
    for path in sorted(set(paths)):
        total.update(os.fsencode(path) + b"\0" + _digest(project / path) + b"\0")
    return total.hexdigest()


def _committable(project: Path) -> Iterable[str] | None:
    """Return the paths that git would commit, None where git can't say."""
    repository = find_repository(project)
    if repository is None:
        return None
    try:
        with project_git(repository) as git:
            return [path for name in _listed(git) for path in _files(project, name)]
    except GitError:
        return None


def _listed(git: ShadowGit) -> Iterator[str]:
    found = git.run("ls-files", "-z", "--others", "--exclude-standard")
    index = git.repository.index
    if index is not None:
        with suppress(GitError):  # without an index nothing is tracked
            found += git.run("ls-files", "-z", "--cached", index=index)
    yield from (os.fsdecode(name) for name in found.split(b"\0") if is_inside(name))
    yield NOTE_NAME


def _files(project: Path, name: str) -> Iterator[str]:
    """Yield the file of that name, or the files below it: git does not look into repositories."""
    if Path(name).parts[0] in _NOT_WORK:
        return
    path = project / name
    if path.is_dir() and not path.is_symlink():
        yield from (f"{name.rstrip('/')}/{inner}" for inner in _below(path, frozenset()))
    else:
        yield name


def _below(root: Path, folders: frozenset[str]) -> Iterator[str]:
    def skip(entry: os.DirEntry[str]) -> bool:
        if not entry.is_dir(follow_symlinks=False):
            return False
        is_state = entry.name == STATE_DIRECTORY and Path(entry.path).parent == root
        return is_state or entry.name == ".git" or entry.name in folders

    for entry, found in walk(str(root), skip):
        if not stat.S_ISDIR(found.st_mode):
            yield os.path.relpath(entry.path, root)


def _digest(path: Path) -> bytes:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return b"gone"
    mode = b"x" if found.st_mode & stat.S_IXUSR else b"-"
    return mode + content_digest(str(path), found, large_bytes=found.st_size)
