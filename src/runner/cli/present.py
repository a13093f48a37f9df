"""Run a job under the presenter that the user's options and terminal ask for."""

import errno
import os
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import cast

import typer

from runner.app.adoption import has_unadopted
from runner.app.exit_codes import FAILURE, SUCCESS, exit_code, exit_code_for_error
from runner.app.job import Job
from runner.app.notify.notifier import Notifier
from runner.app.notify.trial import unready
from runner.app.run_log import RunLog
from runner.app.subscribers import Subscribers, subscribers_of
from runner.app.unfinished import startup_failure
from runner.cli.presenter.factory import OutputFormat, make_presenter
from runner.config.options import RunOptions
from runner.credentials import Redactor
from runner.errors import ConfigError, RunnerError
from runner.events import Notice, RunResult
from runner.text.messages import plural, reason
from runner.text.safe import inert

INDENT = " " * 7
_COLUMNS = 80 - len(INDENT)
_UNDER = " " * 11
# How runner.replay.heard says it.
_COMPARED = re.compile(
    r"(line \d+(?:, in white space only)?): "
    r"recorded (nothing|…?“.*”…?), now (nothing|…?“.*”…?)\.?$"
)


def divergence_lines(divergence: str) -> str:
    """Return a divergence in lines of at most 80 columns; two texts stand one below the other."""
    texts = _COMPARED.sub(r"\1:\n  recorded \2\n  now      \3", inert(divergence)).splitlines()
    lines = (
        textwrap.wrap(text, _COLUMNS, subsequent_indent=_UNDER if text.startswith("  ") else "")
        for text in texts
    )
    return textwrap.indent("\n".join(chain.from_iterable(lines)), INDENT)


@dataclass(frozen=True, slots=True)
class Presented:
    """A run that is over and was shown.

    Attributes:
        lost: why a part of its output could not be written, None when all of it was.
        in_json: whether the output was for a program, which then has no result.
    """

    result: RunResult
    lost: OSError | None = None
    in_json: bool = False


def present(
    job: Job, perform: Callable[[Job, Subscribers], RunResult], options: RunOptions
) -> Presented:
    """Perform the job, showing it as the options say, with its log and its notifications.

    Args:
        perform: `run` or `sync` of `runner.app`.
        options: those of the command, which for the demo are not those of its run.
    """
    project = job.project
    notify = project.file.notify
    try:
        redactor = job.redactor
    except ConfigError:  # which the run itself reports in a moment
        redactor = Redactor({**os.environ, **job.agent_environment})
    events = subscribers_of(job, redactor)
    with (
        make_presenter(
            output_format=cast("OutputFormat", options.output_format),
            quiet=options.quiet,
            debug=options.debug,
            stdout=sys.stdout,
            stderr=sys.stderr,
            environ=os.environ,
        ) as presenter,
        Notifier(notify, _warn, project=project.directory) as notifier,
        RunLog(project.directory, job.command, events, redactor=redactor) as log,
    ):
        events.put_first(log, presenter, notifier)
        if has_unadopted(project.directory):
            text = "This project has a plan of Autonoe, which a run here does not use."
            events(Notice("warning", text, "`runner init --from-autonoe` takes it over."))
        # At its end, when they are wanted, it would be too late to fix them.
        for title, problem in unready(notify, project.directory):
            hint = "`runner doctor --notify finished` tries it."
            events(Notice("warning", f"Notifications won't reach {title}: {problem}", hint))
        try:
            result = perform(replace(job, facts=(*job.facts, ("Log", log.shown))), events)
        except RunnerError as error:
            # At a terminal, the person who started it reads it there.
            if not sys.stderr.isatty():
                code = exit_code_for_error(error)
                notifier.report_failed_start(
                    startup_failure(job.command, project.directory, code, error.message, error.hint)
                )
            raise
    return Presented(result, presenter.lost, in_json=options.output_format != "text")


def _warn(text: str) -> None:
    typer.echo(f"Warning: {inert(text)}", err=True)


def finish(job: Job, presented: Presented) -> None:
    """End the command with the result's exit code (CONTRACT §2).

    A run that left its script did not show what the script was written for, and a result that was
    not written can't be read: neither can end well.

    Raises:
        typer.Exit: always.
    """
    result, lost = presented.result, presented.lost
    code = exit_code(result.exit_reason, result.signal_number, needs_person=result.needs_person)
    diverged = job.divergences()
    if diverged:
        typer.echo(
            f"Warning: The conversation left the script {plural(len(diverged), 'time')}; first:\n"
            f"{divergence_lines(diverged[0])}\n"
            f"{INDENT}docs/scripted-model.md explains how sessions and turns are matched,\n"
            f"{INDENT}docs/recordings.md what a replay is compared with.",
            err=True,
        )
    # Whoever closed a pipe knows that, and needs no message.
    if lost is not None and lost.errno != errno.EPIPE:
        what = "result" if presented.in_json else "output"
        typer.echo(f"Warning: The {what} could not be written to stdout: {reason(lost)}.", err=True)
    failed = diverged or (presented.in_json and lost is not None)
    raise typer.Exit(code or (FAILURE if failed else SUCCESS))
