"""`runner doctor`."""

from dataclasses import asdict

import typer

from runner.cli.help_text import help_text
from runner.cli.inert import inert, json_text
from runner.cli.options import AsJson, takes
from runner.config.catalogue import RUN_OPTIONS
from runner.config.resolve import Chosen

HELP = help_text(
    "Check whether a run could start here, and say what is missing.",
    ("runner doctor", "for the project in the current folder"),
    ("runner doctor --json", "one JSON object, for programs"),
    details="No session is started and no credential is shown. Exit code 0 only when a run could "
    "start.",
)

_NEEDS_A_PERSON = 1
_MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@takes(*RUN_OPTIONS)
def doctor(chosen: Chosen, *, as_json: AsJson = False) -> None:
    """Run the preflight checks."""
    from runner.cli.preflight import preflight  # noqa: PLC0415 - imports what a run imports

    findings = list(preflight(chosen))
    good = all(finding.state != "fail" for finding in findings)
    if as_json:
        typer.echo(json_text({"ok": good, "findings": [asdict(f) for f in findings]}))
    else:
        for finding in findings:
            typer.echo(f"{_MARKS[finding.state]}  {finding.name}: {inert(finding.detail)}")
            if finding.hint:
                typer.echo(f"      {inert(finding.hint)}")
        typer.echo("A run can start." if good else "A run can't start yet.")
    raise typer.Exit(0 if good else _NEEDS_A_PERSON)
