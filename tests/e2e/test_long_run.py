"""Many agent sessions in a row: nothing that a run holds grows with them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import project
from tests.e2e.scripts import PASS_BOUND

ROOT = Path(__file__).resolve().parents[2]
MEBIBYTE = 1024 * 1024
WARM_UP = 5
"""After so many sessions everything is imported and every pool is filled."""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.storm,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks into /proc"),
]

STORM = os.environ.get("RUNNER_STORM") == "1"
SESSIONS = 200 if STORM else 12
PHASE = 50 if STORM else 6
"""Deliverables of one phase: fewer than a session of the control plane may do before it stops."""


@dataclass(frozen=True)
class Held:
    """What the process held after each session, and how the run ended."""

    samples: list[dict[str, Any]]
    exit_reason: str

    def growth(self, name: str) -> int:
        """Return by how much a number went beyond what it was in the first sessions."""
        values = [int(sample[name]) for sample in self.samples]
        return max(values[WARM_UP:]) - max(values[:WARM_UP])


def _plan(count: int) -> dict[str, Any]:
    return {
        "createdAt": "2026-11-20",
        "updatedAt": "2026-11-20",
        "phases": [{"id": f"P{n}", "title": f"Part {n}"} for n in range(count // PHASE)],
        "deliverables": [
            {
                "id": f"STEP-{number:03}",
                "phase": f"P{(number - 1) // PHASE}",
                "description": f"Step {number}",
                "acceptanceCriteria": ["its file exists"],
                "passed": False,
                "blocked": False,
            }
            for number in range(1, count + 1)
        ],
    }


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    with project(tmp_path_factory.mktemp("long"), PASS_BOUND) as ours:
        state = ours.path / ".runner"
        state.mkdir()
        (state / "status.json").write_text(json.dumps(_plan(SESSIONS)), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "tests.e2e.long_run", str(ours.path)],
            cwd=ROOT,
            env={**ours.environment, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
        )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    return Held([line for line in lines if "session" in line], lines[-1].get("exit_reason", ""))


pytestmark.append(pytest.mark.timeout(1600 if STORM else 120))


def test_every_session_passes_its_deliverable(held: Held) -> None:
    reviews = SESSIONS // PHASE
    assert (held.exit_reason, len(held.samples)) == ("all_passed", SESSIONS + reviews)


def test_memory_grows_by_less_than_20_mib(held: Held) -> None:
    assert held.growth("bytes") <= 20 * MEBIBYTE


def test_open_files_do_not_grow(held: Held) -> None:
    assert held.growth("files") <= 0


def test_child_processes_do_not_grow(held: Held) -> None:
    assert held.growth("children") <= 0
