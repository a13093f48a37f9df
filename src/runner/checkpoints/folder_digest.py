"""Walk a folder tree and digest what stands in it: shared by whoever compares trees."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

# `runner run > run.log` in the project would otherwise make every agent session look as if it had
# changed something, and every read-only session as if it had broken its promise (ADR-0045).
FileId = tuple[int, int]
"""Device and inode."""

_PROCESSES = Path("/proc")
_STREAMS = (1, 2)
_ACCESS_MODE = os.O_RDONLY | os.O_WRONLY | os.O_RDWR


@dataclass
class _Held:
    """What one process has open, as far as output can flow through it."""

    pipes_in: set[FileId] = field(default_factory=set)
    pipes_out: set[FileId] = field(default_factory=set)
    files_out: set[FileId] = field(default_factory=set)

    def add(self, found: os.stat_result, *, reads: bool, writes: bool) -> None:
        identity = (found.st_dev, found.st_ino)
        if stat.S_ISFIFO(found.st_mode):
            if reads:
                self.pipes_in.add(identity)
            if writes:
                self.pipes_out.add(identity)
        elif stat.S_ISREG(found.st_mode) and writes:
            self.files_out.add(identity)


def output_files() -> frozenset[FileId]:
    """Return the regular files that stdout and stderr end up in.

    Directly, and through pipes (`| tee run.log`) as far as `/proc` tells: followed are processes
    of our own terminal session, to which no agent belongs (sandbox/guard.py). Never raises.
    """
    own = _Held()
    for stream in _STREAMS:
        with suppress(OSError):
            own.add(os.fstat(stream), reads=False, writes=True)
    if not own.pipes_out:
        return frozenset(own.files_out)
    return frozenset(own.files_out | _behind(own.pipes_out, list(_neighbours())))


def _behind(pipes: set[FileId], readers: list[_Held]) -> set[FileId]:
    """Return the files behind these pipes, over any number of programs."""
    files: set[FileId] = set()
    reached: set[FileId] = set()
    pending = set(pipes)
    while pending:
        reached |= pending
        fed = [held for held in readers if held.pipes_in & pending]
        files = files.union(*(held.files_out for held in fed))
        pending = set[FileId]().union(*(held.pipes_out for held in fed)) - reached
    return files


def _neighbours() -> Iterator[_Held]:
    """Yield what the other processes of our session have open."""
    own_session = os.getsid(0)
    with suppress(OSError):
        for process in _PROCESSES.iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            with suppress(OSError):
                if os.getsid(int(process.name)) == own_session:
                    yield _held(process)


def _held(process: Path) -> _Held:
    held = _Held()
    for entry in os.scandir(process / "fd"):
        with suppress(OSError, ValueError, StopIteration):
            access = _access(process / "fdinfo" / entry.name)
            found = entry.stat()
            held.add(found, reads=access != os.O_WRONLY, writes=access != os.O_RDONLY)
    return held


def _access(info: Path) -> int:
    line = next(line for line in info.read_text().splitlines() if line.startswith("flags:"))
    return int(line.split()[1], 8) & _ACCESS_MODE


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
