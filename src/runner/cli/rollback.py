"""`runner rollback`."""

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from runner.checkpoints.ledger import Checkpoint
from runner.checkpoints.rollback import Changes, Rollback, find_checkpoint, prepared, restorable
from runner.cli.help_text import help_text
from runner.cli.options import AsJson, takes
from runner.config.options import PROJECT_DIR
from runner.config.resolve import Chosen
from runner.errors import PrerequisiteError, UsageError
from runner.installation import keep_temporary_files_from
from runner.records.run_lock import run_lock
from runner.text.messages import plural
from runner.text.safe import inert

_SHOWN = 10
_WIDTH = 100
_LIVE = ("running", "paused", "failed")

HELP = help_text(
    "Bring the project's files back to how a step left them.",
    ("runner rollback --list", "what can be gone back to"),
    ("runner rollback --to step_01JX", "shows the changes, and asks"),
    ("runner rollback --to stash-20260304T120000Z", "undoes a rollback"),
    details="Files and status.json go back; what was there is kept first, uncommitted work too. "
    "Branch, index, HEAD and git's configuration stay as they are, as do ignored files. A live "
    "autonomous session is ended: the next `runner run` starts a new one from status.json.",
)

Call = Callable[..., dict[str, Any]]
"""(group, command, **params) → envelope: the control plane."""


@takes(PROJECT_DIR)
def rollback(
    chosen: Chosen,
    *,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="STEP", help="The step or stash, or how its name begins."),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show what can be gone back to, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go back to a step."""
    project = chosen.project_dir
    if show_list == (to is not None):
        raise UsageError(
            "Give either --to STEP or --list.", hint="`runner rollback --list` shows the steps."
        )
    if to is None:
        _show(restorable(project), as_json=as_json)
        return
    keep_temporary_files_from(project)
    target = find_checkpoint(project, to)
    with run_lock(project), prepared(project, target, datetime.now(UTC)) as prepared_rollback:
        _go_back(prepared_rollback, project, yes=yes, as_json=as_json)


def _go_back(rollback: Rollback, project: Path, *, yes: bool, as_json: bool) -> None:
    changes = rollback.changes
    if not as_json:
        _say(_plan_lines(rollback.target, changes))
    if changes.count == 0:
        _report(rollback, (), as_json=as_json)
        return
    if not yes:
        _confirm()
    rollback.keep_now()
    # Before the files: should this end here, a session that knows more than status.json says
    # would go on from what is no longer there.
    ended = end_live_sessions(_control_plane(project), f"Rolled back to {rollback.target.name}.")
    rollback.apply()
    _report(rollback, ended, as_json=as_json)


def end_live_sessions(call: Call, reason: str) -> tuple[str, ...]:
    """End every autonomous session of the workspace that is not over; return their ids.

    Raises:
        PrerequisiteError: one can't be ended.
    """
    ended: list[str] = []
    for status in _LIVE:
        listed = _data(call("session", "list", status_filter=status, limit=100))
        for session in listed["sessions"]:
            session_id = session["session_id"]
            _data(call("session", "end", session_id=session_id, reason=reason))
            ended.append(session_id)
    return tuple(ended)


def _control_plane(project: Path) -> Call:
    from runner.app.control_plane import control_plane  # noqa: PLC0415 - brings in pydantic

    call: Call = control_plane(project).call
    return call


def _data(envelope: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = envelope["data"]
    if not envelope["success"]:
        raise PrerequisiteError(
            f"The autonomous session can't be ended: {envelope['error']}",
            hint=f"{data.get('remediation') or ''} No file was changed.".strip(),
        )
    return data


def _confirm() -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "There is nobody to confirm this; no file was changed.", hint="Add --yes to go ahead."
        )
    if not typer.confirm("Go back?", err=True):
        typer.echo("No file was changed.")
        raise typer.Exit(0)


def _show(entries: Iterable[Checkpoint], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"checkpoints": [asdict(entry) for entry in entries]}))
        return
    lines = [_line(entry) for entry in entries]
    _say(lines or ["There are no checkpoints yet: `runner run` makes one for each step."])


def _line(entry: Checkpoint) -> str:
    facts = (_local_time(entry.at), entry.name, entry.phase_id or "-", entry.summary)
    return "  ".join(inert(fact, _WIDTH) for fact in facts)


def _local_time(at: str) -> str:
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return at


def _plan_lines(target: Checkpoint, changes: Changes) -> list[str]:
    if changes.count == 0:
        return [f"Everything is as it was at {target.name}; nothing was changed."]
    lines = [f"Going back to {_line(target)}"]
    for what, paths in (
        ("changed", changes.changed),
        ("created", changes.created),
        ("deleted", changes.deleted),
        ("left alone, too large for a checkpoint", changes.kept),
    ):
        if paths:
            lines.append(f"  {plural(len(paths), 'file')} {what}: {_some(paths)}")
    return lines


def _some(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(inert(path, _WIDTH) for path in paths[:_SHOWN]) + more


def _report(rollback: Rollback, ended: tuple[str, ...], *, as_json: bool) -> None:
    changes, stash = rollback.changes, rollback.stash.name
    if as_json:
        kept = stash if changes.count else None
        outcome = {"restored": rollback.target.name, "stash": kept, "ended_sessions": list(ended)}
        typer.echo(json.dumps({**outcome, **asdict(changes)}))
        return
    if not changes.count:
        return
    _say(
        [
            f"The files are as they were at {rollback.target.name}.",
            f"  What was there is kept; to undo this: runner rollback --to {stash}",
            "  Branch, HEAD and index are where they were; `git status` shows the difference.",
        ]
    )
    _say(
        f"  The autonomous session {session_id} was ended; the next `runner run` starts a new one "
        "from status.json."
        for session_id in ended
    )


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
