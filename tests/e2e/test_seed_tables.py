"""Seed 001 §8.1 and §8.5, row by row, with the real agent."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import PASS_BOUND

pytestmark = pytest.mark.e2e


def entry(name: str, **changes: object) -> dict[str, Any]:
    return {
        "id": name,
        "description": f"What {name} does",
        "acceptanceCriteria": ["it works"],
        "passed": False,
        "blocked": False,
        **changes,
    }


@contextmanager
def planned(folder: Path, script: str, *entries: dict[str, Any]) -> Iterator[Project]:
    """Give a project that is planned already."""
    with project(folder, script) as ours:
        (ours.path / ".runner").mkdir()
        document = {
            "createdAt": "2026-01-01",
            "updatedAt": "2026-01-01",
            "deliverables": list(entries),
        }
        (ours.path / ".runner" / "status.json").write_text(json.dumps(document), encoding="utf-8")
        yield ours


def sessions(stream: str) -> list[tuple[str, str | None]]:
    """Return instruction and deliverable of each agent session."""
    events = [json.loads(line) for line in stream.splitlines()]
    return [(e["instruction"], e["task_id"]) for e in events if e["type"] == "session_started"]


def coded(ours: Project) -> list[str | None]:
    """Run to the end; return what was coded, in order."""
    done = ours.run("--output-format", "stream-json", "-n", "8")
    started = sessions(done.stdout)
    assert [instruction for instruction, _ in started if instruction == "initializer"] == []
    return [task for instruction, task in started if instruction == "coding"]


def test_a_plan_of_which_nothing_passed_is_run_as_a_whole(tmp_path: Path) -> None:
    with planned(tmp_path, PASS_BOUND, entry("A-001"), entry("A-002")) as ours:
        assert coded(ours) == ["A-001", "A-002"]
        assert ours.passed() == ["A-001", "A-002"]


def test_of_a_plan_that_passed_in_part_the_rest_is_run(tmp_path: Path) -> None:
    entries = (entry("A-001", passed=True), entry("A-002"), entry("A-003", blocked=True))
    with planned(tmp_path, PASS_BOUND, *entries) as ours:
        assert coded(ours) == ["A-002"]


CREATE_NEW = """
[[session]]
instruction = "sync"

[[session.turn]]

[[session.turn.tools]]
name = "mcp__runner__create"

[[session.turn.tools.input.deliverables]]
id = "NEW-001"
description = "What is new"
acceptanceCriteria = ["it is there"]

[[session.turn]]
text = "Added."
"""
VERIFY_OLD = """
[[session]]
instruction = "verify"

[[session.turn]]
tools = [
  { name = "mcp__runner__set_status", input = { deliverableId = "OLD-001", status = "passed" } },
  { name = "mcp__runner__verify", input = { deliverableId = "OLD-001" } },
  { name = "mcp__runner__verify", input = { deliverableId = "NEW-001" } },
]

[[session.turn]]
text = "Checked."
"""


def test_a_sync_without_a_plan_creates_everything_as_pending(tmp_path: Path) -> None:
    with project(tmp_path, CREATE_NEW) as ours:
        ours.run("-n", "1", command="sync")
        found = [(d["id"], d["passed"], d["blocked"]) for d in ours.status["deliverables"]]
    assert found == [("NEW-001", False, False)]


def test_a_sync_adds_what_is_new_as_pending_and_verifies_what_matches(tmp_path: Path) -> None:
    with planned(tmp_path, CREATE_NEW + VERIFY_OLD, entry("OLD-001")) as ours:
        done = ours.run(command="sync")
        found = [(d["id"], d["passed"], "deprecatedAt" in d) for d in ours.status["deliverables"]]
    assert (done.returncode, found) == (0, [("OLD-001", True, False), ("NEW-001", False, False)])
    assert "Verification complete, 1 not implemented yet." in done.stdout
