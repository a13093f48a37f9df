"""Which files this process's own output goes to: they change while it works, by its own hand.

`runner run > run.log` in the project would otherwise make every agent session look as if it had
changed something, and every read-only session as if it had broken its promise (ADR 206).
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

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
