"""`runner status`."""

import sys
from pathlib import Path
from typing import Any

import typer

from runner.app.workspace_flag import place_to_name
from runner.autonomy.enums import TERMINAL_STATUSES
from runner.autonomy.placing import placed
from runner.checkpoints.ledger import was_rolled_back
from runner.cli.control.scene import Scene, screen_width, utc_now
from runner.cli.control.session_text import resumption_lines
from runner.cli.help_text import help_text
from runner.cli.options import AsJson, takes
from runner.cli.status_view import StatusView, status_lines, status_object
from runner.config.options import PROJECT_DIR
from runner.config.project import SPEC_NAME
from runner.config.resolve import Chosen
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.records.phases import phase_rows, told_in_full
from runner.records.run_lock import current_holder
from runner.records.spending import SpendBook
from runner.text.output import Output
from runner.text.safe import json_text

HELP = help_text(
    "Show deliverables and phases, what they took, and what is next.",
    ("runner status", "of the project in the current folder"),
    ("runner status -p ../app", "of another one"),
    ("runner status --json", "one JSON object, for programs"),
    details="A phase is shown with its gate, its receipt and its review; phases and deliverables "
    "with the sessions, the time and the cost that they took over all runs; a session that waits "
    "for a person with the command for it. Nothing is written or started, so it can be asked at "
    "any time, also while a run is at work.",
)


@takes(PROJECT_DIR)
def status(chosen: Chosen, *, as_json: AsJson = False) -> None:
    """Show where a project stands."""
    project = chosen.project_dir
    file = StatusRepository(status_path(project)).load()
    spec_id = derive_spec_id(project)
    session = _session(project, file.spec_id if file else spec_id)
    spend = SpendBook(project).load()
    rows = told_in_full(project, phase_rows(session or {}), spend.efforts)
    spec_text = SpecText(project)
    view = StatusView(
        project_dir=project,
        spec_id=spec_id,
        has_spec=(project / SPEC_NAME).is_file(),
        file=file,
        holder=current_holder(project),
        spend=spend,
        rows={row["phase_id"]: row for row in rows},
        is_open=session is not None and session["status"] not in TERMINAL_STATUSES,
        spec_edited=spec_text.seems_edited(),
        rolled_back=was_rolled_back(project),
    )
    if as_json:
        typer.echo(json_text({**status_object(view), "session": session}))
        return
    out = Output(sys.stdout)
    for line in status_lines(view):
        out.write(line + "\n")
    if session is not None:
        place = place_to_name(project)
        scene = Scene(
            placed(session, place),
            utc_now(),
            width=screen_width(),
            place=place,
            is_looped=spec_text.is_noted,
        )
        for line in ("", *resumption_lines(scene, is_driven=view.holder is not None)):
            out.write(line + "\n")
        told = scene.is_looped and (
            session["effective_status"] == "running" or session["pause_reason"] == "phase_complete"
        )
        if view.is_open and view.holder is None and not told:
            out.write("\n`runner run` goes on with it once nothing above waits for a person.\n")
    out.require_written()


def _session(project: Path, spec_id: str) -> dict[str, Any] | None:
    """Return the autonomous session to take up, None where there never was one."""
    from runner.autonomy.store.layout import Layout  # noqa: PLC0415 - for those who have sessions

    if not any(Layout.of(project).sessions.glob("auto_*.json")):
        return None
    from runner.app.control_plane import latest_session  # noqa: PLC0415 - pydantic is slow

    return latest_session(project, spec_id)
