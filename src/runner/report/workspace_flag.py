"""Recommended commands that name the project they are about, wherever they are pasted (ADR-0018).

The library knows no current folder; a surface that was given a workspace or a project adds it here.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_CONTROL_COMMANDS = frozenset({"session", "step", "review", "task", "journal", "capabilities"})
_PROJECT_COMMANDS = frozenset(
    {"run", "sync", "status", "report", "doctor", "rollback", "init", "config", "check"}
)
_QUOTED = re.compile(r"`(runner [^`\n]+)`")


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
    """Return a `runner` command with the option that names its project; any other as it is."""
    program, group = (*command.split()[:2], "", "")[:2]
    if program != "runner" or group not in _CONTROL_COMMANDS | _PROJECT_COMMANDS:
        return command
    if group in _PROJECT_COMMANDS:
        place = place.replace(" --workspace ", " --project-dir ", 1)
    return command if command.endswith(place) else command + place


def placed_text(text: str, place: str) -> str:
    """Return a text with the project named in its commands: whole lines, and those in backticks."""
    if not place:
        return text
    lines = (placed_command(line, place) for line in text.splitlines())
    return "\n".join(
        _QUOTED.sub(lambda found: f"`{placed_command(found[1], place)}`", line) for line in lines
    )


def _placed_action(action: Mapping[str, Any], place: str) -> dict[str, Any]:
    command = action.get("command")
    return {**action, "command": placed_command(command, place)} if command else dict(action)


def place_to_name(project_dir: Path) -> str:
    """Return what commands of the control plane need; nothing in the project's own folder."""
    return "" if project_dir == Path.cwd() else place_of(str(project_dir))
