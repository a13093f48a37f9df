"""Find and wait for processes by a mark in their environment (Linux)."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

MARK = "RUNNER_TEST_MARK"
LINUX_REASON = "the kernel ends orphans, and /proc tells about them, on Linux alone"
ON_LINUX = sys.platform == "linux"


def marked(mark: str) -> list[int]:
    """Return the processes that carry the mark, zombies left out."""
    wanted = f"{MARK}={mark}".encode()
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if wanted in _read(Path(f"/proc/{pid}/environ")).split(b"\0")]


def command_line(pid: int) -> str:
    """Return a process's command line with blanks between the words."""
    return _read(Path(f"/proc/{pid}/cmdline")).replace(b"\0", b" ").decode()


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in _read(path).split()]


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = 20.0) -> None:
    """Wait until the condition holds; fail with `what` when it does not come to hold."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def wait_until_none_is_left(mark: str) -> None:
    """Wait until no process carries the mark; kill those that stay, and fail."""
    try:
        wait_until(lambda: not marked(mark), "processes were left")
    finally:
        for pid in marked(mark):
            with contextlib.suppress(ProcessLookupError):  # it may be ending by itself just now
                os.kill(pid, signal.SIGKILL)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
