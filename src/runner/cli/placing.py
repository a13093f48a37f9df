"""Commands to paste that mean the project they are about, wherever they are pasted."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.autonomy.placing import place_of
from runner.loop.events import RunEnded, RunEvent

_GROUPS = ("session", "step", "review", "task", "journal", "capabilities")
_COMMANDS = tuple(f"runner {group} " for group in _GROUPS)


def place_to_name(project_dir: Path) -> str:
    """Return what commands of the control plane need; nothing in the project's own folder."""
    return "" if project_dir == Path.cwd() else place_of(str(project_dir))


def placed_view(view: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the view of a session, or a run's details, with the place in its commands."""
    actions = [
        {**action, "command": placed(action["command"], place)} if action.get("command") else action
        for action in view.get("recommended_actions") or ()
    ]
    return {**view, "recommended_actions": actions}


def placed(command: str, place: str) -> str:
    """Return a command with its place, where it is one of the control plane."""
    return command + place if f"{command.strip()} ".startswith(_COMMANDS) else command


class Placing:
    """A sink that passes every event on, and names the place in the commands of a run's end.

    Args:
        place: see `place_to_name`.
        sink: gets every event.
    """

    def __init__(self, place: str, sink: Callable[[RunEvent], None]) -> None:
        self._place = place
        self._sink = sink

    def __call__(self, event: RunEvent) -> None:
        """Take in one event."""
        self._sink(self._placed(event) if isinstance(event, RunEnded) and self._place else event)

    def _placed(self, event: RunEnded) -> RunEnded:
        lines = (event.result.hint or "").splitlines()
        hint = "\n".join(placed(line, self._place) for line in lines) or None
        details = placed_view(event.details, self._place) if event.details else event.details
        return RunEnded(replace(event.result, hint=hint), details)
