"""Turn the work tree as it is into a git tree object, and touch nothing else.

Taken are files that are tracked or could be: untracked ones too, ignored ones not. Left out are
nested repositories, what can't be read, and files beyond a size. Of `.runner` only `status.json`
is taken: what else stands there is the user's configuration or the runner's own state.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runner.deliverables.workspace import STATE_DIRECTORY, STATUS_FILE
from runner.loop.shadow_git import GitError, ShadowGit
from runner.security.tree import NOTE_NAME

MAX_FILE_BYTES = 50 * 1024 * 1024
"""Greater files are left out of checkpoints, and a rollback leaves them alone."""

_STATE = os.fsencode(f"{STATE_DIRECTORY}/")
_STATUS = os.fsencode(f"{STATE_DIRECTORY}/{STATUS_FILE}")
ALWAYS = (_STATUS, os.fsencode(NOTE_NAME))
"""What is taken whether it is ignored or not: what the runner and its agents keep themselves."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A work tree at one moment.

    Attributes:
        tree: the id of the git tree, rooted at the project.
        nested: folders with a repository of their own, without what is in them.
        left_out: files that were too large or could not be read.
    """

    tree: str
    nested: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def take_snapshot(
    git: ShadowGit,
    index: Path,
    *,
    max_file_bytes: int | None = MAX_FILE_BYTES,
    also: Iterable[bytes] = (),
) -> Snapshot:
    """Write the project's files into the repository's objects and return their tree.

    Args:
        index: an index of ours; what it remembers of files spares reading them again.
        max_file_bytes: None for no limit.
        also: paths to take where they exist, ignored or not.

    Raises:
        GitError: it could not be done.
    """
    sorted_out = _sort_out(git.repository.project, _listed(git) | set(also), max_file_bytes)
    try:
        _fill(git, index, sorted_out.taken)
    except GitError:
        index.unlink(missing_ok=True)  # a damaged index, or a lock that a killed git left
        _lock(index).unlink(missing_ok=True)
        _fill(git, index, sorted_out.taken)
    return Snapshot(
        _write_tree(git, index, empty=not sorted_out.taken),
        tuple(sorted({os.fsdecode(path.rstrip(b"/")) for path in sorted_out.nested})),
        tuple(sorted(os.fsdecode(path) for path in sorted_out.left_out)),
    )


def names(output: bytes) -> set[bytes]:
    """Split what git prints with -z."""
    return {name for name in output.split(b"\0") if name}


def _listed(git: ShadowGit) -> set[bytes]:
    """Return what could be in the tree: all that is not ignored, and what is tracked anyway.

    The repository's index only adds to it: an agent can write it, and hide nothing that way.
    """
    there = git.run("ls-files", "-z", "--others", "--exclude-standard")
    try:
        tracked = git.run("ls-files", "-z", "--cached", index=git.repository.index)
    except GitError:  # an index that only the repository's own folder explains
        tracked = b""
    return names(there) | names(tracked) | set(ALWAYS)


@dataclass(slots=True)
class _SortedOut:
    taken: set[bytes] = field(default_factory=set)
    nested: set[bytes] = field(default_factory=set)
    left_out: set[bytes] = field(default_factory=set)


def _sort_out(project: Path, paths: Iterable[bytes], limit: int | None) -> _SortedOut:
    found, root = _SortedOut(), os.fsencode(project)
    folders: dict[bytes, bool] = {b"": True}
    for path in paths:
        if path.startswith(_STATE) and path != _STATUS:
            continue
        if not _in_real_folders(root, os.path.dirname(path.rstrip(b"/")), folders):  # noqa: PTH120
            continue
        with suppress(OSError):
            entry = os.lstat(os.path.join(root, path))  # noqa: PTH118 - bytes
            _place(found, path, entry, limit, root)
    return found


def _place(
    found: _SortedOut, path: bytes, entry: os.stat_result, limit: int | None, root: bytes
) -> None:
    if stat.S_ISDIR(entry.st_mode):
        found.nested.add(path)
    elif stat.S_ISLNK(entry.st_mode):
        found.taken.add(path)
    elif stat.S_ISREG(entry.st_mode):
        fits = limit is None or entry.st_size <= limit
        readable = os.access(os.path.join(root, path), os.R_OK)  # noqa: PTH118 - bytes
        (found.taken if fits and readable else found.left_out).add(path)


def _in_real_folders(root: bytes, folder: bytes, known: dict[bytes, bool]) -> bool:
    """Whether no link stands between the project and what is in `folder`."""
    if folder not in known:
        try:
            mode = os.lstat(os.path.join(root, folder)).st_mode  # noqa: PTH118 - bytes
            parent = os.path.dirname(folder)  # noqa: PTH120 - bytes
            known[folder] = stat.S_ISDIR(mode) and _in_real_folders(root, parent, known)
        except OSError:
            known[folder] = False
    return known[folder]


def _fill(git: ShadowGit, index: Path, taken: set[bytes]) -> None:
    _lock(index).unlink(missing_ok=True)
    before = names(git.run("ls-files", "-z", index=index)) if index.exists() else set()
    gone = before - taken
    if gone:
        git.run("update-index", "-z", "--force-remove", "--stdin", index=index, stdin=_lines(gone))
    words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
    git.run(*words, index=index, stdin=_lines(taken))


def _write_tree(git: ShadowGit, index: Path, *, empty: bool) -> str:
    if empty:
        return git.run("mktree", index=index).decode().strip()
    prefix = git.repository.prefix if git.work_tree == git.repository.top else ""
    words = [f"--prefix={prefix}"] if prefix else []
    return git.run("write-tree", *words, index=index).decode().strip()


def _lock(index: Path) -> Path:
    return index.with_name(f"{index.name}.lock")


def _lines(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))
