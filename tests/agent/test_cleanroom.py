"""What an agent leaves where nobody looks decides no verification: real commands in a real box."""

import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent.containment.test_probe import contains
from tests.agent.processes import LINUX_REASON, ON_LINUX
from tests.agent.test_verifying import STEP, issued

from runner.agent.containment.probe import Request, contained
from runner.agent.containment.scratch import project_state
from runner.agent.verifying import SandboxedVerifier, make_verifier
from runner.config.runner_file import Verification
from runner.loop.ports import CommandResult, VerificationRun
from runner.loop.receipts import latest_run
from runner.marker import Instruction
from runner.security.settings import PolicySettings

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ON_LINUX, reason=LINUX_REASON),
    pytest.mark.skipif(shutil.which("git") is None, reason="a clean room needs git"),
]

WRONG = "def add(a, b):\n    return 0\n"
TEST = "import add, sys\nsys.exit(0 if add.add(2, 2) == 4 else 1)\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / ".cache").mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("XDG_", "CARGO_", "GO", "GIT_", "PYTHON")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    """Give a repository whose work is not done: its one test fails."""
    del home
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "add.py").write_text(WRONG)
    (folder / "test_add.py").write_text(TEST)
    (folder / ".gitignore").write_text("ignored*\n.venv/\n.env\n__pycache__/\nnode_modules/\n")
    subprocess.run(["git", "init", "-q", folder], check=True)
    commit(folder)
    return folder


def commit(project: Path) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false"]
    subprocess.run(["git", "-C", project, "add", "-A"], check=True)
    subprocess.run(["git", "-C", project, *who, "commit", "-qm", "x"], check=True)


Verify = Callable[..., Any]


@pytest.fixture(params=["bubblewrap", "without"])
def sandbox(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Stage:
    """A run: what an agent does in its box, and the verifications that follow."""

    def __init__(self, project: Path, containment: Any, **table: Any) -> None:
        self.project = project
        self.containment = containment
        self.verifier: SandboxedVerifier = make_verifier(
            project, containment, settings=PolicySettings(), verification=Verification(**table)
        )

    def agent_runs(self, script: str) -> None:
        """Run a script as a program of a coding agent would be."""
        box = self.containment.wrap(Instruction.CODING, ["/bin/bash", "-c", script])
        subprocess.run(box, cwd=self.project, check=True, timeout=60)

    async def verify(self, *commands: str) -> VerificationRun:
        return await self.verifier.run(STEP, issued(*commands))

    async def one(self, command: str) -> CommandResult:
        (result,) = (await self.verify(command)).results
        return result


@pytest.fixture
def stage(project: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage in the real box, with what `[verification]` says."""
    with contained(Request(project, Path("/bin/sh"))) as containment:
        yield lambda **table: Stage(project, containment, **table)


@pytest.fixture
def open_stage(project: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage without a sandbox."""
    with contained(Request(project, Path("/bin/sh"), wanted=False)) as containment:
        yield lambda **table: Stage(project, containment, **table)


Make = Callable[..., Stage]


def shim(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)


def poison_byte_code(source: Path) -> None:
    """Put byte code behind a source file that Python takes without looking at the source."""
    honest = source.read_text()
    source.write_text("def add(a, b):\n    return a + b\n")
    target = importlib.util.cache_from_source(str(source))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(source), cfile=target, invalidation_mode=mode)
    source.write_text(honest)


@contains
async def test_a_shim_in_an_ignored_virtual_environment_runs_nothing(
    project: Path, stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim(project / ".venv" / "bin" / "python3")
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    assert (await stage().one("python3 test_add.py")).exit_code == 1


@contains
async def test_byte_code_behind_an_honest_source_is_not_run(
    project: Path, stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison_byte_code(project / "add.py")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert (await stage().one("python3 test_add.py")).exit_code == 1
