"""`runner report`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runner.cli.help_text import help_text
from runner.cli.options import AsJson, takes
from runner.config.options import PROJECT_DIR
from runner.config.resolve import Chosen
from runner.errors import UsageError
from runner.text.output import Output
from runner.text.safe import json_text

if TYPE_CHECKING:
    from runner.report.facts import Report

STDOUT = "-"

HELP = help_text(
    "Report what was done, by which evidence, and what it cost.",
    ("runner report", "in the terminal"),
    ("runner report --html report.html", "one page with everything, for a browser"),
    ("runner report --json", "the same facts as one JSON object"),
    details="The report is about the latest autonomous session, also one that is over: its "
    "deliverables with their evidence, phases with verifications and reviews, cost and tokens, "
    "denied tool calls, and what needs a person. The page is one file that loads nothing and runs "
    "no script. Reads alone: it can be asked at any time.",
)


@takes(PROJECT_DIR)
def report(
    chosen: Chosen,
    *,
    html: Annotated[
        str | None,
        typer.Option(
            "--html", metavar="FILE", help="Write the report as an HTML page; - is stdout."
        ),
    ] = None,
    session_id: Annotated[
        str | None,
        typer.Option("--session-id", metavar="ID", help="Report this autonomous session."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report what a run did."""
    from runner.app.report_sources import sources_of  # noqa: PLC0415 - pydantic is slow
    from runner.report.gather import gather  # noqa: PLC0415

    target = _target(html, as_json=as_json)
    found = gather(sources_of(chosen.project_dir, session_id))
    if html is not None:
        _write_page(found, target, quiet=as_json)
    if as_json:
        from runner.report.page import report_object  # noqa: PLC0415

        typer.echo(json_text(report_object(found)))
    elif html is None:
        from runner.report.text import report_lines  # noqa: PLC0415

        out = Output(sys.stdout)
        for line in report_lines(found):
            out.write(f"{line}\n")
        out.require_written()


def _target(html: str | None, *, as_json: bool) -> Path | None:
    """Return the file to write, None for none or stdout."""
    if html is None:
        return None
    if html == STDOUT:
        if as_json:
            raise UsageError(
                "Only one of --json and --html - can go to stdout.", hint="Name a file with --html."
            )
        return None
    if not html:
        raise UsageError("--html needs the name of a file.", hint="E.g. --html report.html")
    from runner.report.page import check_target  # noqa: PLC0415 - Jinja is slow

    try:
        path = Path(html).expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"{html} names the home of somebody who is not known here.", hint="Name another file."
        ) from error
    check_target(path)
    return path


def _write_page(found: "Report", target: Path | None, *, quiet: bool) -> None:
    from runner.report.page import html_page, write_page  # noqa: PLC0415 - brings in Jinja

    page = html_page(found)
    if target is None:
        sys.stdout.buffer.write(page.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        return
    size = write_page(target, page)
    if not quiet:
        typer.echo(f"The report is in {target} ({size / 1024:,.0f} kB). Open it in a browser.")
