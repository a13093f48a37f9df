"""The proof that a read-only session left the project alone: a manifest before and after.

It is the third of three means (DESIGN §4), and the only one that does not trust the other two.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.folder_digest import (
    NOTE_NAME,
    TOOL_FILES,
    TOOL_FOLDERS,
    content_digest,
    walk,
)
from runner.checkpoints.unversioned import times_tell
from runner.deliverables.workspace import STATE_DIRECTORY

_LARGE_BYTES = 64 * 1024 * 1024
# What the agent's own sandbox leaves behind, and the index, which `git status` refreshes.
_LEFT_OUT = frozenset(
    {
        ".runner", NOTE_NAME, ".claude/.cc-writes", ".git/config.worktree", ".git/index",
        ".git/objects/info/alternates",
    }
)  # fmt: skip
_REPOSITORY = ".git/"
_OBJECTS = ".git/objects/"


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One file, link or folder.

    Attributes:
        identity: everything that changes when the content may have (inode, size, times); the
            change time among them can't be set back, so that an equal identity needs no read.
        mode: type and permissions.
    """

    identity: tuple[int, ...]
    mode: int
    digest: bytes


Manifest = Mapping[str, ManifestEntry]
"""Path relative to the project → what stands there."""


def tree_manifest(project: Path, known: Manifest | None = None) -> Manifest:
    """Return what stands in the project, content hashes included.

    Left out are `.runner/`, the note, tool and build folders (`node_modules`, `target`, …), and
    what git and the agent's sandbox write in passing. Objects of git are compared by size and
    time: their name is their hash.

    Args:
        known: an earlier manifest; what has not been touched since is not read again.
    """
    root = os.fspath(project)
    start = len(root.rstrip("/")) + 1
    earlier = known or {}
    trusted = bool(earlier) and times_tell(project / STATE_DIRECTORY)

    def skip(entry: os.DirEntry[str]) -> bool:
        path = entry.path[start:]
        if path in _LEFT_OUT:
            return True
        names = TOOL_FOLDERS if entry.is_dir(follow_symlinks=False) else TOOL_FILES
        # A branch may be called `build`.
        return entry.name in names and not path.startswith(_REPOSITORY)

    return {
        entry.path[start:]: _look(entry.path, found, entry.path[start:], earlier, trusted=trusted)
        for entry, found in walk(root, skip)
    }


def compare(before: Manifest, after: Manifest) -> tuple[str, ...]:
    """Return the paths that were created, changed or deleted, sorted; modes count, times don't."""
    return tuple(sorted(_differences(before, after)))


def _differences(before: Manifest, after: Manifest) -> Iterator[str]:
    for path in before.keys() | after.keys():
        old, new = before.get(path), after.get(path)
        if old is None or new is None or (old.mode, old.digest) != (new.mode, new.digest):
            yield path


def _look(
    path: str, found: os.stat_result, name: str, earlier: Manifest, *, trusted: bool
) -> ManifestEntry:
    identity = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    before = earlier.get(name)
    if before is not None and before.identity == identity and trusted:
        return ManifestEntry(identity, found.st_mode, before.digest)
    if stat.S_ISDIR(found.st_mode):
        return ManifestEntry(identity, found.st_mode, b"")
    large = 0 if name.startswith(_OBJECTS) else _LARGE_BYTES
    return ManifestEntry(identity, found.st_mode, content_digest(path, found, large_bytes=large))
