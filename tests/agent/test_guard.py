"""The guard with real processes: nothing that it starts outlives what it is tied to."""

import ast
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.processes import (
    LINUX_REASON,
    MARK,
    ON_LINUX,
    children,
    command_line,
    marked,
    wait_until,
    wait_until_none_is_left,
)

from runner.sandbox import guard
from runner.sandbox.process import AgentProcess

pytestmark = pytest.mark.skipif(not ON_LINUX, reason=LINUX_REASON)

GUARD = str(Path(guard.__file__))

# Leaves an orphan with a session of its own behind, and a plain child beside itself.
FAMILY = """
import os, signal, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(600)
if os.fork() == 0:
    time.sleep(600)
print("ready", flush=True)
if "leave" not in sys.argv:
    time.sleep(600)
"""

# What runner is to the agent: starts the launcher, and does not mind Ctrl-C.
PARENT = """
import signal, subprocess, sys
from runner.sandbox.process import AgentProcess
signal.signal(signal.SIGINT, lambda *_: None)
process = AgentProcess(sys.argv[1:])
print(process.launcher, flush=True)
sys.exit(subprocess.run([process.launcher], check=False).returncode)
"""


@pytest.fixture
def mark(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Mark the processes of one test; none may be left after it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    name = f"{os.getpid()}-{request.node.name}"
    yield name
    wait_until_none_is_left(name)


def _environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark}


def _start(process: AgentProcess, mark: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [process.launcher, *arguments],
        env=_environment(mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _start_family(mark: str, *options: str) -> tuple[AgentProcess, "subprocess.Popen[str]"]:
    process = AgentProcess([sys.executable, "-c", FAMILY, *options])
    started = _start(process, mark)
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return process, started


def _ended(started: "subprocess.Popen[str]") -> int:
    with started:
        return started.wait(20)


def _start_parent(mark: str, *command: str) -> tuple["subprocess.Popen[str]", Path]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *command],
        env=_environment(mark),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    return parent, Path(parent.stdout.readline().strip())


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 128 + 9), ("kill -TERM $$", 128 + 15)],
)
def test_the_exit_status_is_passed_on(script: str, status: int, mark: str) -> None:
    assert _ended(_start(AgentProcess(["/bin/sh", "-c", script]), mark)) == status


KEYRING = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.syscall.restype = ctypes.c_long
if "make" in sys.argv:
    if libc.syscall(250, 1, None) < 0 or libc.syscall(248, b"user", b"k", b"secret", 6, -3) < 0:
        sys.exit(77)
    os.execv(sys.argv[2], sys.argv[2:])
sys.exit(3 if libc.syscall(250, 10, -3, b"user", b"k", 0) >= 0 else 0)
"""


@pytest.mark.process
@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the calls of x86-64")
def test_the_keys_of_the_users_session_are_left_behind(mark: str) -> None:
    process = AgentProcess([sys.executable, "-c", KEYRING])
    make = [sys.executable, "-c", KEYRING, "make"]
    bare = subprocess.run([*make, sys.executable, "-c", KEYRING], check=False, timeout=30)
    if bare.returncode == 77:
        pytest.skip("this machine makes no keys")
    assert bare.returncode == 3
    done = subprocess.run([*make, process.launcher], check=False, timeout=30)
    assert done.returncode == 0


def test_a_program_that_does_not_exist_is_named(mark: str) -> None:
    started = _start(AgentProcess(["/nowhere/claude"]), mark)
    assert started.communicate()[1] == "cannot start /nowhere/claude: No such file or directory\n"
    assert started.returncode == 127


def test_the_guard_itself_says_nothing(mark: str) -> None:
    started = _start(AgentProcess(["/bin/sh", "-c", "echo out; echo err >&2"]), mark)
    assert started.communicate() == ("out\n", "err\n")


def test_arguments_arrive_as_they_were_given(mark: str) -> None:
    words = ["a b", "'", '"', "$HOME", "`id`", "*", "", "\n", "--x=ü"]
    program = "import sys; print(ascii(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *words]
    said = _start(AgentProcess(command), mark, *words).communicate()[0]
    assert ast.literal_eval(said) == words + words


def test_the_program_has_a_terminal_session_of_its_own(mark: str) -> None:
    script = "import os; print(os.getsid(0), os.getpgid(0))"
    said = _start(AgentProcess([sys.executable, "-c", script]), mark).communicate()[0]
    assert not {str(os.getsid(0)), str(os.getpgid(0))} & set(said.split())


@pytest.mark.process
def test_ctrl_c_in_the_parents_group_does_not_reach_the_program(mark: str) -> None:
    script = 'trap "exit 9" INT; echo ready; read line; echo "got $line"'
    parent, _ = _start_parent(mark, "/bin/sh", "-c", script)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate("hello\n", timeout=20)[0] == "got hello\n"
    assert parent.returncode == 0


@pytest.mark.parametrize("options", [(), ("stubborn",)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_guard_ends_the_whole_family(
    number: signal.Signals, options: tuple[str, ...], mark: str
) -> None:
    process, started = _start_family(mark, *options)
    assert process.pid == started.pid
    os.kill(started.pid, number)
    assert _ended(started) in (128 + signal.SIGTERM, 128 + signal.SIGKILL)
    assert marked(mark) == []


def test_what_the_program_leaves_in_the_background_ends_with_it(mark: str) -> None:
    _, started = _start_family(mark, "leave")
    assert _ended(started) == 0
    assert marked(mark) == []


def test_what_goes_on_forking_in_the_background_ends_too(mark: str) -> None:
    forking = "(trap '' TERM; while :; do sleep 600 & sleep 0.002; done) & sleep 0.2"
    assert _ended(_start(AgentProcess(["/bin/sh", "-c", forking]), mark)) == 0
    assert marked(mark) == []


@pytest.mark.process
@pytest.mark.parametrize("options", [(), ("stubborn",)])
def test_killing_the_parent_ends_the_whole_family(options: tuple[str, ...], mark: str) -> None:
    parent, launcher = _start_parent(mark, sys.executable, "-c", FAMILY, *options)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    assert launcher.exists()
    parent.kill()
    wait_until_none_is_left(mark)
    parent.communicate()
    assert not launcher.parent.exists()


def test_killing_the_guard_ends_the_whole_family(mark: str) -> None:
    _, started = _start_family(mark)
    started.kill()
    wait_until_none_is_left(mark)
    assert _ended(started) == -signal.SIGKILL


def test_killing_the_keeper_ends_the_whole_family(mark: str) -> None:
    _, started = _start_family(mark)
    (keeper,) = children(started.pid)
    assert "guard.py" in command_line(keeper)
    os.kill(keeper, signal.SIGKILL)
    assert _ended(started) == 128 + signal.SIGKILL
    assert marked(mark) == []


def test_the_launcher_is_removed_when_the_program_ends(mark: str) -> None:
    process = AgentProcess(["/bin/sh", "-c", "exit 0"])
    assert process.launcher.exists()
    _ended(_start(process, mark))
    assert not process.launcher.parent.exists()
    assert (process.pid, process.alive) == (None, False)


@pytest.mark.process
def test_nothing_is_started_for_a_parent_that_is_gone(tmp_path: Path, mark: str) -> None:
    made = tmp_path / "made"
    command = [sys.executable, GUARD, str(tmp_path / "pid"), "1", "/bin/touch", str(made)]
    done = subprocess.run(command, env=_environment(mark), check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert not made.exists()


@pytest.mark.process
def test_nothing_is_started_once_the_launcher_is_withdrawn(tmp_path: Path, mark: str) -> None:
    made, parent = tmp_path / "made", str(os.getpid())
    command = [sys.executable, GUARD, str(tmp_path / "gone/pid"), parent, "/bin/touch", str(made)]
    done = subprocess.run(command, env=_environment(mark), check=False, capture_output=True)
    assert done.returncode != 0
    assert not made.exists()


@pytest.mark.anyio
async def test_ending_the_process_ends_the_whole_family(mark: str) -> None:
    process, started = _start_family(mark)
    assert process.alive
    await process.end(within_seconds=5)
    assert marked(mark) == []
    assert not process.launcher.parent.exists()
    assert _ended(started) == 128 + signal.SIGTERM


@pytest.mark.anyio
async def test_ending_the_process_at_once_kills_a_stubborn_family(mark: str) -> None:
    process, started = _start_family(mark, "stubborn")
    await process.end(within_seconds=0)
    await process.end(within_seconds=0)
    _ended(started)
    wait_until(lambda: not marked(mark), "a stubborn process is left")
    assert not process.launcher.parent.exists()


@pytest.mark.anyio
@pytest.mark.parametrize("milliseconds", [0, 5, 10, 15, 20, 30])
async def test_a_process_ended_while_it_starts_never_runs_on(milliseconds: int, mark: str) -> None:
    process = AgentProcess(["/bin/sleep", "600"])
    started = _start(process, mark)
    try:
        started.wait(milliseconds / 1000)
    except subprocess.TimeoutExpired:
        await process.end(within_seconds=0)
    assert _ended(started) != 0
    wait_until(lambda: not marked(mark), "the program runs on")
