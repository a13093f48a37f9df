"""A recording whose run was killed: what is in the file, and what a replay says of it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.harness import SPEC, Project, eventually, project
from tests.e2e.scripts import PASS_BOUND, PLAN_TWO

from runner.replay import load_script

pytestmark = pytest.mark.e2e

SECONDS = 60
# The second deliverable's session hangs, so that the run is killed in the middle of it.
HANGS = """
[[session]]
instruction = "coding"
task = "CLI-002"

[[session.turn]]
text = "This takes its time."
delay_ms = 60000
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Project]]:
    """Give the recording of a run that got SIGKILL in its third agent session."""
    folder = tmp_path_factory.mktemp("killed")
    path = folder / "run.toml"
    with project(folder, PLAN_TWO + HANGS + PASS_BOUND) as ours:
        process = ours.start("--record", str(path))
        eventually(lambda: _hangs(ours), SECONDS)
        process.kill()
        process.communicate()
        ours.wait_until_gone(SECONDS)
        yield path, ours


def _hangs(ours: Project) -> bool:
    asked = [request.marker for request in ours.model.requests]
    return any(marker is not None and marker.task == "CLI-002" for marker in asked)


def test_the_sessions_before_the_kill_can_be_read(killed: tuple[Path, Project]) -> None:
    path, _ = killed
    sessions = [(session.instruction, session.task) for session in load_script(path).session]
    assert sessions == [("initializer", None), ("coding", "CLI-001")]


def test_nothing_half_written_is_left_beside_the_recording(killed: tuple[Path, Project]) -> None:
    path, _ = killed
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["home", "project", "run.toml"]


def test_a_replay_goes_to_where_the_recording_ends_and_says_so(
    killed: tuple[Path, Project], tmp_path: Path
) -> None:
    path, ours = killed
    (tmp_path / "SPEC.md").write_text(SPEC, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "runner", "run", "--replay", str(path), "--output-format", "json"],
        cwd=tmp_path,
        env={**ours.environment, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    result = json.loads(done.stdout)
    assert (done.returncode != 0, result["deliverables"]["claimed"]) == (True, 1)
    assert result["divergences"][0] == (
        "Turn 1 of coding CLI-002 (iteration 3): None of the recording's 2 sessions is for this "
        "prompt (or it was asked before): the recorded run ended or was killed earlier, or went "
        "another way."
    )
