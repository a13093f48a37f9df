"""The result object of a run that never began says how the project stands."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.loop.fakes import deliverable

from runner.cli.main import run_command_line
from runner.deliverables.model import Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import status_path
from runner.records.run_lock import run_lock


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A project with one deliverable passed, one blocked and one pending, without a SPEC.md."""
    project = tmp_path / "app"
    project.mkdir()
    plan = (deliverable(1, Status.PASSED), deliverable(2, Status.BLOCKED), deliverable(3))
    repository = StatusRepository(status_path(project))
    repository.update(lambda _: StatusFile(spec_id="greeter", deliverables=plan))
    return project


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run_command_line([*arguments, "--output-format", "json"]) == 2
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


COUNTS = {
    "total": 3, "passed": 1, "blocked": 1, "pending": 1, "claimed": 1, "verified": 0, "closed": 0
}  # fmt: skip


@pytest.mark.parametrize(
    "form", ["-p {}", "-p{}", "-qp {}", "--project-dir {}", "--project-dir={}"]
)
@pytest.mark.parametrize("command", ["run", "sync"])
def test_the_counts_are_those_of_the_project_that_was_named(
    planned: Path, capsys: pytest.CaptureFixture[str], command: str, form: str
) -> None:
    result = _refused(capsys, command, *form.format(planned).split())
    assert (result["deliverables"], result["blocked_ids"]) == (COUNTS, ["D-002"])
    assert result["spec_id"] == "greeter"


def test_the_project_can_be_named_by_the_environment(
    planned: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_PROJECT_DIR", str(planned))
    assert _refused(capsys, "run")["deliverables"] == COUNTS


def test_without_a_name_the_project_is_the_folder(
    planned: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(planned)
    assert _refused(capsys, "run")["deliverables"] == COUNTS


def test_a_run_that_another_one_keeps_out_has_the_counts(
    planned: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    (planned / "SPEC.md").write_text("# x\n", encoding="utf-8")
    with run_lock(planned):
        result = _refused(capsys, "run", "-p", str(planned))
    assert "is at work" in result["message"]
    assert result["deliverables"] == COUNTS


@pytest.mark.parametrize("content", [b"{", b"\xff", None])
def test_what_can_not_be_read_counts_nothing(
    planned: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    status_path(planned).unlink()
    if content is not None:
        status_path(planned).write_bytes(content)
    assert _refused(capsys, "run", "-p", str(planned))["deliverables"]["total"] == 0


@pytest.mark.parametrize("place", ["nowhere", "\0", "a" * 5000, ""])
def test_a_project_that_can_not_be_is_refused_with_a_result(
    capsys: pytest.CaptureFixture[str], place: str
) -> None:
    assert _refused(capsys, "run", "-p", place)["exit_reason"] == "error"
