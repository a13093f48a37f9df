"""Recommended commands that mean the workspace they are about, wherever they are pasted (ADR 0112).

The library knows no current folder; a surface that was told its workspace says so here.
"""

import shlex
from collections.abc import Mapping
from typing import Any


def place_of(workspace: str | None) -> str:
    """Return what must follow a command so that it means the workspace that was named."""
    return f" --workspace {shlex.quote(workspace)}" if workspace else ""


def placed(view: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a view whose recommended commands mean the workspace of `place`."""
    changed = dict(view)
    if place and (actions := view.get("recommended_actions")):
        changed["recommended_actions"] = [_placed_action(action, place) for action in actions]
    context = view.get("resume_context")
    if place and context and (hint := context.get("journal_hint")):
        changed["resume_context"] = {**context, "journal_hint": placed_command(hint, place)}
    return changed


def placed_command(command: str, place: str) -> str:
    """Return a command of ours with its place; any other as it is."""
    if command.split()[:2] == ["runner", "run"]:  # which has another name for it
        place = place.replace(" --workspace ", " --project-dir ", 1)
    if not command.startswith("runner ") or command.endswith(place):
        return command
    return command + place


def _placed_action(action: Mapping[str, Any], place: str) -> dict[str, Any]:
    command = action.get("command")
    return {**action, "command": placed_command(command, place)} if command else dict(action)
