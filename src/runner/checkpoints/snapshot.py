"""Turn the work tree as it is into a git tree object, and touch nothing else.

Taken are files that are tracked or could be: untracked ones too, ignored ones not. Left out are
what can't be read, files beyond a size, what is hidden from agents, who could make git list it, and
nested repositories unless they are asked for. Of `.runner` only `status.json` is taken: what else stands there is the user's configuration or the
runner's own state.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runner.checkpoints.folder_digest import NOTE_NAME
from runner.checkpoints.hidden_files import HiddenFiles
from runner.checkpoints.isolated_git import GitError, ShadowGit, project_git
from runner.checkpoints.repository import folder_alone
from runner.checkpoints.unversioned import identity_of, look_time
from runner.deliverables.workspace import STATE_DIRECTORY, STATUS_FILE
from runner.errors import RunnerError
from runner.files import read_regular, walk_folders, write_atomic

MAX_FILE_BYTES = 50 * 1024 * 1024
"""Greater files are left out of checkpoints, and a rollback leaves them alone."""

_UNTRACKED = ("ls-files", "-z", "--others", "--exclude-standard")
_LISTING_SECONDS = 120.0
_ADD = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_BY_ID = ("update-index", "-z", "--add", "--replace", "--index-info")
_MANY = 100
_MAX_NESTED = 100
_MAX_NOTES_BYTES = 512 * 1024 * 1024
_STATE = os.fsencode(f"{STATE_DIRECTORY}/")
_STATUS = os.fsencode(f"{STATE_DIRECTORY}/{STATUS_FILE}")
ALWAYS = (_STATUS, os.fsencode(NOTE_NAME))
"""What is taken whether it is ignored or not: what the runner and its agents keep themselves."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A work tree at one moment.

    Attributes:
        tree: the id of the git tree, rooted at the project.
        nested: folders with a repository of their own.
        left_out: files that were too large or could not be read, or that git refuses.
        paths: all files that the tree holds.
    """

    tree: str
    nested: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    paths: frozenset[bytes] = field(default=frozenset(), repr=False)


def take_snapshot(
    git: ShadowGit,
    index: Path,
    *,
    max_file_bytes: int | None = MAX_FILE_BYTES,
    also: Iterable[bytes] = (),
    into_nested: bool = False,
) -> Snapshot:
    """Write the project's files into the object store and return their tree.

    The objects are not durable before `sealing.seal`.

    Args:
        index: an index of ours; what it remembers of files spares reading them again.
        max_file_bytes: None for no limit.
        also: paths to take where they exist, ignored, hidden from agents, or not.
        into_nested: whether files of nested repositories are taken.

    Raises:
        GitError: it could not be done.
    """
    project = git.repository.project
    hidden = HiddenFiles(project)
    listed = {path for path in _listed(git) if path not in hidden}
    sorted_out = _sort_out(project, listed | set(also), max_file_bytes)
    nested = frozenset(path.rstrip(b"/") for path in sorted_out.nested)
    if into_nested and nested:
        inner = {path for path in _listed_in(project, nested) if path not in hidden}
        sorted_out.add(_sort_out(project, inner, max_file_bytes))
        index = _copied(index, index.with_name(f"nested-{index.name}"))
    try:
        _fill(git, index, sorted_out.taken)
    except GitError:
        index.unlink(missing_ok=True)  # a damaged index, or a lock that a killed git left
        _lock(index).unlink(missing_ok=True)
        _fill(git, index, sorted_out.taken)
    held = frozenset(names(git.run("ls-files", "-z", index=index)))
    refused = sorted_out.taken.keys() - held
    return Snapshot(
        _write_tree(git, index, empty=not held),
        tuple(sorted(os.fsdecode(path) for path in nested)),
        tuple(sorted(os.fsdecode(path) for path in sorted_out.left_out | refused)),
        held,
    )


def is_inside(path: bytes) -> bool:
    """Whether a name that git lists can only be that of a file of the project.

    An agent can write any name into the repository's index.
    """
    parts = path.removesuffix(b"/").split(b"/")
    return all(part not in (b"", b".", b"..") and part.lower() != b".git" for part in parts)


def names(output: bytes) -> set[bytes]:
    """Split what git prints with -z."""
    return {name for name in output.split(b"\0") if name}


def _listed(git: ShadowGit) -> set[bytes]:
    """Return what could be in the tree: all that is not ignored, and what is tracked anyway.

    The repository's index only adds to it: an agent can write it, and hide nothing that way.
    """
    with project_git(git.repository) as theirs:
        try:
            there = theirs.run(*_UNTRACKED, seconds=_LISTING_SECONDS)
        except GitError as error:
            raise _pipe_in_the_way(git.repository.top) or error from error
        return names(there) | _tracked(theirs) | set(ALWAYS)


def _pipe_in_the_way(top: Path) -> GitError | None:
    """Return what to say where git waits for a `.gitignore` that is a pipe."""
    for folder, _, files in walk_folders(top):
        path = Path(folder, ".gitignore")
        if ".gitignore" in files and path.is_fifo():
            return GitError(f"{path} is a pipe, and git waits for it.", hint="Remove it.")
    return None


def _tracked(theirs: ShadowGit) -> set[bytes]:
    index = theirs.repository.index
    try:
        if index is None or not stat.S_ISREG(index.lstat().st_mode):
            return set()
        return names(theirs.run("ls-files", "-z", "--cached", index=index))
    except (OSError, GitError):  # an index that only the repository's own folder explains
        return set()


def _listed_in(project: Path, nested: Iterable[bytes]) -> set[bytes]:
    """Return the files of nested repositories that they do not ignore, of those in them too."""
    found: set[bytes] = set()
    pending, looked_into = list(nested), 0
    while pending and looked_into < _MAX_NESTED:
        folder, looked_into = pending.pop(), looked_into + 1
        try:
            with project_git(folder_alone(project / os.fsdecode(folder))) as inner:
                listed = names(inner.run(*_UNTRACKED, seconds=_LISTING_SECONDS))
        except RunnerError:  # its files are in the manifest of what no tree holds
            continue
        pending += [folder + b"/" + name.rstrip(b"/") for name in listed if name.endswith(b"/")]
        found |= {folder + b"/" + name for name in listed if not name.endswith(b"/")}
    return found


def _copied(index: Path, target: Path) -> Path:
    """Give an index that is not there yet what another one remembers."""
    if not target.exists():
        for source, copy in ((index, target), (_notes(index), _notes(target))):
            with suppress(OSError):
                shutil.copyfile(source, copy)
    return target


@dataclass(slots=True)
class _SortedOut:
    """Attributes: taken: the identity of each file, as `identity_of` has it."""

    taken: dict[bytes, tuple[int, int, int]] = field(default_factory=dict)
    nested: set[bytes] = field(default_factory=set)
    left_out: set[bytes] = field(default_factory=set)

    def add(self, other: "_SortedOut") -> None:
        self.taken |= other.taken
        self.left_out |= other.left_out


def _sort_out(project: Path, paths: Iterable[bytes], limit: int | None) -> _SortedOut:
    found, root, now = _SortedOut(), os.fsencode(project), look_time(os.fsencode(project))
    folders: dict[bytes, bool] = {b"": True}
    for path in paths:
        if (path.startswith(_STATE) and path != _STATUS) or not is_inside(path):
            continue
        if not _in_real_folders(root, os.path.dirname(path.rstrip(b"/")), folders):  # noqa: PTH120
            continue
        with suppress(OSError):
            full = os.path.join(root, path)  # noqa: PTH118 - bytes
            entry = os.lstat(full)
            if stat.S_ISDIR(entry.st_mode):
                found.nested.add(path)
            elif stat.S_ISLNK(entry.st_mode):
                found.taken[path] = identity_of(entry, now)
            elif stat.S_ISREG(entry.st_mode):
                fits = limit is None or entry.st_size <= limit
                if fits and os.access(full, os.R_OK):
                    found.taken[path] = identity_of(entry, now)
                else:
                    found.left_out.add(path)
    return found


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


def _fill(git: ShadowGit, index: Path, taken: Mapping[bytes, tuple[int, int, int]]) -> None:
    """Bring the index to what is taken.

    git may remember the times of a file in seconds. So our own notes decide which files are
    certainly those of the last time, and the others are read again.
    """
    _lock(index).unlink(missing_ok=True)
    before = names(git.run("ls-files", "-z", index=index)) if index.exists() else set()
    noted = _noted(index)
    sure = {path for path in before if path in taken and noted.get(path) == taken[path]}
    new = taken.keys() - sure
    if before - sure:
        words = ("update-index", "-z", "--force-remove", "--stdin")
        git.run(*words, index=index, stdin=_lines(before - sure))
    if len(new) > _MANY:
        with suppress(GitError, OSError):  # one path that git refuses spoils all of them
            git.run(*_BY_ID, index=index, stdin=_written(git, new))
    if new:
        git.run(*_ADD, index=index, stdin=_lines(new))
    _note(index, taken)


def _written(git: ShadowGit, paths: Iterable[bytes]) -> bytes:
    """Write files into one pack, and return the lines that give them to an index.

    Many loose objects take a file system minutes.
    """
    root, marks = os.fsencode(git.repository.project), git.folder / "marks"
    modes: list[tuple[bytes, bytes]] = []

    def contents() -> Iterator[bytes]:
        for path in sorted(paths):
            with suppress(OSError):
                mode, content = _content(os.path.join(root, path))  # noqa: PTH118 - bytes
                modes.append((mode, path))
                yield b"blob\nmark :%d\ndata %d\n" % (len(modes), len(content))
                yield content + b"\n"

    git.feed(("fast-import", "--quiet", "--depth=0", f"--export-marks={marks}"), contents())
    lines = []
    for line in marks.read_bytes().splitlines():
        number, name = line[1:].split(b" ")
        mode, path = modes[int(number) - 1]
        lines.append(b"%s %s\t%s\0" % (mode, name, path))
    return b"".join(lines)


def _content(path: bytes) -> tuple[bytes, bytes]:
    """Return git's mode and the content of a file or link. Raises OSError."""
    if stat.S_ISLNK(os.lstat(path).st_mode):
        return b"120000", os.readlink(path)  # noqa: PTH115 - bytes
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return (b"100755" if mode & stat.S_IXUSR else b"100644"), file.read()


def _noted(index: Path) -> dict[bytes, tuple[int, ...]]:
    """Return the identity that each file had when the index got it."""
    found = {}
    with suppress(OSError, ValueError):
        for line in read_regular(_notes(index), limit=_MAX_NOTES_BYTES).split(b"\0"):
            *numbers, path = line.split(b" ", 3)
            found[path] = tuple(int(number) for number in numbers)
    return found


def _note(index: Path, taken: Mapping[bytes, tuple[int, int, int]]) -> None:
    certain = (item for item in taken.items() if any(item[1]))
    write_atomic(_notes(index), b"\0".join(b"%d %d %d " % seen + path for path, seen in certain))


def _notes(index: Path) -> Path:
    return index.with_name(f"{index.name}-notes")


def _write_tree(git: ShadowGit, index: Path, *, empty: bool) -> str:
    if empty:
        return git.run("mktree", index=index).decode().strip()
    return git.run("write-tree", index=index).decode().strip()


def _lock(index: Path) -> Path:
    return index.with_name(f"{index.name}.lock")


def _lines(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))
