"""Commands to paste that mean the project they are about, wherever they are pasted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from runner.autonomy.placing import place_of, placed, placed_text
from runner.events import RunEnded, RunEvent


def place_to_name(project_dir: Path) -> str:
    """Return what commands of the control plane need; nothing in the project's own folder."""
    return "" if project_dir == Path.cwd() else place_of(str(project_dir))


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
        hint = placed_text(event.result.hint or "", self._place) or None
        details = placed(event.details, self._place) if event.details else event.details
        return RunEnded(replace(event.result, hint=hint), details)
