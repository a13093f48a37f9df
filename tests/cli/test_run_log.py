"""The log of a run in `.runner/logs/`."""

import errno
import json
import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.scenes import planning, result
from tests.loop.fakes import Recorder

from runner.app.run_log import RunLog, sweep
from runner.cli.presenter.event_schema import events_schema
from runner.credentials import Redactor
from runner.events import (
    Notice,
    RunEnded,
    RunEvent,
    RunStarted,
    SessionActivity,
    StreamText,
    StreamToolResponse,
)

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
STARTED = RunStarted("0.1.0", "Implementing SPEC.md")
ENDED = RunEnded(result())


def logged(
    project: Path, *events: RunEvent, environ: dict[str, str] | None = None, **options: Any
) -> tuple[Path, Recorder]:
    """Log these events; return the file, and what it published."""
    sink = Recorder()
    with RunLog(
        project, "run", sink, redactor=Redactor(environ or {}), now=lambda: NOON, **options
    ) as log:
        for event in events:
            log(event)
    return log.path, sink


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def text(content: str) -> SessionActivity:
    return SessionActivity(StreamText(content))


def test_the_file_is_named_after_time_command_and_process(tmp_path: Path) -> None:
    path, _ = logged(tmp_path, STARTED)
    assert path == tmp_path / ".runner" / "logs" / f"20260131T120000Z-run-{os.getpid()}.jsonl"


def test_every_line_is_an_event_of_the_published_schema(tmp_path: Path) -> None:
    path, _ = logged(tmp_path, *planning(), ENDED)
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(events_schema())
    assert [error.message for line in lines(path) for error in validator.iter_errors(line)] == []


def test_every_event_is_logged(tmp_path: Path) -> None:
    events = [*planning(), ENDED]
    path, sink = logged(tmp_path, *events)
    assert sink == []
    assert len(lines(path)) == len(events)


def test_warnings_are_in_the_log(tmp_path: Path) -> None:
    path, _ = logged(tmp_path, Notice("warning", "The sandbox is off.", "Install socat."))
    assert lines(path)[0]["message"] == "The sandbox is off."


def test_credentials_are_not_in_the_log(tmp_path: Path) -> None:
    answer = StreamToolResponse("t", 'key="hunter2hunter2"\n', is_error=False)
    path, _ = logged(tmp_path, SessionActivity(answer), environ={"A_TOKEN": "hunter2hunter2"})
    assert "hunter2" not in path.read_text()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path, _ = logged(tmp_path, STARTED)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_made_before_the_first_event(tmp_path: Path) -> None:
    logged(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_kept_out_of_the_repository(tmp_path: Path) -> None:
    logged(tmp_path, STARTED)
    assert "logs/" in (tmp_path / ".runner" / ".gitignore").read_text().splitlines()


def test_a_log_that_can_not_be_written_is_told_once_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / "logs").write_text("a file in the way")
    _, sink = logged(tmp_path, STARTED, text("a"), text("b"), ENDED)
    (notice,) = sink
    assert isinstance(notice, Notice)
    assert "log of this run could not be written" in notice.message


def test_a_disk_that_is_full_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("runner.app.run_log.os.write", refuse)
    _, sink = logged(tmp_path, STARTED)
    assert Notice(
        "warning", "The log of this run could not be written: No space left on device."
    ) in list(sink)


def test_a_folder_that_leads_out_of_the_project_is_not_used(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (project / ".runner").mkdir(parents=True)
    elsewhere.mkdir()
    (project / ".runner" / "logs").symlink_to(elsewhere)
    logged(project, STARTED)
    assert list(elsewhere.iterdir()) == []


def test_a_full_log_still_tells_how_the_run_ended(tmp_path: Path) -> None:
    path, _ = logged(tmp_path, STARTED, text("x" * 500), text("y" * 500), ENDED, file_bytes=500)
    assert [line["type"] for line in lines(path)] == [
        "run_started", "agent_text", "notice", "result",
    ]  # fmt: skip


def _old_log(folder: Path, day: int, size: int = 10) -> Path:
    path = folder / f"202601{day:02}T120000Z-run-1.jsonl"
    path.write_text("x" * size)
    return path


def test_the_oldest_logs_go_when_there_are_too_many(tmp_path: Path) -> None:
    logs = [_old_log(tmp_path, day) for day in range(1, 6)]
    sweep(tmp_path, files=3)
    assert sorted(tmp_path.iterdir()) == logs[2:]


def test_the_oldest_logs_go_when_they_are_too_large(tmp_path: Path) -> None:
    logs = [_old_log(tmp_path, day, 100) for day in range(1, 6)]
    sweep(tmp_path, size=250)
    assert sorted(tmp_path.iterdir()) == logs[3:]


def test_the_newest_log_stays_however_large(tmp_path: Path) -> None:
    newest = _old_log(tmp_path, 9, 100)
    sweep(tmp_path, size=50)
    assert newest.exists()


def test_files_of_others_stay(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text("mine")
    _old_log(tmp_path, 1)
    sweep(tmp_path, files=0)
    assert notes.exists()


def test_a_new_run_sweeps_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / ".runner" / "logs"
    folder.mkdir(parents=True)
    old = [_old_log(folder, day) for day in range(1, 26)]
    path, _ = logged(tmp_path, STARTED)
    assert sorted(folder.iterdir()) == [*old[6:], path]


@pytest.mark.parametrize("command", ["run", "sync"])
def test_the_path_that_is_shown_is_relative_to_the_project(command: str, tmp_path: Path) -> None:
    shown = RunLog(tmp_path, command, Recorder(), redactor=Redactor({})).shown
    assert re.fullmatch(rf"\.runner/logs/\d{{8}}T\d{{6}}Z-{command}-\d+\.jsonl", shown)
