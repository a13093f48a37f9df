"""Notice whether a session changed the project: a fingerprint of the tree's content.

Files are read once and again only when size or time changed, so that looking between two
sessions costs a walk, not a read of everything.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.folder_digest import (
    NOTE_NAME,
    TOOL_FILES,
    TOOL_FOLDERS,
    content_digest,
    walk,
)
from runner.files import read_regular

__all__ = ["NOTE_NAME", "WorkTree"]

# What tools write by themselves is no progress. Neither is the note: an agent that does
# nothing but write notes is stuck.
_IGNORED_DIRECTORIES = TOOL_FOLDERS | {".git", ".runner", ".claude", "vendor"}
_IGNORED_FILES = TOOL_FILES | {NOTE_NAME}
_REFERENCE_BYTES = 4096
_LARGE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Seen:
    size: int
    mtime_ns: int
    digest: bytes


class WorkTree:
    """The content of a project directory, as far as an agent's work shows in it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[str, _Seen] = {}

    def fingerprint(self) -> bytes:
        """Return a digest of all files and of the commit that is checked out.

        Unreadable files count by size and time. The cost is a directory walk plus a read
        of what changed since the last call.
        """
        seen = {path: self._look(path, stat) for path, stat in _walk(str(self._root))}
        self._seen = seen
        total = hashlib.sha256(_head(self._root))
        for path in sorted(seen):
            total.update(os.fsencode(path) + b"\0" + seen[path].digest)
        return total.digest()

    def _look(self, path: str, stat: os.stat_result) -> _Seen:
        before = self._seen.get(path)
        if before and (before.size, before.mtime_ns) == (stat.st_size, stat.st_mtime_ns):
            return before
        return _Seen(
            stat.st_size,
            stat.st_mtime_ns,
            content_digest(path, stat, large_bytes=_LARGE_BYTES),
        )


def _walk(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    for entry, found in walk(directory, _is_ignored):
        if not entry.is_dir(follow_symlinks=False):
            yield entry.path, found


def _is_ignored(entry: os.DirEntry[str]) -> bool:
    folder = entry.is_dir(follow_symlinks=False)
    return entry.name in (_IGNORED_DIRECTORIES if folder else _IGNORED_FILES)


def _head(root: Path) -> bytes:
    """Return what identifies the checked-out commit, without running git."""
    try:
        head = read_regular(root / ".git" / "HEAD", limit=_REFERENCE_BYTES)
        name = head.removeprefix(b"ref: ").strip()
        reference = root / ".git" / os.fsdecode(name)
        found = reference.is_file()
        return head + (read_regular(reference, limit=_REFERENCE_BYTES) if found else b"")
    except (OSError, ValueError):
        return b""
