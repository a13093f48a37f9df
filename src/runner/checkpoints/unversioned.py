"""Files of a project that no git tree holds: ignored ones, large ones, and parts of `.git`.

A manifest says of each what it is and the hash of its content. What has the same inode, size and
times as before is not read again: the change time among them can't be set back. Where a file
system does not note every write (`times_tell`), all is read again.
"""

import hashlib
import mmap
import os
import re
import stat
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from runner.checkpoints.folder_digest import output_files
from runner.deliverables.workspace import STATE_DIRECTORY

MAX_ENTRIES = 1_000_000
"""What stands beyond so many files is not looked at."""

MAX_HASHED_BYTES = 1024**3
"""Beyond so many bytes in one pass, inode, size and times stand for a file's content."""

_RECENT_NS = 2_000_000_000  # the coarsest clock of a file system that is in use
_CHUNK_BYTES = 1024 * 1024
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_FIELDS = 7
_OURS = re.compile(rb"(?:autonomy|logs)|\..+\.tmp")
# What git itself writes into `.git` all the time; it decides nothing about how files are run.
_GIT_DATA = re.compile(
    rb"""
    (?:(?:modules|worktrees)/(?:.+/)?)?
    (?:
        objects/(?:[0-9a-f]{2}/(?:[0-9a-f]{38}|[0-9a-f]{62}|tmp_obj_\w+)|pack/[\w.-]+)
      | objects/info/(?:packs|commit-graph\S*) | (?:refs|logs|lfs|rr-cache)/.*
      | (?:rebase-merge|rebase-apply|sequencer)/.* | HEAD | \w+_HEAD | index | sharedindex\.\w+
      | packed-refs | shallow | description | \w+_(?:MSG|EDITMSG|MODE|RR|LOG|MERGE) | gc\.(?:log|pid)
      | [\w./-]+\.lock | info/refs
    )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class UnversionedEntry:
    """One file, link or special file; or a folder that could not be looked into.

    Attributes:
        mode: type and permissions.
        size: in bytes.
        identity: inode, time of modification, time of change; all 0 where the file is so young
            that another write might leave them as they are.
        digest: SHA-256 of the content in lower-case hex, a link's target in hex behind `>`, or
            "" where the content was not read.
    """

    mode: int
    size: int
    identity: tuple[int, int, int]
    digest: str = ""

    @property
    def is_executable(self) -> bool:
        return stat.S_ISREG(self.mode) and bool(self.mode & 0o111)

    @property
    def is_unread_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    def is_untouched(self, earlier: Self) -> bool:
        """Whether the file is certainly the one that it was."""
        same = (self.mode, self.size, self.identity) == (
            earlier.mode, earlier.size, earlier.identity,
        )  # fmt: skip
        return same and any(self.identity)

    def is_same(self, earlier: Self) -> bool:
        """Whether mode and content are what they were, as far as they were read."""
        if self.is_untouched(earlier):
            return True
        alike = (self.mode, self.size) == (earlier.mode, earlier.size)
        if self.digest and earlier.digest:
            return alike and self.digest == earlier.digest
        return alike and not stat.S_ISREG(self.mode) and self.digest == earlier.digest


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stood in a project beside its tree.

    Attributes:
        entries: by path relative to the project.
        is_complete: False where there were more than MAX_ENTRIES.
    """

    entries: Mapping[bytes, UnversionedEntry]
    is_complete: bool = True

    def encode(self) -> bytes:
        """Return the manifest as bytes, in the order of paths."""
        head = b"complete" if self.is_complete else b"cut"
        lines = (_encoded(path, entry) for path, entry in sorted(self.entries.items()))
        return b"\0".join((head, *lines))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return what `encode` made. Raises ValueError."""
        head, *lines = data.split(b"\0")
        if head not in (b"complete", b"cut"):
            raise ValueError("it is no manifest")
        return cls(dict(_decoded(line) for line in lines), head == b"complete")


@dataclass(frozen=True, slots=True)
class Differences:
    """How two manifests differ: paths in order, with what stands there now (or stood)."""

    added: Mapping[bytes, UnversionedEntry]
    changed: Mapping[bytes, UnversionedEntry]
    removed: Mapping[bytes, UnversionedEntry]


def scan(root: bytes, tree: Collection[bytes], known: Manifest) -> Manifest:
    """Return the manifest of a project as it is.

    Args:
        root: the project's folder.
        tree: the paths that the tree holds; they are left out.
        known: an earlier manifest, whose digests are taken over for untouched files.
    """
    limit, now = MAX_HASHED_BYTES, look_time(root)
    found: dict[bytes, UnversionedEntry] = {}
    for path, status in _walk(root):
        if path in tree:
            continue
        if len(found) >= MAX_ENTRIES:
            return Manifest(found, is_complete=False)
        entry = UnversionedEntry(status.st_mode, status.st_size, identity_of(status, now))
        earlier = known.entries.get(path)
        if earlier is not None and entry.is_untouched(earlier) and earlier.digest:
            found[path] = earlier
            continue
        if stat.S_ISREG(entry.mode):
            reads = entry.size <= limit
            limit -= entry.size if reads else 0
            digest = _file_digest(root + b"/" + path) if reads else ""
        else:
            digest = _target(root + b"/" + path) if stat.S_ISLNK(entry.mode) else ""
        found[path] = UnversionedEntry(entry.mode, entry.size, entry.identity, digest)
    return Manifest(found)


def compare(before: Manifest, now: Manifest, tree: Collection[bytes]) -> Differences:
    """Return what differs.

    Args:
        tree: the paths that the tree holds now: what is there was not removed.
    """
    old, new = before.entries, now.entries
    both = old.keys() & new.keys()
    changed = sorted(path for path in both if not new[path].is_same(old[path]))
    return Differences(
        added={path: new[path] for path in sorted(new.keys() - both)},
        changed={path: new[path] for path in changed},
        removed={path: old[path] for path in sorted(old.keys() - both) if path not in tree},
    )


def look_time(root: bytes) -> int:
    """Return the time for `identity_of` before a look at a project; 0 where times tell nothing."""
    return time.time_ns() if times_tell(Path(os.fsdecode(root), STATE_DIRECTORY)) else 0


@cache
def times_tell(folder: Path) -> bool:
    """Whether the file system of `folder` notes writes through shared memory in a file's times.

    tmpfs does not. Where this can't be tried, it does not either.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".times-", suffix=".tmp") as file:
            file.write(b"..")
            file.flush()
            os.utime(file.name, ns=(0, 0))
            with mmap.mmap(file.fileno(), 0) as memory:
                # A page that is read first is not asked for again when it is written.
                memory[0:1] = memory[1:2]
            return os.fstat(file.fileno()).st_mtime_ns != 0
    except (OSError, ValueError):
        return False


def identity_of(status: os.stat_result, now_ns: int) -> tuple[int, int, int]:
    """Return what changes with every write to a file.

    Args:
        now_ns: a time before `status` was taken (`look_time`).
    """
    youngest = max(status.st_mtime_ns, status.st_ctime_ns)
    if youngest > now_ns - _RECENT_NS:
        return (0, 0, 0)
    return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _walk(root: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield everything but folders below `root`, the highest first, and folders that can't be read.

    Left out are the runner's own state, what git writes all the time, and files that our own
    output goes to.
    """
    own = output_files()
    level: list[bytes] = [b""]
    while level:
        deeper: list[bytes] = []
        for folder in level:
            try:
                entries = sorted(os.scandir(root + b"/" + folder), key=lambda entry: entry.name)
            except OSError:
                yield from _unread(root, folder)
                continue
            for entry in entries:
                path = folder + entry.name
                if _is_ours(path):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    deeper.append(path + b"/")
                elif (status.st_dev, status.st_ino) not in own and not _is_git_data(path):
                    yield path, status
        level = deeper


def _unread(root: bytes, folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    try:
        yield folder.rstrip(b"/"), os.lstat(root + b"/" + folder.rstrip(b"/"))
    except OSError:
        return


def _is_ours(path: bytes) -> bool:
    folder, slash, name = path.partition(b"/")
    state = os.fsencode(STATE_DIRECTORY)
    return folder == state and bool(slash) and _OURS.fullmatch(name) is not None


def _is_git_data(path: bytes) -> bool:
    _, git, inside = (b"/" + path).partition(b"/.git/")
    return bool(git) and _GIT_DATA.fullmatch(inside) is not None


def _file_digest(path: bytes) -> str:
    digest = hashlib.sha256()
    try:
        with open(os.open(path, _READ_FLAGS), "rb", buffering=0) as file:  # noqa: PTH123
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


def _target(path: bytes) -> str:
    try:
        return ">" + os.readlink(path).hex()  # noqa: PTH115 - bytes
    except OSError:
        return ""


def _encoded(path: bytes, entry: UnversionedEntry) -> bytes:
    numbers = (entry.mode, entry.size, *entry.identity)
    return b"%d %d %d %d %d " % numbers + entry.digest.encode("ascii") + b" " + path


def _decoded(line: bytes) -> tuple[bytes, UnversionedEntry]:
    mode, size, inode, modified, changed, digest, path = line.split(b" ", _FIELDS - 1)
    identity = (int(inode), int(modified), int(changed))
    return path, UnversionedEntry(int(mode), int(size), identity, digest.decode("ascii"))
