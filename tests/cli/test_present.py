"""How a command ends, given the result of its run."""

import errno
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from runner.app.job import Job
from runner.cli.present import Presented, finish
from runner.config.options import RunOptions
from runner.deliverables.model import Counts
from runner.events import ExitReason, RunResult
from runner.project import Project


def ending(
    reason: ExitReason,
    diverged: Sequence[str] = (),
    number: int | None = None,
    *,
    lost: OSError | None = None,
    in_json: bool = True,
) -> int:
    job = Job(Project(Path("/p"), {}), RunOptions(), "Test", divergences=lambda: diverged)
    result = RunResult("run", reason, "", "p", Counts(), signal_number=number)
    with pytest.raises(typer.Exit) as raised:
        finish(job, Presented(result, lost, in_json=in_json))
    return int(raised.value.exit_code)


def test_a_good_run_exits_with_0() -> None:
    assert ending(ExitReason.ALL_PASSED) == 0


def test_a_good_run_that_left_its_script_does_not_look_good() -> None:
    assert ending(ExitReason.ALL_PASSED, ["elsewhere"]) == 1


def test_leaving_the_script_does_not_hide_why_a_run_ended() -> None:
    assert ending(ExitReason.INTERRUPTED, ["elsewhere"], signal.SIGTERM) == 143


def test_where_the_script_was_left_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    ending(ExitReason.ALL_PASSED, ["Turn 3 of coding", "later"])
    said = " ".join(capsys.readouterr().err.split())
    assert "2 times; first: Turn 3 of coding" in said


FULL = OSError(errno.ENOSPC, "No space left on device")


def test_a_result_that_no_program_can_read_is_no_success() -> None:
    assert ending(ExitReason.ALL_PASSED, lost=FULL) == 1


def test_why_a_result_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    ending(ExitReason.ALL_PASSED, lost=FULL)
    assert "The result could not be written to stdout: No space" in capsys.readouterr().err


def test_a_missing_result_does_not_hide_why_a_run_ended() -> None:
    assert ending(ExitReason.BUDGET_EXCEEDED, lost=FULL) == 6


def test_lines_for_people_that_were_lost_do_not_change_how_the_run_ended() -> None:
    assert ending(ExitReason.ALL_PASSED, lost=FULL, in_json=False) == 0


def test_a_reader_that_left_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(ExitReason.ALL_PASSED, lost=BrokenPipeError(errno.EPIPE, "Broken pipe")) == 1
    assert capsys.readouterr().err == ""
