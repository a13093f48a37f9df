"""The JSON formats: one object at the end, or one a line as things happen (docs/events.md)."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from runner.app.event_json import event_object
from runner.cli.presenter.base import Presenter
from runner.events import RunEnded, RunEvent
from runner.text.output import Output
from runner.text.safe import json_text


def _now() -> datetime:
    return datetime.now(UTC)


class JsonPresenter:
    """Writes JSON on one stream and lets another presenter speak to people elsewhere.

    Args:
        people: gets every event too; it must not write to `out`.
        out: gets JSON alone.
        stream: one object per event; otherwise the result object only.
        now: the time that the objects carry.
    """

    def __init__(
        self,
        people: Presenter,
        out: Output,
        *,
        stream: bool,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._people = people
        self._out = out
        self._stream = stream
        self._now = now

    @property
    def lost(self) -> OSError | None:
        """See `Presenter.lost`."""
        return self._out.lost

    def __call__(self, event: RunEvent) -> None:
        """Write one event. People first, so that the activity line is gone before the result."""
        self._people(event)
        if self._stream or isinstance(event, RunEnded):
            self._out.write(f"{json_text(event_object(event, self._now()))}\n")

    def __enter__(self) -> Self:
        """Begin."""
        self._people.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """End."""
        self._people.__exit__(kind, error, traceback)
