"""The agent's process: how it is started, found and ended (see guard.py).

The SDK starts whatever `cli_path` names, so each session gets a small executable of its own
that puts the guard, and what contains the agent, between runner and the agent binary.
"""

import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio

from runner.errors import PrerequisiteError
from runner.programs import find_program
from runner.reach import reach_of
from runner.sandbox import guard

_PREFIX = "runner-agent-"
_POLL_SECONDS = 0.01
_MOST_SHEBANG = 256  # bytes
_KILL_SECONDS = 1.0
_MOST_SAID = 16 * 1024
_GUARD = Path(guard.__file__).resolve()


def bundled_agent(project: Path | None = None) -> Path:
    """Return the agent binary: the SDK wheel's own, else `claude` on PATH.

    Args:
        project: what agents work on, the current folder where None.

    Raises:
        PrerequisiteError: there is none, or only where the project's agents can write.
    """
    # Found without importing the SDK, which costs a second of CPU.
    for entry in sys.path:
        candidate = Path(entry, "claude_agent_sdk", "_bundled", "claude")
        if candidate.is_absolute() and candidate.is_file():
            return candidate.resolve()
    found = find_program("claude", project or Path.cwd())
    if found is None:
        raise PrerequisiteError(
            "The Claude Code binary was not found.",
            hint="Put `claude` on the PATH; or, beside a runner from a wheel, "
            "`pip install --force-reinstall claude-agent-sdk`; in a published image, "
            "`runner-fetch-agent`.",
        )
    _require_own_interpreter(found, project or Path.cwd())
    return found


def _require_own_interpreter(script: Path, project: Path) -> None:
    """Refuse a script whose interpreter agents could put in front of the real one on the PATH.

    Inside the sandbox the PATH is the caller's: the next session would be a program of theirs.
    """
    with script.open("rb") as file:
        first = file.readline(_MOST_SHEBANG).decode(errors="replace")
    if not first.startswith("#!") or "/env" not in first:
        return
    name = first.split()[-1]
    found = find_program(name, project)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if reach_of(project).problem(Path.cwd() / folder) is not None:
            break
        if found is not None and Path(folder, name).resolve() == found:
            return
    else:
        return
    raise PrerequisiteError(
        f"{script} is a script for {name}, and agents can write a {name} of their own into {folder}, "
        "which is on the PATH.",
        hint="Install the native program of Claude Code, or leave that folder out of the PATH.",
    )


def sweep_launchers() -> None:
    """Remove the launchers of runners that were killed before their guard could do it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if ours and owner.isdigit() and not _is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


class AgentProcess:
    """The launcher and, once started, the process of one agent session.

    Args:
        command: the program to run and its leading arguments, absolute path first.
        environment: what the program gets of the launcher's environment, one entry for each
            variable: `NAME`, `PREFIX*`, or `NAME=VALUE` for another value. None for all of it.
        passed_on: whether its standard streams are the descriptors 3, 4 and 6 of the command (see
            channel.py), whose own lead nowhere.
        sealed: names of variables (or `PREFIX*`) that the program gets by descriptor 5 and not in
            its environment, which can be read in a sandbox; for a command that reads them there.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Sequence[str] | None = None,
        *,
        passed_on: bool = False,
        sealed: Sequence[str] = (),
    ) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._pid_file = self._directory / "pid"
        self._pid: int | None = None
        self.launcher = self._directory / "agent"
        words = [sys.executable, "-I", "-S", "-B", str(_GUARD)]
        if environment is not None:
            rules = self._directory / "environment"
            rules.touch(0o600)
            rules.write_bytes(b"\0".join(map(os.fsencode, environment)))
            words += [guard.ENVIRONMENT, str(rules)]
        if sealed:
            names = self._directory / "sealed"
            names.write_bytes(b"\0".join(map(os.fsencode, sealed)))
            words += [guard.SEALED, str(names)]
        words += [str(self._pid_file), str(os.getpid())]
        self._said: int | None = None
        streams = self._streams_apart() if passed_on else ""
        self.launcher.write_text(
            f'#!/bin/sh\nexec {shlex.join(words)} {shlex.join(command)} "$@"{streams}\n',
            encoding="utf-8",
        )
        self.launcher.chmod(0o700)

    def _streams_apart(self) -> str:
        """Return redirections to descriptors that no command in a sandbox can open."""
        # Not a file: whoever can write to it could fill the disk.
        said = self._directory / "said"
        os.mkfifo(said, 0o600)
        self._said = os.open(said, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return f" 3<&0 4>&1 6>&2 < /dev/null > /dev/null 2<> {shlex.quote(str(said))}"

    def said_at_start(self) -> list[str]:
        """Return what the guard and the sandbox wrote to standard error; not what the agent did."""
        if self._said is None:
            return []
        with suppress(BlockingIOError):
            return os.read(self._said, _MOST_SAID).decode(errors="replace").splitlines()
        return []

    def is_started(self) -> None:
        """Hear no more of what starts the agent: from now on, commands could speak for it."""
        if self._said is not None:
            os.close(self._said)
            self._said = None

    @property
    def pid(self) -> int | None:
        """The guard's process id, None before it started."""
        # Remembered, because the guard removes the file a moment before it is gone.
        if self._pid is None:
            with suppress(OSError, ValueError):
                self._pid = int(self._pid_file.read_text(encoding="ascii"))
        return self._pid

    @property
    def alive(self) -> bool:
        """Whether the guard still runs (a zombie that nobody reaped does not count)."""
        pid = self.pid
        return pid is not None and _is_running(pid)

    def terminate(self) -> None:
        """Ask the guard to end the agent and all it started; it takes at most 2 s."""
        self._send(signal.SIGTERM)

    async def end(self, *, within_seconds: float) -> None:
        """Make sure that the process and all it started are gone; remove the launcher."""
        with anyio.CancelScope(shield=True):
            self.terminate()
            await self._wait(within_seconds)
            self._withdraw()
            self._send(guard.KILL_SIGNAL)
            await self._wait(_KILL_SECONDS)
            self._kill()
        self.is_started()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while self.alive:  # noqa: ASYNC110 - nobody tells us when another process ends
                await anyio.sleep(_POLL_SECONDS)

    def _withdraw(self) -> None:
        """Take the launcher's folder away from a guard that has not begun: it then gives up."""
        withdrawn = self._directory.with_name(f"{self._directory.name}-ended")
        with suppress(OSError):
            self._directory = self._directory.rename(withdrawn)
            self._pid_file = withdrawn / self._pid_file.name

    def _kill(self) -> None:
        """Kill a guard that does not do its work, and whatever can be found below it."""
        pid = self.pid
        if pid is None or not self.alive:
            return
        for descendant in guard.descendants(pid):
            with suppress(ProcessLookupError):
                os.kill(descendant, signal.SIGKILL)
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is not None and self.alive:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return True
