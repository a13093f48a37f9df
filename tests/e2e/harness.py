"""Run the real command with the real agent binary against a scripted model."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.replay.script import parse_script
from runner.replay.server import ScriptedModel

SPEC = "# greeter\n\nA script `greet.py` that prints `hello`.\n"


def agent_environment(state: Path, base_url: str) -> dict[str, str]:
    """Return a clean environment for `runner`: no login, loopback only."""
    kept = ("PATH", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(state),
        "CLAUDE_CONFIG_DIR": str(state / "claude"),
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_COLOR": "1",
        # One agent session less for each run; the tests of that review switch it on.
        "AUTORUNNER_PLAN_REVIEW": "off",
    }


@dataclass
class Project:
    """A project folder, the state of its agent, and the model that answers."""

    path: Path
    model: ScriptedModel
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> dict[str, Any]:
        """What status.json says."""
        text = (self.path / ".runner" / "status.json").read_text(encoding="utf-8")
        document: dict[str, Any] = json.loads(text)
        return document

    def passed(self) -> list[str]:
        """Return the ids of the deliverables that passed."""
        return [d["id"] for d in self.status["deliverables"] if d["passed"]]

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of `runner`."""
        return [sys.executable, "-m", "runner", *arguments]

    def run(
        self, *arguments: str, timeout: float = 120, command: str = "run"
    ) -> subprocess.CompletedProcess[str]:
        """Run `runner run`, or another command, to its end."""
        return subprocess.run(
            self.command(command, *arguments),
            cwd=self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def result(self, *arguments: str) -> dict[str, Any]:
        """Run `runner run` to its end; return its result."""
        done = self.run("--output-format", "json", *arguments, timeout=300)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start `runner run` and return while it runs."""
        return subprocess.Popen(
            self.command("run", *arguments),
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[int]:
        """Return the processes that carry this project's environment, zombies left out."""
        return processes_of(self.environment["HOME"])

    def wait_until_gone(self, seconds: float) -> list[int]:
        """Wait until no process of this project is left; return those that still are."""
        eventually(lambda: not self.processes(), seconds)
        return self.processes()


@contextmanager
def project(folder: Path, script: str, *, spec: str = SPEC) -> Iterator[Project]:
    """Give a project with a SPEC.md and a scripted model behind ANTHROPIC_BASE_URL."""
    path, state = folder / "project", folder / "home"
    path.mkdir()
    state.mkdir()
    (path / "SPEC.md").write_text(spec, encoding="utf-8")
    with ScriptedModel(parse_script(script, name="test"), project=path) as model:
        ours = Project(path, model, agent_environment(state, model.base_url))
        try:
            yield ours
        finally:
            kill_processes_of(ours.environment["HOME"])


def eventually(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Wait until a condition holds; return whether it did in time."""
    deadline = time.monotonic() + seconds
    while not (holds := bool(condition())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds


def processes_of(home: Path | str) -> list[int]:
    """Return the processes that were started with this HOME, zombies left out."""
    mark = f"HOME={home}\0".encode()
    return [pid for pid in _all_processes() if mark in _environ(pid)]


def kill_processes_of(home: Path | str) -> None:
    """Kill what is left of a test; some of it may be ending by itself just then."""
    for pid in processes_of(home):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
