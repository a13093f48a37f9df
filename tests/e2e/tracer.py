"""Run a command and note every program that it, or anything below it, starts: a stand-alone script.

Usage: tracer.py NOTES COMMAND [ARGUMENT...]; NOTES gets a JSON object a line, in order:
{"pid", "exe", "argv", "environ", "outside"}. `outside` is whether the program runs in the mount
namespace of the tracer, and so in no sandbox. Exits as the command does, or with NOT_PERMITTED.

It asks the kernel (ptrace) to stop at each execve; nothing needs to be installed for it.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

NOT_PERMITTED = 77

_SEIZE, _CONT, _LISTEN = 0x4206, 7, 0x4208
_EVENT_EXEC, _EVENT_STOP = 4, 128
_FORKS = 1 << 1 | 1 << 2 | 1 << 3  # fork, vfork and clone are followed
_OPTIONS = _FORKS | 1 << _EVENT_EXEC | 1 << 20  # and all end with the tracer
_STOPPING = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_WALL = 0x40000000

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_LIBC.ptrace.restype = ctypes.c_long


def main(notes: str, command: list[str]) -> int:
    """Run the command; return its exit status (128 + n after signal n)."""
    read, write = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(write)
        os.read(read, 1)  # until the tracer is there
        os.close(read)
        os.execvp(command[0], command)  # noqa: S606
    if not _ptrace(_SEIZE, first, _OPTIONS):
        os.kill(first, signal.SIGKILL)
        return NOT_PERMITTED
    os.write(write, b".")
    os.close(read)
    os.close(write)
    with Path(notes).open("w", encoding="utf-8", buffering=1) as file:
        return _follow(first, file)


def _follow(first: int, file: Any) -> int:
    code = 1
    while True:
        try:
            pid, status = os.waitpid(-1, _WALL)
        except ChildProcessError:
            return code
        if os.WIFSTOPPED(status):
            _go_on(pid, status, file)
        elif pid == first:
            end = os.waitstatus_to_exitcode(status)
            code = end if end >= 0 else 128 - end


def _go_on(pid: int, status: int, file: Any) -> None:
    event, number = status >> 16, os.WSTOPSIG(status)
    if event == _EVENT_EXEC:
        with contextlib.suppress(OSError):  # it was killed meanwhile
            file.write(json.dumps(_program(pid)) + "\n")
    if event == _EVENT_STOP and number in _STOPPING:
        _ptrace(_LISTEN, pid, 0)
    else:
        _ptrace(_CONT, pid, 0 if event else number)


def _program(pid: int) -> dict[str, Any]:
    folder = Path("/proc", str(pid))
    return {
        "pid": pid,
        "exe": str((folder / "exe").readlink()),
        "argv": _strings(folder / "cmdline"),
        "environ": dict(s.split("=", 1) for s in _strings(folder / "environ") if "=" in s),
        "outside": (folder / "ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink(),
    }


def _strings(file: Path) -> list[str]:
    return file.read_bytes().decode(errors="replace").split("\0")[:-1]


def _ptrace(request: int, pid: int, data: int) -> bool:
    return bool(_LIBC.ptrace(request, pid, None, data) == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
