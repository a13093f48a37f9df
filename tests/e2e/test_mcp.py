"""The real Claude Code, with `runner mcp` as its server, follows the skill."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import statuses, write_status
from tests.e2e.harness import agent_environment, kill_processes_of, processes_of
from tests.e2e.skill import Implementer
from tests.e2e.skilled_model import SkilledModel

from runner.sandbox.process import bundled_agent

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "runner-implement"
CHECK = "python3 A-001.py && python3 A-002.py"
FILES = {name: f"print('hello from {name}')\n" for name in ("A-001", "A-002", "B-001")}
POSTURE = {"AUTORUNNER_POSTURE": "unattended"}


@dataclass
class Stage:
    """A project with the skill in it, and what the agent needs to run there."""

    project: Path
    home: Path

    def run(self, model: SkilledModel) -> str:
        """Have Claude Code invoke the skill; return what it says at its end."""
        tools = [f"mcp__runner__{name}" for name in ("task", "review", "journal", "server")]
        done = subprocess.run(
            [
                str(bundled_agent()), "-p", "/runner-implement",
                "--mcp-config", self._mcp_config(), "--strict-mcp-config",
                "--tools", "Bash,Read,Write,Skill",
                "--allowedTools", ",".join([*tools, "Bash", "Read", "Write"]),
                "--output-format", "json",
            ],
            cwd=self.project,
            env=agent_environment(self.home, model.base_url),
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return str(result["result"])

    def _mcp_config(self) -> str:
        names = ("PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
        server = {
            "command": sys.executable,
            "args": ["-m", "runner", "mcp", "--workspace", str(self.project)],
            "env": {name: os.environ[name] for name in names if name in os.environ} | POSTURE,
        }
        return json.dumps({"mcpServers": {"runner": server}})

    def model(self, verdict: str = "pass") -> SkilledModel:
        implementer = Implementer(self.project, FILES, verdict)
        return SkilledModel(implementer.play, self.project, verdict)

    def session(self) -> dict[str, Any]:
        (file,) = (self.project / ".runner/autonomy/sessions").glob("*.json")
        state: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return state


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Give a project of two phases with the skill in it; end whatever runs there afterwards."""
    stage = Stage(folder / "project", folder / "home")
    stage.project.mkdir()
    stage.home.mkdir()
    shutil.copytree(SKILL, stage.project / ".claude" / "skills" / SKILL.name)
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001"]}
    write_status(stage.project, phases, commands={"p1": [CHECK]})
    try:
        yield stage
    finally:
        kill_processes_of(stage.home)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with staged(tmp_path) as stage:
        yield stage


@dataclass(frozen=True)
class Invoked:
    """The skill was invoked once; what was found then, for a second time may follow."""

    stage: Stage
    said: str
    statuses: dict[str, str]
    session: dict[str, Any]
    left: list[int]
    prompts: str
    tools: list[str]


@pytest.fixture(scope="module")
def invoked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Invoked]:
    with staged(tmp_path_factory.mktemp("invoked")) as stage:
        with stage.model() as model:
            said = stage.run(model)
        yield Invoked(
            stage,
            said,
            statuses(stage.project),
            stage.session(),
            processes_of(stage.home),
            "\n".join(model.player.prompts),
            list(model.player.tools),
        )


def test_one_phase_is_completed_by_the_skill(invoked: Invoked) -> None:
    assert invoked.said.startswith("runner-implement: loop_signal=phase_complete session_id=auto_")
    assert invoked.statuses == {"A-001": "passed", "A-002": "passed", "B-001": "pending"}
    session = invoked.session
    assert (session["status"], session["pause_reason"]) == ("paused", "phase_complete")
    assert session["phase_gates"]["p1"]["verdict"] == "pass"
    assert invoked.left == []


def test_the_model_was_given_the_skill_and_all_tools_at_once(invoked: Invoked) -> None:
    assert "# Implement one phase with runner" in invoked.prompts
    tools = {"mcp__runner__task", "mcp__runner__review", "mcp__runner__server"}
    assert tools <= set(invoked.tools)


def test_the_second_run_goes_on_to_the_end(invoked: Invoked) -> None:
    with invoked.stage.model() as model:
        said = invoked.stage.run(model)
    assert "loop_signal=spec_complete" in said
    assert set(statuses(invoked.stage.project).values()) == {"passed"}


def test_a_review_that_keeps_failing_stops_the_skill(stage: Stage) -> None:
    with stage.model(verdict="fail") as model:
        said = stage.run(model)
    assert "loop_signal=paused_needs_attention" in said
    assert stage.session()["pause_reason"] == "fidelity_cycle_limit"


def test_without_a_plan_the_skill_ends_in_its_preflight(stage: Stage) -> None:
    (stage.project / ".runner" / "status.json").unlink()
    with stage.model() as model:
        said = stage.run(model)
    assert said == "runner-implement: loop_signal=none session_id=none"
    assert not (stage.project / "A-001.py").exists()
