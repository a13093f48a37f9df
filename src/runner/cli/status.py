"""`runner status`."""

import typer

from runner.cli.help_text import help_text
from runner.cli.inert import json_text
from runner.cli.options import AsJson, takes
from runner.cli.status_view import StatusView, status_lines, status_object
from runner.config.catalogue import PROJECT_DIR
from runner.config.resolve import Chosen
from runner.config.run_options import SPEC_NAME
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.loop.run_lock import current_holder
from runner.loop.spending import SpendBook

HELP = help_text(
    "Show the deliverables by phase, the progress, and what is next.",
    ("runner status", "of the project in the current folder"),
    ("runner status -p ../app", "of another one"),
    ("runner status --json", "one JSON object, for programs"),
    details="Nothing is written or started, so it can be asked at any time, also while a run is "
    "at work.",
)


@takes(PROJECT_DIR)
def status(chosen: Chosen, *, as_json: AsJson = False) -> None:
    """Show where a project stands."""
    project = chosen.project_dir
    view = StatusView(
        project_dir=project,
        spec_id=derive_spec_id(project),
        has_spec=(project / SPEC_NAME).is_file(),
        file=StatusRepository(status_path(project)).load(),
        holder=current_holder(project),
        spend=SpendBook(project).load(),
    )
    if as_json:
        typer.echo(json_text(status_object(view)))
        return
    for line in status_lines(view):
        typer.echo(line)
