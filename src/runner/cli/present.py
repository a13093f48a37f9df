"""Run a job under the presenter that the user's options and terminal ask for."""

import os
import sys
from typing import cast

import typer

from runner.cli.assembly import Job, perform
from runner.cli.exit_codes import exit_code
from runner.cli.presenter.factory import OutputFormat, make_presenter
from runner.config.catalogue import DEBUG, OUTPUT_FORMAT, QUIET
from runner.config.resolve import Chosen
from runner.loop.events import RunResult


def present(job: Job, chosen: Chosen) -> RunResult:
    """Perform the job, showing it as the options say."""
    presenter = make_presenter(
        output_format=cast("OutputFormat", chosen[OUTPUT_FORMAT]),
        quiet=chosen[QUIET],
        debug=chosen[DEBUG],
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
    )
    with presenter:
        return perform(job, presenter)


def finish(result: RunResult) -> None:
    """End the command with the result's exit code (CONTRACT §2).

    Raises:
        typer.Exit: always.
    """
    raise typer.Exit(exit_code(result.exit_reason, result.signal_number))
