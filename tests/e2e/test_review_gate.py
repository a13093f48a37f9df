"""`runner review gate` without a verdict: an agent makes the review (CONTRACT §6)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import write_status
from tests.e2e.harness import Project, project
from tests.e2e.scripts import REVIEW_PASS

pytestmark = pytest.mark.e2e

SILENT = """
[[session]]
instruction = "review"
repeat = true

[[session.turn]]
text = "I have no opinion."
"""


class Caller:
    """Drives the control plane of a project by the command line."""

    def __init__(self, ours: Project) -> None:
        self._ours = ours

    def __call__(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "runner", *arguments, "--json"],
            cwd=self._ours.path,
            env=self._ours.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        envelope: dict[str, Any] = json.loads(done.stdout)
        return envelope

    def to_the_gate(self) -> dict[str, Any]:
        """Start a session and go on to its first gate step; return that."""
        assert self("session", "start")["success"]
        step: dict[str, Any] = self("step", "next")["data"]["next_step"]
        report = {
            "step_id": step["step_id"],
            "step_type": step["type"],
            "task_id": step["task_id"],
            "outcome": "success",
            "step_proof": step["step_proof_token"],
        }
        gate: dict[str, Any] = self("step", "next", "--result", json.dumps(report))["data"]
        issued: dict[str, Any] = gate["next_step"]
        return issued


@pytest.fixture
def reviewed(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Caller]:
    with project(tmp_path, getattr(request, "param", REVIEW_PASS)) as ours:
        write_status(ours.path, {"p1": ["A-1"]})
        ours.environment["AUTORUNNER_POSTURE"] = "supervised"
        yield Caller(ours)


def review(caller: Caller, step: dict[str, Any]) -> dict[str, Any]:
    return caller("review", "gate", "--phase-id", "p1", "--step-id", step["step_id"])


def test_the_agents_verdict_becomes_evidence(reviewed: Caller) -> None:
    step = reviewed.to_the_gate()
    data = review(reviewed, step)["data"]
    assert (data["verdict"], data["gate_passed_preview"]) == ("pass", True)


@pytest.mark.parametrize("reviewed", [SILENT], indirect=True)
def test_a_review_without_a_verdict_could_not_run(reviewed: Caller) -> None:
    step = reviewed.to_the_gate()
    assert review(reviewed, step)["data"]["error_code"] == "REVIEW_UNAVAILABLE"


def test_a_review_that_is_not_due_is_refused_before_it_is_paid_for(reviewed: Caller) -> None:
    reviewed.to_the_gate()
    wrong = {"step_id": "step_01J00000000000000000000000"}
    assert review(reviewed, wrong)["data"]["error_code"] == "STEP_MISMATCH"
