"""The agent's process: how it is started, found and ended (see guard.py).

The SDK starts whatever `cli_path` names, so each session gets a small executable of its own
that puts the guard, and what contains the agent, between runner and the agent binary.
"""

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio

from runner.agent import guard
from runner.agent.containment.ci import ci_variables
from runner.errors import PrerequisiteError

_PREFIX = "runner-agent-"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_POLL_SECONDS = 0.01
_KILL_SECONDS = 1.0
_GUARD = Path(guard.__file__).resolve()


def bundled_agent() -> Path:
    """Return the agent binary: the SDK wheel's own, else `claude` on PATH.

    Raises:
        PrerequisiteError: there is none.
    """
    # Found without importing the SDK, which costs a second of CPU.
    for entry in sys.path:
        candidate = Path(entry or ".", "claude_agent_sdk", "_bundled", "claude")
        if candidate.is_file():
            return candidate.resolve()
    found = shutil.which("claude")
    if found is None:
        raise PrerequisiteError(
            "The Claude Code binary was not found.",
            hint="Put `claude` on the PATH; or, beside a runner from a wheel, "
            "`pip install --force-reinstall claude-agent-sdk`; in a published image, "
            "`runner-fetch-agent`.",
        )
    return Path(found).resolve()


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
        hidden: names of variables that it does not inherit, beside those of a CI job.
        passed_on: whether its standard input and output are the descriptors 3 and 4 of the
            command (see channel.py), whose own lead nowhere.
    """

    def __init__(
        self, command: Sequence[str], hidden: Sequence[str] = (), *, passed_on: bool = False
    ) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._pid_file = self._directory / "pid"
        self._pid: int | None = None
        self.launcher = self._directory / "agent"
        words = [sys.executable, "-I", "-S", "-B", str(_GUARD), str(self._pid_file)]
        # What a sandbox would take out in any case is taken out where there is none, too.
        names = [*ci_variables(os.environ), *hidden]
        unset = "".join(f"unset {name}\n" for name in names if _NAME.fullmatch(name))
        streams = " 3<&0 4>&1 < /dev/null > /dev/null" if passed_on else ""
        self.launcher.write_text(
            f"#!/bin/sh\n{unset}"
            f'exec {shlex.join(words)} {os.getpid()} {shlex.join(command)} "$@"{streams}\n',
            encoding="utf-8",
        )
        self.launcher.chmod(0o700)

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
