"""Run a job under the presenter that the user's options and terminal ask for."""

import os
import sys
from typing import Literal

import typer

from runner.cli.exit_codes import exit_code
from runner.cli.presenter.factory import make_presenter
from runner.cli.session import Job, perform


def present(
    job: Job, *, output_format: Literal["text", "json", "stream-json"], quiet: bool, debug: bool
) -> None:
    """Perform the job and end the command with its exit code.

    Raises:
        typer.Exit: always, with the exit code of CONTRACT §2.
    """
    presenter = make_presenter(
        output_format=output_format,
        quiet=quiet,
        debug=debug,
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
    )
    with presenter:
        result = perform(job, presenter)
    raise typer.Exit(exit_code(result.exit_reason, result.signal_number))
