"""Run a job under the presenter that the user's options and terminal ask for."""

import os
import sys
from dataclasses import replace
from typing import cast

import typer

from runner.cli.adoption import has_unadopted
from runner.cli.assembly import Job, perform
from runner.cli.durations import plural
from runner.cli.exit_codes import FAILURE, SUCCESS, exit_code
from runner.cli.inert import inert
from runner.cli.presenter.factory import OutputFormat, make_presenter
from runner.cli.run_log import RunLog
from runner.config.catalogue import DEBUG, OUTPUT_FORMAT, QUIET
from runner.config.resolve import Chosen
from runner.loop.events import Notice, RunResult


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
    with presenter, RunLog(job.project_dir, job.command, presenter, environ=os.environ) as log:
        if has_unadopted(job.project_dir):
            text = "This project has a plan of Autonoe, which a run here does not use."
            log(Notice("warning", text, "`runner init --from-autonoe` takes it over."))
        return perform(replace(job, facts=(*job.facts, ("Log", log.shown))), log)


def finish(job: Job, result: RunResult) -> None:
    """End the command with the result's exit code (CONTRACT §2).

    A run that left its script did not show what the script was written for: it can't end well.

    Raises:
        typer.Exit: always.
    """
    code = exit_code(result.exit_reason, result.signal_number)
    diverged = job.divergences()
    if diverged:
        typer.echo(
            f"Warning: The conversation left the script {plural(len(diverged), 'time')}; first: "
            f"{inert(diverged[0])}\n"
            "       docs/scripted-model.md explains how sessions and turns are matched.",
            err=True,
        )
    raise typer.Exit(code or (FAILURE if diverged else SUCCESS))
