"""`runner run` and `sync` without anything that an agent could sign in with."""

import json
import os
from pathlib import Path

import pytest

from runner.agent.claude.credentials import SignIn, find_credentials
from runner.cli.main import run_command_line


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AUTORUNNER_NO_SANDBOX", "1")
    if find_credentials(os.environ).state is not SignIn.NONE:
        pytest.skip("this machine may sign in")
    project = tmp_path / "project"
    project.mkdir()
    (project / "SPEC.md").write_text("# thing\n", encoding="utf-8")
    return project


@pytest.mark.parametrize("command", ["run", "sync"])
def test_it_is_refused_before_any_session(
    command: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_command_line([command, "-p", str(project)])
    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert output.err.startswith("Error: There are no API credentials.\n       Set ANTHROPIC_API")
    assert not (project / ".runner").exists()


def test_a_recording_needs_credentials_too(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = project.parent / "recording.toml"
    assert run_command_line(["run", "-p", str(project), "--record", str(recording)]) == 2
    assert "There are no API credentials." in capsys.readouterr().err


def test_a_plan_with_nothing_to_work_on_needs_none(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".runner").mkdir()
    deliverable = {
        "id": "A-1", "description": "a", "acceptanceCriteria": ["a"],
        "passed": False, "blocked": True,
    }  # fmt: skip
    document = {"createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": [deliverable]}
    (project / ".runner" / "status.json").write_text(json.dumps(document))
    run_command_line(["run", "-p", str(project)])
    assert "credentials" not in capsys.readouterr().err
