"""`runner status`."""

import sys
from pathlib import Path
from typing import Any

import typer

from runner.autonomy.enums import TERMINAL_STATUSES
from runner.checkpoints.ledger import was_rolled_back
from runner.cli.control.scene import Scene, screen_width, utc_now
from runner.cli.control.session_text import resumption_lines
from runner.cli.help_text import help_text
from runner.cli.options import AsJson, takes
from runner.cli.status_view import StatusView, status_lines, status_object
from runner.config.options import PROJECT_DIR
from runner.config.project import SPEC_NAME
from runner.config.resolve import Chosen
from runner.deliverables.model import StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.loop.plan_decision import PlanDecision, has_begun, plan_decision
from runner.records.agent_sessions import work_at
from runner.records.baseline import BaselineBook, with_baseline
from runner.records.phases import phase_rows, told_in_full
from runner.records.plan_reviews import PlanBook
from runner.records.run_lock import current_holder
from runner.records.spending import SpendBook
from runner.report.facts import Need, RunOutcome
from runner.report.outcome import NO_SESSION, needs_of, outcome_of
from runner.report.words import Words
from runner.report.workspace_flag import place_to_name, placed, placed_command
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
    place = place_to_name(project)
    view, session = _view(project, place)
    if as_json:
        typer.echo(json_text({**status_object(view), "session": session}))
        return
    out = Output(sys.stdout)
    for line in status_lines(view):
        out.write(line + "\n")
    if session is not None:
        scene = Scene(
            placed(session, place),
            utc_now(),
            width=screen_width(),
            place=place,
            is_looped=SpecText(project).is_noted,
        )
        for line in (
            "",
            *resumption_lines(
                scene, is_driven=view.holder is not None, is_answered=bool(view.needs)
            ),
        ):
            out.write(line + "\n")
    out.require_written()


def _view(project: Path, place: str) -> tuple[StatusView, dict[str, Any] | None]:
    """Return what is shown of a project, and its autonomous session as the control plane sees it."""
    file = StatusRepository(status_path(project)).load()
    spec_id = derive_spec_id(project)
    session = _session(project, file.spec_id if file else spec_id)
    spend = SpendBook(project).load()
    phases = with_baseline(project, phase_rows(session or {}), file)
    rows = told_in_full(project, phases, spend.efforts)
    spec_text = SpecText(project)
    holder, rolled_back = current_holder(project), was_rolled_back(project)
    known = session is not None
    decision = plan_decision(project, file, known=known)
    answer = answer_of(
        placed(session, place) if session is not None else None,
        file,
        decision,
        driven=holder is not None,
        spec_edited=spec_text.seems_edited(),
        rolled_back=rolled_back,
        looped=spec_text.is_noted,
        place=place,
    )
    view = StatusView(
        project_dir=project,
        spec_id=spec_id,
        has_spec=(project / SPEC_NAME).is_file(),
        file=file,
        holder=holder,
        spend=spend,
        rows={row["phase_id"]: row for row in rows},
        is_open=session is not None and session["status"] not in TERMINAL_STATUSES,
        spec_edited=spec_text.seems_edited(),
        rolled_back=rolled_back,
        plan_review=None
        if file is None
        else PlanBook(project).stand(file, begun=has_begun(file, known=known)),
        decision=decision,
        outcome=answer[0],
        needs=answer[1],
        work=None if holder is None else work_at(project, utc_now()),
        unproved=frozenset(d.id for d in BaselineBook(project).read().unproved(file)),
    )
    return view, session


def answer_of(
    session: dict[str, Any] | None,
    file: StatusFile | None,
    decision: PlanDecision | None,
    *,
    driven: bool,
    spec_edited: bool,
    rolled_back: bool,
    looped: bool,
    place: str,
) -> tuple[RunOutcome | None, tuple[Need, ...]]:
    """Return how it stands and what a person can do, as `runner report` says it."""
    if file is None and session is None:
        return None, ()
    view = session or {"status": NO_SESSION}
    if session is not None and not looped and session["effective_status"] == "running":
        # Whoever drives it needs no run; the session's own lines say what comes next.
        return RunOutcome("running", "An autonomous session is open for another caller"), ()
    outcome = outcome_of(view, file, None, driven=driven, rolled_back=rolled_back, plan=decision)
    needs = needs_of(
        view,
        file,
        Words(str),
        driven=driven,
        spec_edited=spec_edited,
        rolled_back=rolled_back,
        looped=looped,
        run_command=placed_command("runner run", place),
        sync_command=placed_command("runner sync", place),
        plan=decision,
        place=place,
    )
    return outcome, tuple(needs)


def _session(project: Path, spec_id: str) -> dict[str, Any] | None:
    """Return the autonomous session to take up, None where there never was one."""
    from runner.autonomy.store.layout import has_sessions  # noqa: PLC0415 - few have sessions

    if not has_sessions(project):
        return None
    from runner.app.control_plane import latest_session  # noqa: PLC0415 - pydantic is slow

    return latest_session(project, spec_id)
