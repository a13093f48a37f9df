"""Run a job under the presenter that the user's options and terminal ask for."""

import os
import sys
from dataclasses import replace
from typing import cast

import typer

from runner.cli.assembly import Job, perform
from runner.cli.durations import plural
from runner.cli.exit_codes import FAILURE, SUCCESS, exit_code
from runner.cli.inert import inert
from runner.cli.notify import Notifier
from runner.cli.presenter.factory import OutputFormat, make_presenter
from runner.config.catalogue import DEBUG, OUTPUT_FORMAT, QUIET
from runner.config.resolve import Chosen
from runner.config.runner_file import load_runner_file
from runner.loop.events import RunEnded, RunEvent, RunResult
from runner.loop.ports import RunSink


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
    notify = load_runner_file(job.project_dir).notify
    with presenter, Notifier(notify, presenter, _warn) as notifier:
        return perform(job, _with_divergences(job, notifier))


def _with_divergences(job: Job, sink: RunSink) -> RunSink:
    """Return a sink that adds to the end of a run where it left its script."""

    def told(event: RunEvent) -> None:
        if isinstance(event, RunEnded):
            left = {"divergences": list(job.divergences())}
            event = replace(event, details={**event.details, **left})
        sink(event)

    return told


def _warn(text: str) -> None:
    typer.echo(f"Warning: {text}", err=True)


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
            "       docs/scripted-model.md explains how sessions and turns are matched, "
            "docs/recordings.md what a replay is compared with.",
            err=True,
        )
    raise typer.Exit(code or (FAILURE if diverged else SUCCESS))
