"""`runner rollback`: asking, refusing, undoing, and the autonomous session."""

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import write_status
from tests.loop.repositories import git, isolate, write

from runner.autonomy import ControlPlane
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.cli.main import run_command_line
from runner.records.run_lock import run_lock

STEP = "step_01JABCDEFGHJKMNPQRSTVWXYZ0"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with one checkpoint, and a change since then."""
    isolate(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    write(project, app_dot_py="one\n")
    (project / ".runner").mkdir()
    write_status(project, {"phase-1": ["UI-001", "UI-002"]})
    noon = datetime(2026, 3, 4, 12, tzinfo=UTC)
    checkpoints = GitCheckpoints(project, "auto_x", clock=lambda: noon)
    checkpoints.record(STEP, "phase-1", "UI-001 \x1b[31mdone")
    write(project, app_dot_py="two\n", more_dot_py="more\n")
    return project


def ask(project: Path, *arguments: str) -> int:
    return run_command_line(["rollback", "-p", str(project), *arguments])


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_list_names_steps(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(project, "--list") == 0
    line = capsys.readouterr().out
    assert line.rstrip().endswith(f"{STEP}  phase-1  UI-001 ␛[31mdone")
    assert "\x1b" not in line


def test_an_empty_list_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, "--list") == 0
    assert "no checkpoints yet" in capsys.readouterr().out


def test_the_list_is_there_for_programs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(project, "--list", "--json") == 0
    (found,) = printed(capsys)["checkpoints"]
    assert (found["name"], found["kind"], found["phase_id"]) == (STEP, "step", "phase-1")


def test_with_yes_it_goes_back_and_says_how_to_undo(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(project, "--to", STEP[:8], "--yes") == 0
    assert (project / "app.py").read_text() == "one\n"
    said = capsys.readouterr().out
    assert "1 file changed: app.py" in said
    assert "1 file deleted: more.py" in said
    undo = said.partition("runner rollback --to ")[2].split()[0]
    assert ask(project, "--to", undo, "--yes") == 0
    assert (project / "app.py").read_text() == "two\n"
    assert (project / "more.py").exists()


def test_programs_get_an_object(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(project, "--to", STEP, "--yes", "--json") == 0
    found = printed(capsys)
    assert (found["restored"], found["changed"], found["deleted"]) == (
        STEP,
        ["app.py"],
        ["more.py"],
    )
    assert found["stash"].startswith("stash-")


def test_when_nothing_differs_nothing_is_done(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(project, "--to", STEP, "--yes")
    before = git(project, "for-each-ref")
    capsys.readouterr()
    assert ask(project, "--to", STEP) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert git(project, "for-each-ref") == before


def test_without_a_terminal_it_wants_yes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(project, "--to", STEP) == 2
    assert "Add --yes" in capsys.readouterr().err
    assert (project / "app.py").read_text() == "two\n"


@pytest.mark.process
@pytest.mark.parametrize(
    ("answer", "content"), [(b"y\n", "one\n"), (b"n\n", "two\n"), (b"\n", "two\n")]
)
def test_on_a_terminal_it_asks(project: Path, answer: bytes, content: str) -> None:
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "runner", "rollback", "-p", str(project), "--to", STEP]
    child = subprocess.Popen(words, stdin=slave, stdout=subprocess.DEVNULL, stderr=slave)
    os.write(master, answer)
    assert child.wait(60) == 0
    os.close(slave)
    os.close(master)
    assert (project / "app.py").read_text() == content


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "either --to STEP or --list"),
        (["--to", "x", "--list"], "either --to STEP or --list"),
        (["--to", "step_9"], "no checkpoint 'step_9'"),
    ],
)
def test_wrong_usage_is_explained(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert ask(project, *arguments) == 2
    assert reason in capsys.readouterr().err


def test_it_is_refused_while_a_run_is_at_work(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_lock(project):
        assert ask(project, "--to", STEP, "--yes") == 2
    assert "Another run is at work" in capsys.readouterr().err
    assert (project / "app.py").read_text() == "two\n"


def test_a_live_session_is_ended_and_the_next_starts_from_status_json(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = ControlPlane(project)
    started = plane.call("session", "start")
    session_id = started["data"]["session_id"]
    assert ask(project, "--to", STEP, "--yes") == 0
    assert f"{session_id} was ended" in capsys.readouterr().out
    fresh = ControlPlane(project)
    view = fresh.call("session", "status", session_id=session_id)["data"]
    assert view["status"] == "ended"
    events = fresh.call("session", "events", session_id=session_id)["data"]["events"]
    assert f"Rolled back to {STEP}" in json.dumps(events)
    assert fresh.call("session", "start")["data"]["session_id"] != session_id


def test_when_the_session_can_not_be_ended_no_file_changes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session_id = ControlPlane(project).call("session", "start")["data"]["session_id"]
    path = project / ".runner" / "autonomy" / "sessions" / f"{session_id}.json"
    path.write_text("{")
    assert ask(project, "--to", STEP, "--yes") == 2
    assert "can't be ended" in capsys.readouterr().err
    assert (project / "app.py").read_text() == "two\n"
