"""Notice whether a session changed the project: a fingerprint of the tree's content.

Files are read once and again only when size or time changed, so that looking between two
sessions costs a walk, not a read of everything.
"""

import hashlib
import os
import stat as stat_module
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NOTE_NAME = ".runner-note.md"

# What tools write by themselves is no progress. Neither is the note: an agent that does
# nothing but write notes is stuck.
_IGNORED_DIRECTORIES = frozenset(
    {
        ".git", ".runner", ".claude", "node_modules", ".venv", "venv", "__pycache__",
        ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis",
        "target", "dist", "build", "coverage", ".next", ".turbo", ".cache", "vendor",
    }
)  # fmt: skip
_IGNORED_FILES = frozenset({NOTE_NAME, ".coverage", ".DS_Store"})
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
        return _Seen(stat.st_size, stat.st_mtime_ns, _digest(path, stat))


def _walk(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    pending = [directory]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _IGNORED_DIRECTORIES:
                    pending.append(entry.path)
            elif entry.name not in _IGNORED_FILES:
                try:
                    yield entry.path, entry.stat(follow_symlinks=False)
                except OSError:
                    continue


def _digest(path: str, stat: os.stat_result) -> bytes:
    # To open a pipe would wait for somebody to write into it.
    if stat.st_size > _LARGE_BYTES or not _is_content(stat):
        return f"{stat.st_size} {stat.st_mtime_ns}".encode()
    try:
        if stat_module.S_ISLNK(stat.st_mode):
            return b"-> " + os.fsencode(Path(path).readlink())
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return f"{stat.st_size} {stat.st_mtime_ns}".encode()


def _is_content(stat: os.stat_result) -> bool:
    return stat_module.S_ISREG(stat.st_mode) or stat_module.S_ISLNK(stat.st_mode)


def _head(root: Path) -> bytes:
    """Return what identifies the checked-out commit, without running git."""
    try:
        head = (root / ".git" / "HEAD").read_bytes()
        name = head.removeprefix(b"ref: ").strip()
        reference = root / ".git" / os.fsdecode(name)
        return head + (reference.read_bytes() if reference.is_file() else b"")
    except (OSError, ValueError):
        return b""
