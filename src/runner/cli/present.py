"""Run a job under the presenter that the user's options and terminal ask for."""

import errno
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, cast

import typer

from runner.app.adoption import has_unadopted
from runner.app.box_environment import redactor_of
from runner.app.composition import Job, perform
from runner.app.exit_codes import FAILURE, SUCCESS, exit_code, exit_code_for_error
from runner.app.notify.notifier import Notifier
from runner.app.notify.trial import unready
from runner.app.run_log import RunLog
from runner.app.startup_failure import never_began
from runner.app.workspace_flag import Placing, place_to_name
from runner.cli.presenter.factory import OutputFormat, make_presenter
from runner.config.resolve import Chosen
from runner.config.runner_file import load_runner_file
from runner.credentials import Redactor
from runner.errors import ConfigError, RunnerError
from runner.events import Notice, RunEnded, RunEvent, RunResult
from runner.ports import RunSink
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


def laid_out(divergence: str) -> str:
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


def present(job: Job, chosen: Chosen) -> Presented:
    """Perform the job, showing it as the options say."""
    presenter = make_presenter(
        output_format=cast("OutputFormat", chosen.options.output_format),
        quiet=chosen.options.quiet,
        debug=chosen.options.debug,
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
    )
    notify = load_runner_file(job.project_dir).notify
    environ = {**os.environ, **job.agent_environment}
    try:
        redactor = redactor_of(job.project_dir, environ)
    except ConfigError:  # which the run itself says in a moment
        redactor = Redactor(environ)
    with (
        presenter,
        Notifier(notify, presenter, _warn, project=job.project_dir) as notifier,
        RunLog(job.project_dir, job.command, notifier, redactor=redactor) as log,
    ):
        if has_unadopted(job.project_dir):
            text = "This project has a plan of Autonoe, which a run here does not use."
            log(Notice("warning", text, "`runner init --from-autonoe` takes it over."))
        # At its end, which is when they are wanted, it would be too late to mend them.
        for title, problem in unready(notify, job.project_dir):
            hint = "`runner doctor --notify finished` tries it."
            log(Notice("warning", f"Notifications won't reach {title}: {problem}", hint))
        sink = _with_divergences(job, Placing(place_to_name(job.project_dir), log))
        try:
            result = perform(replace(job, facts=(*job.facts, ("Log", log.shown))), sink)
        except RunnerError as error:
            # Whoever started it at a terminal reads it there.
            if not sys.stderr.isatty():
                notifier.never_began(_refusal(job, error))
            raise
    return Presented(result, presenter.lost, in_json=chosen.options.output_format != "text")


def _refusal(job: Job, error: RunnerError) -> Mapping[str, Any]:
    code = exit_code_for_error(error)
    return never_began(job.command, job.project_dir, code, error.message, error.hint)


def _with_divergences(job: Job, sink: RunSink) -> RunSink:
    """Return a sink that adds to the end of a run where it left its script."""

    def told(event: RunEvent) -> None:
        if isinstance(event, RunEnded):
            left = {"divergences": list(job.divergences())}
            event = replace(event, details={**event.details, **left})
        sink(event)

    return told


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
            f"{laid_out(diverged[0])}\n"
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
