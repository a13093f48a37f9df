"""Run one program in a session of its own and outlive nothing: a stand-alone script.

The agent process is started through this script, so that

- Ctrl-C in the terminal reaches runner alone, which then stops the agent in order;
- when runner dies in any way, also by SIGKILL, the agent and everything it started die;
- when the agent exits, what it left in the background is ended too.

There are two of it, the guard and a keeper below it that starts the program, so that killing
either leaves one that ends the rest; a single one could not be killed without setting free
what the agent runs in the background.

Usage: guard.py [--environment FILE] [--sealed FILE] PID_FILE PARENT_PID PROGRAM [ARGUMENT...]; the folder of
PID_FILE is removed at the end. FILE says what the program gets of the environment: `NAME`,
`PREFIX*` or `NAME=VALUE` for each variable, NUL characters between them.

It imports nothing but the standard library, and little of that: it is on the path between
one agent session and the next.
"""

import errno
import os
import select
import signal
import sys
import time

GRACE_SECONDS = 1.0
"""How long the program may take to clean up after SIGTERM before it is killed."""

ENVIRONMENT = "--environment"
"""The option with the file that says what the program gets of the environment."""

SEALED = "--sealed"
"""The option with the file that names what it gets by a descriptor instead."""

SEALED_DESCRIPTOR = 5
_MOST_SEALED = 60_000  # what a pipe takes without a reader

KILL_SIGNAL = signal.SIGUSR1
"""Tells the guard to end everything at once. Killing the guard is worse: see the keeper."""

_KEEPER_GRACE_SECONDS = GRACE_SECONDS + 0.25

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING = 1
_SWEEP_SECONDS = 5.0  # longer than it can take, unless the kernel holds on to a process
_KILL_ROUND_SECONDS = 0.002
_CANNOT_START = 127


def main(argv: list[str]) -> int:
    """Run a program; return its exit status (128 + n after signal n)."""
    environment: dict[bytes, bytes] = dict(os.environb)
    if argv[0] == ENVIRONMENT:
        environment = _environment(argv[1])
        argv = argv[2:]
    if argv[0] == SEALED:
        environment = _seal(environment, argv[1])
        argv = argv[2:]
    pid_file, parent, command = argv[0], int(argv[1]), argv[2:]
    os.setsid()
    # The agent's streams pass through here: no other process of this user may open them.
    _prctl(_PR_SET_DUMPABLE, 0)
    _leave_keyring()
    signals = _Signals()
    if not _adopt_orphans_of(parent):
        return 128 + signal.SIGTERM
    _write_pid(pid_file)
    guard = os.getpid()
    keeper = os.fork() or os._exit(_keep(guard, command, environment))
    status = _wait(keeper, signals, _KEEPER_GRACE_SECONDS)
    _end_descendants()
    _remove_folder(os.path.dirname(pid_file))
    return status


def _keep(guard: int, command: list[str], environment: dict[bytes, bytes]) -> int:
    """Be the keeper: run the program and end what it leaves behind."""
    signals = _Signals()
    if not _adopt_orphans_of(guard):
        return 128 + signal.SIGTERM
    keeper = os.getpid()
    program = os.fork() or os._exit(_exec(keeper, command, environment))
    status = _wait(program, signals, GRACE_SECONDS)
    _end_descendants()
    return status


def _environment(path: str) -> dict[bytes, bytes]:
    """Return the variables that the file names, with their values here or its own."""
    with open(path, "rb") as file:
        entries = file.read().split(b"\0")
    known = dict(os.environb)
    found: dict[bytes, bytes] = {}
    for entry in entries:
        name, equals, value = entry.partition(b"=")
        if equals:
            found[name] = value
        elif name.endswith(b"*"):
            found.update((k, v) for k, v in known.items() if k.startswith(name[:-1]))
        elif name in known:
            found[name] = known[name]
    return found


def _seal(environment: dict[bytes, bytes], path: str) -> dict[bytes, bytes]:
    """Return what is left without the variables that the file names, which go to a descriptor.

    What a sandbox is started with can be read inside of it. A shell inside reads the others there
    (see containment/channel.py) before it becomes the agent.
    """
    with open(path, "rb") as file:
        names = tuple(file.read().split(b"\0"))
    sealed = {
        name: value
        for name, value in environment.items()
        if name in names or any(n.endswith(b"*") and name.startswith(n[:-1]) for n in names)
    }
    quoted = (
        b"export %s='%s'\n" % (name, value.replace(b"'", b"'\\''"))
        for name, value in sealed.items()
        if name.replace(b"_", b"a").isalnum() and not name[:1].isdigit()
    )
    text = b"".join(quoted)
    if len(text) > _MOST_SEALED:
        sys.exit("cannot start the agent: what it signs in with is longer than 60,000 bytes")
    read, write = os.pipe()
    os.write(write, text)
    os.close(write)
    if read == SEALED_DESCRIPTOR:
        os.set_inheritable(read, True)
    else:
        os.dup2(read, SEALED_DESCRIPTOR)
        os.close(read)
    return {name: value for name, value in environment.items() if name not in sealed}


def _adopt_orphans_of(parent: int) -> bool:
    """Become the reaper of all that is started below, and die with `parent`.

    Returns:
        Whether the parent is still there; when it died before, nothing would tell.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    return os.getppid() == parent


class _Signals:
    """Wakes a waiting guard on any signal, and remembers whether one asked it to stop."""

    def __init__(self) -> None:
        self.stop_requested = False
        self.kill_requested = False
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _STOP_SIGNALS:
            signal.signal(number, self._request_stop)
        signal.signal(KILL_SIGNAL, self._request_kill)

    def _request_stop(self, *_: object) -> None:
        self.stop_requested = True

    def _request_kill(self, *_: object) -> None:
        self.kill_requested = True

    def wait(self, seconds: float | None) -> None:
        """Return when a signal came or `seconds` have passed."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 512)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _leave_keyring() -> None:
    """Begin with an empty keyring: a sandbox hides files, and not what the kernel keeps."""
    number = _KEYCTL.get(os.uname().machine)
    if sys.platform == "linux" and number is not None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.syscall(number, _JOIN_SESSION_KEYRING, None) < 0
        # A container that forbids the call forbids to read keys, too.
        if failed and ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
            error = os.strerror(ctypes.get_errno())
            sys.exit(f"cannot start the agent without the keys of this session: {error}")


def _write_pid(path: str) -> None:
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.replace(f"{path}.new", path)


def _remove_folder(folder: str) -> None:
    """Remove the launcher's folder, which nobody else would do when runner was killed."""
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except FileNotFoundError:
        return  # runner was faster


def _exec(keeper: int, command: list[str], environment: dict[bytes, bytes]) -> int:
    """Become the program; return only when it can't be started."""
    signal.set_wakeup_fd(-1)
    for number in (*_STOP_SIGNALS, KILL_SIGNAL, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        if os.getppid() == keeper:
            os.execve(command[0], command, environment)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
    return _CANNOT_START


def _wait(child: int, signals: _Signals, grace_seconds: float) -> int:
    """Wait for the child; once asked to stop, end it within `grace_seconds`."""
    deadline: float | None = None
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if pid:
            continue
        if signals.stop_requested and deadline is None:
            deadline = time.monotonic() + grace_seconds
            _signal(child, signal.SIGTERM)
        left = None if deadline is None else deadline - time.monotonic()
        if signals.kill_requested or (left is not None and left <= 0):
            _signal(child, signal.SIGKILL)
            left = grace_seconds
        signals.wait(left)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _end_descendants() -> None:
    """Kill and reap what the program left behind: as its subreaper, all of it is ours."""
    deadline = time.monotonic() + _SWEEP_SECONDS
    while time.monotonic() < deadline:
        for pid in descendants(os.getpid()):
            _signal(pid, signal.SIGKILL)
        if not _reap():
            return
        time.sleep(_KILL_ROUND_SECONDS)


def _reap() -> bool:
    """Reap all children that ended; return whether any are left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


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
