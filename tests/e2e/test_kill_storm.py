"""`runner run` killed with all its processes, at random instants. Short here, long in `make storm`."""

import json
import os
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import PASS_ALL, REVIEW_PASS

pytestmark = [pytest.mark.e2e, pytest.mark.storm, pytest.mark.timeout(3600)]

STORM = bool(os.environ.get("RUNNER_STORM"))
KILLS = 100 if STORM else 4
PHASES = 4
LONGEST_SECONDS = 6.0


def _deliverable(number: int) -> str:
    needs = f'"CLI-00{number - 1}"' if number > 1 else ""
    return f"""
[[session.turn.tools.input.deliverables]]
id = "CLI-00{number}"
description = "file {number}"
acceptanceCriteria = ["the file exists"]
phase = "phase-{number}"
dependsOn = [{needs}]
verification = ["grep -q . CLI-00{number}.txt"]
"""


PLAN = f"""
[[session]]
instruction = "initializer"
repeat = true

[[session.turn]]

[[session.turn.tools]]
name = "mcp__runner__create"
{"".join(_deliverable(number) for number in range(1, PHASES + 1))}
[[session.turn]]
text = "Planned."
"""


def _run_to_death(ours: Project, seconds: float) -> bool:
    """Run for so long at most, then kill the whole process group; say whether it was killed."""
    running = ours.start("--output-format", "json")
    try:
        running.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=60)
        return True
    return False


def _accepted(ours: Project) -> Counter[tuple[str, str]]:
    """Return how often each step was accepted, by the journals."""
    steps: Counter[tuple[str, str]] = Counter()
    for journal in (ours.path / ".runner" / "autonomy" / "journal").glob("*.jsonl"):
        for line in journal.read_text(encoding="utf-8").splitlines():
            data = json.loads(line).get("data") or {}
            if data.get("outcome") == "success":
                steps[data["step_type"], data.get("task_id") or data["phase_id"]] += 1
    return steps


def _killed_and_compared(folder: Path, chance: random.Random, most: int) -> int:
    """Kill one run until it is done, or so often; return how often, when it ended as it should."""
    folder.mkdir()
    with project(folder, PLAN + PASS_ALL + REVIEW_PASS) as ours:
        kills = 0
        while kills < most and _run_to_death(ours, chance.uniform(0.5, LONGEST_SECONDS)):
            kills += 1
            ours.wait_until_gone(10)
        done = ours.run("--output-format", "json", timeout=600)
        ids = [f"CLI-00{number}" for number in range(1, PHASES + 1)]
        files = sorted(path.name for path in ours.path.glob("CLI-*.txt"))
        result = json.loads(done.stdout)
        assert (result["exit_reason"], ours.passed(), files) == (
            "all_passed",
            ids,
            [f"{name}.txt" for name in ids],
        )
        assert [gate["verdict"] for gate in result["gates"]] == ["pass"] * PHASES
        accepted = _accepted(ours)
        for (step_type, subject), count in accepted.items():
            # Before the end all phases are verified once more, on the final tree.
            most_often = 2 if step_type == "execute_verification" else 1
            assert count <= most_often, (step_type, subject)
        return kills


def test_a_run_killed_again_and_again_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - no secret, and the same storm every time
    kills = 0
    for number in range(KILLS):
        kills += _killed_and_compared(tmp_path / str(number), chance, KILLS - kills)
        if kills == KILLS:
            break
    assert kills == KILLS
