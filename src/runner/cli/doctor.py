"""`runner doctor`."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from runner.cli.help_text import help_text
from runner.cli.options import AsJson, names_of, takes
from runner.cli.presenter.lines import Line, Tone
from runner.cli.presenter.wrapping import rows
from runner.config.kinds import choice
from runner.config.options import RUN_OPTIONS
from runner.config.resolve import Chosen, parsed
from runner.config.runner_file import NOTIFY_EVENTS
from runner.project import Project
from runner.text.output import Output
from runner.text.safe import inert, json_text

if TYPE_CHECKING:
    from runner.app.preflight import CheckResult

HELP = help_text(
    "Check whether a run could start here, and say what is missing.",
    ("runner doctor", "for the project in the current folder"),
    ("runner doctor --json", "one JSON object, for programs"),
    ("runner doctor --notify finished", "does what [notify] names hear of it?"),
    details="No session is started and no credential is shown. Exit code 0 only when a run could "
    "start, and the notification on trial arrived.",
)

_EVENTS = choice(*NOTIFY_EVENTS)
Event = Annotated[
    str | None,
    typer.Option(
        "--notify",
        metavar=_EVENTS.metavar,
        autocompletion=names_of(_EVENTS),
        help="Also tell this event, on trial, to the command and the webhook under [notify] in "
        ".runner/runner.toml.",
        show_default=False,
    ),
]

_NEEDS_A_PERSON = 1
_PLAIN = Tone.NORMAL
_MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@takes(*RUN_OPTIONS)
def doctor(chosen: Chosen, *, notify: Event = None, as_json: AsJson = False) -> None:
    """Run the preflight checks."""
    from runner.app import preflight  # noqa: PLC0415 - brings in what only checks need

    project = Project.of(chosen, os.environ)
    event = None if notify is None else parsed(_EVENTS, notify, "--notify")
    findings = list(preflight.preflight(project, chosen.options))
    can_start = _good(findings)
    if event is not None:
        findings.extend(preflight.notification_on_trial(project, event))
    good = _good(findings)
    if as_json:
        typer.echo(json_text({"ok": good, "findings": [asdict(f) for f in findings]}))
    else:
        for finding in findings:
            for line in _lines(finding):
                typer.echo(line)
        typer.echo("A run can start." if can_start else "A run can't start yet.")
    raise typer.Exit(0 if good else _NEEDS_A_PERSON)


def _good(findings: Iterable["CheckResult"]) -> bool:
    return all(finding.state != "fail" for finding in findings)


def _lines(finding: "CheckResult") -> Iterator[str]:
    """Yield what was found, on a terminal broken at words; for a pipe in one line each."""
    output = Output(sys.stdout)
    told = [
        Line(
            ((f"{_MARKS[finding.state]}  {finding.name}: {inert(finding.detail)}", _PLAIN),), hang=6
        )
    ]
    if finding.hint:
        told.append(Line(((f"      {inert(finding.hint)}", _PLAIN),), hang=6))
    return (row.text for line in told for row in rows(line, output))
