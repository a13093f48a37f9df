"""Find the session that a report is about."""

import os
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner import __version__
from runner.app.control_plane import open_for_reading, sessions_readable
from runner.app.workspace_flag import place_to_name
from runner.autonomy.codes import RefusedError
from runner.autonomy.commands.listing import Listing
from runner.autonomy.placing import placed
from runner.autonomy.store.port import Page
from runner.config.project import resolve_project
from runner.credentials import Redactor
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.errors import PrerequisiteError, RunnerError, UsageError
from runner.records.agent_sessions import history_lines
from runner.report.gather import Sources
from runner.report.outcome import NO_SESSION


def sources_of(project: Path, session_id: str | None) -> Sources:
    """Return what a report of the session is made from.

    Args:
        session_id: None for the live session of the spec, or else the one that changed last;
            before the first, the report is about planning.

    Raises:
        UsageError: there is no such session; PrerequisiteError when there is none at all and no
            agent was at work either, or no such project.
        StateError: the folder of sessions can't be read.
    """
    core = open_for_reading(resolve_project(project)).core
    listing = Listing(core)
    with sessions_readable():
        view = _view(listing, project, session_id)
        siblings = listing.summaries(str(view.get("spec_id")))
    store, own = core.store, view["session_id"]
    return Sources(
        project_dir=project,
        view=placed(view, place_to_name(project)),
        siblings=siblings,
        page_of=lambda limit, end: (own and store.page(own, limit, end)) or Page((), None),
        read_review=store.read_review,
        run_command=_command("run", project),
        sync_command=_command("sync", project),
        redact=Redactor(os.environ).text,
        version=__version__,
        now=datetime.now(UTC),
        place=place_to_name(project),
    )


def _view(listing: Listing, project: Path, session_id: str | None) -> dict[str, Any]:
    if session_id is not None:
        return _chosen(listing, session_id)
    view = _latest(listing, project)
    if view is None and _was_worked_on(project):
        spec_id = derive_spec_id(project)
        return {"session_id": None, "spec_id": spec_id, "status": NO_SESSION, "progress": {}}
    if view is None:
        raise PrerequisiteError(
            f"There is nothing to report: {project} has no autonomous session yet.",
            hint="`runner run` starts one; `runner status` shows what is planned.",
        )
    return view


def _was_worked_on(project: Path) -> bool:
    try:
        return any(line is not None for line in history_lines(project))
    except OSError:
        return False


def _chosen(listing: Listing, session_id: str) -> dict[str, Any]:
    try:
        view = listing.view(session_id)
    except RefusedError as error:
        raise UsageError(error.message, hint=error.hint) from error
    if view is None:
        raise UsageError(
            f"There is no session {session_id}.",
            hint="`runner session list` shows which there are.",
        )
    return view


def _latest(listing: Listing, project: Path) -> dict[str, Any] | None:
    try:
        file = StatusRepository(status_path(project)).load()
    except RunnerError:
        return listing.latest(None)  # nobody knows which spec; the report says what is wrong
    return listing.latest(file.spec_id if file else derive_spec_id(project)) or listing.latest(None)


def _command(name: str, project: Path) -> str:
    place = [] if project == Path.cwd() else ["--project-dir", str(project)]
    return shlex.join(["runner", name, *place])
