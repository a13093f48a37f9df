"""`runner sync` with the real agent: plan, verify, and leave the project alone."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import SYNC_TWO, VERIFY

pytestmark = pytest.mark.e2e


def sync(ours: Project, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return ours.run(*arguments, command="sync")


@pytest.fixture(scope="module")
def synced(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Project, dict[str, Any]]]:
    """A sync that verified everything, and its result; the tests that share it only look at it."""
    with project(tmp_path_factory.mktemp("synced"), SYNC_TWO + VERIFY) as ours:
        done = sync(ours, "--output-format", "json")
        assert done.returncode == 0, done.stderr
        yield ours, json.loads(done.stdout)


def test_sync_plans_and_verifies_everything_and_exits_with_0(
    synced: tuple[Project, dict[str, Any]],
) -> None:
    ours, result = synced
    assert (result["exit_reason"], result["verified"]) == ("all_verified", 2)
    assert ours.passed() == ["CLI-001"]


def test_the_note_is_taken_out_of_the_throw_away_copy(
    synced: tuple[Project, dict[str, Any]],
) -> None:
    ours, _ = synced
    note = (ours.path / ".runner-note.md").read_text(encoding="utf-8")
    assert note == "CLI-002 is missing.\n"


def test_the_output_of_sync_is_the_one_of_the_seed(tmp_path: Path) -> None:
    with project(tmp_path, SYNC_TWO + VERIFY) as ours:
        lines = sync(ours).stdout.splitlines()
    overall = next(line for line in lines if line.startswith("Overall"))
    assert overall.startswith("Overall: 3 session(s), 2/2 verified, cost=$")
    assert "All 2 deliverables verified" in lines


DEPRECATE = """
[[session]]
instruction = "sync"

[[session.turn]]
tools = [{ name = "mcp__runner__deprecate", input = { deliverableId = "OLD-001" } }]

[[session.turn]]
text = "Gone."

[[session]]
instruction = "verify"

[[session.turn]]
tools = [{ name = "mcp__runner__verify", input = { deliverableId = "NEW-001" } }]

[[session.turn]]
text = "Verified."
"""


def test_what_left_the_spec_is_deprecated_and_not_verified(tmp_path: Path) -> None:
    with project(tmp_path, DEPRECATE) as ours:
        entry = {"description": "d", "acceptanceCriteria": ["c"], "passed": True, "blocked": False}
        document = {"deliverables": [{"id": "OLD-001", **entry}, {"id": "NEW-001", **entry}]}
        (ours.path / ".runner").mkdir()
        (ours.path / ".runner" / "status.json").write_text(json.dumps(document), encoding="utf-8")
        done = sync(ours)
        old, new = ours.status["deliverables"]
        assert (done.returncode, "deprecatedAt" in old, "deprecatedAt" in new) == (0, True, False)


def test_sync_stops_at_the_iteration_limit(tmp_path: Path) -> None:
    with project(tmp_path, SYNC_TWO + VERIFY) as ours:
        assert sync(ours, "-n", "2").returncode == 4


INTRUDER = """
[[session]]
instruction = "verify"

[[session.turn]]
tools = [{ name = "Bash", input = { command = "touch /tmp/started-{{iteration}}" } }]

[[session.turn]]
delay_ms = 3000
text = "Looked."
"""


def test_a_change_of_the_project_during_a_session_fails_the_sync_and_is_named(
    tmp_path: Path,
) -> None:
    with project(tmp_path, SYNC_TWO + INTRUDER) as ours:
        running = subprocess.Popen(
            ours.command("sync"),
            cwd=ours.path,
            env=ours.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("Session 2"):
                (ours.path / "intruder.py").write_text("x = 1\n", encoding="utf-8")
                break
        output, _ = running.communicate(timeout=60)
        assert running.returncode == 7
        assert "intruder.py" in output


def test_commit_commits_the_status_and_the_note_alone(tmp_path: Path) -> None:
    with project(tmp_path, SYNC_TWO + VERIFY) as ours:

        def git(*arguments: str) -> str:
            return subprocess.run(
                ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments],
                cwd=ours.path,
                capture_output=True,
                text=True,
                check=True,
            ).stdout

        git("init", "--quiet")
        git("config", "user.name", "t")
        git("config", "user.email", "t@localhost")
        done = sync(ours, "--commit")
        assert done.returncode == 0, done.stderr
        files = git("show", "--name-only", "--format=").split()
        assert sorted(files) == [".runner-note.md", ".runner/status.json"]
