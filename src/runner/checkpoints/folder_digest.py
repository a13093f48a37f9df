"""Walk a folder tree and digest what stands in it: shared by whoever compares trees."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from runner.checkpoints.own_output import output_files

NOTE_NAME = ".runner-note.md"
"""The agents' handoff note in a project."""

TOOL_FOLDERS = frozenset(
    {
        "node_modules", ".venv", "venv", "__pycache__", ".pytest_cache", ".mypy_cache",
        ".ruff_cache", ".tox", ".nox", ".hypothesis", "target", "dist", "build", "coverage",
        ".next", ".turbo", ".cache",
    }
)  # fmt: skip
"""Folders that compilers, test runners and package managers write by themselves."""

TOOL_FILES = frozenset({".coverage", ".DS_Store"})

_CHUNK_BYTES = 1024 * 1024


def walk(
    root: str, skip: Callable[[os.DirEntry[str]], bool]
) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Yield every entry below `root`, folders included, links not followed.

    What can't be looked at is left out, and so are files that our own output goes to; `skip`
    leaves out an entry and all below it.
    """
    own = output_files()
    pending = [root]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            if skip(entry):
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if (found.st_dev, found.st_ino) in own:
                continue
            yield entry, found
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)


def content_digest(path: str, found: os.stat_result, *, large_bytes: int) -> bytes:
    """Return what identifies the content of a file or link.

    Above `large_bytes`, and where the content can't be read, size and time stand for it; of
    pipes, sockets and devices only the kind counts.
    """
    try:
        if stat.S_ISLNK(found.st_mode):
            return b"-> " + os.fsencode(Path(path).readlink())
        if not stat.S_ISREG(found.st_mode):
            return f"kind {stat.S_IFMT(found.st_mode):o}".encode()
        if found.st_size <= large_bytes:
            return _file_digest(path)
    except OSError:
        pass
    return f"{found.st_size} {found.st_mtime_ns}".encode()


def _file_digest(path: str) -> bytes:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a str, for the sake of speed
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.digest()
