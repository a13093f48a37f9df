"""Run one program in a session of its own and outlive nothing: a stand-alone script.

The agent process is started through this script, so that

- Ctrl-C in the terminal reaches runner alone, which then stops the agent in order;
- when runner dies in any way, also by SIGKILL, the agent and everything it started die;
- when the agent exits, what it left in the background is ended too.

Usage: guard.py PID_FILE PARENT_PID PROGRAM [ARGUMENT...]; the folder of PID_FILE is removed at the end.

It imports nothing but the standard library, and little of that: it is on the path between
one agent session and the next.
"""

import os
import select
import signal
import sys
import time

GRACE_SECONDS = 1.0
"""How long the program may take to clean up after SIGTERM before it is killed."""

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_ROUND_SECONDS = 0.01


def main(argv: list[str]) -> int:
    """Run `argv[2:]`; return its exit status (128 + n after signal n)."""
    pid_file, parent, command = argv[0], int(argv[1]), argv[2:]
    os.setsid()
    signals = _Signals()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return 128 + signal.SIGTERM
    _write_pid(pid_file)
    status = _wait(_spawn(command), signals)
    _end_descendants()
    _remove_folder(os.path.dirname(pid_file))
    return status


class _Signals:
    """Wakes a waiting guard on any signal, and remembers whether one asked it to stop."""

    def __init__(self) -> None:
        self.stop_requested = False
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _STOP_SIGNALS:
            signal.signal(number, self._request_stop)

    def _request_stop(self, *_: object) -> None:
        self.stop_requested = True

    def wait(self, seconds: float | None) -> None:
        """Return when a signal came or `seconds` have passed."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 512)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _write_pid(path: str) -> None:
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.replace(f"{path}.new", path)


def _remove_folder(folder: str) -> None:
    """Remove the launcher's folder, which nobody else would do when runner was killed."""
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)


def _spawn(command: list[str]) -> int:
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        signal.set_wakeup_fd(-1)
        for number in (*_STOP_SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == guard:
            os.execv(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
    os._exit(127)


def _wait(child: int, signals: _Signals) -> int:
    """Wait for the child; once asked to stop, end it within GRACE_SECONDS."""
    deadline: float | None = None
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if pid:
            continue
        if signals.stop_requested and deadline is None:
            deadline = time.monotonic() + GRACE_SECONDS
            _signal(child, signal.SIGTERM)
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            _signal(child, signal.SIGKILL)
            left = GRACE_SECONDS
        signals.wait(left)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _end_descendants() -> None:
    """Kill and reap what the program left behind: as its subreaper, all of it is ours."""
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        for pid in descendants(os.getpid()):
            _signal(pid, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(_KILL_ROUND_SECONDS)
        except ChildProcessError:
            return


def descendants(root: int) -> list[int]:
    """Return the ids of all processes below `root`."""
    children = _children_by_parent()
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _children_by_parent() -> dict[int, list[int]]:
    table: dict[int, list[int]] = {}
    for pid, parent in _process_table():
        table.setdefault(parent, []).append(pid)
    return table


def _process_table() -> list[tuple[int, int]]:
    if sys.platform != "linux":
        with os.popen("/bin/ps -axo pid=,ppid=") as listing:  # noqa: S605 - a fixed command
            return [(int(a), int(b)) for a, b in (line.split() for line in listing)]
    rows = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            rows.append((int(name), int(fields[1])))
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
