"""How a command ends, given the result of its run."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from runner.cli.assembly import Job
from runner.cli.present import finish
from runner.config.run_options import RunOptions
from runner.deliverables.model import Counts
from runner.loop.events import ExitReason, RunResult


def ending(reason: ExitReason, diverged: Sequence[str] = (), number: int | None = None) -> int:
    job = Job(Path("/p"), RunOptions(), "Test", divergences=lambda: diverged)
    with pytest.raises(typer.Exit) as raised:
        finish(job, RunResult("run", reason, "", "p", Counts(), signal_number=number))
    return int(raised.value.exit_code)


def test_a_good_run_exits_with_0() -> None:
    assert ending(ExitReason.ALL_PASSED) == 0


def test_a_good_run_that_left_its_script_does_not_look_good() -> None:
    assert ending(ExitReason.ALL_PASSED, ["elsewhere"]) == 1


def test_leaving_the_script_does_not_hide_why_a_run_ended() -> None:
    assert ending(ExitReason.INTERRUPTED, ["elsewhere"], signal.SIGTERM) == 143


def test_where_the_script_was_left_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    ending(ExitReason.ALL_PASSED, ["Turn 3 of coding", "later"])
    assert "2 times; first: Turn 3 of coding" in capsys.readouterr().err
