"""Permanent lines alone: for pipes, log files, `--quiet`, `--debug` and dumb terminals."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from runner.cli.presenter.activity import Activity, Clock, retry_label, tool_label
from runner.cli.presenter.lines import Level, Line, Tone
from runner.cli.presenter.lines import line as line_of
from runner.cli.presenter.narration import Narrator
from runner.events import (
    RunEvent,
    SessionActivity,
    StreamApiRetry,
    StreamEnd,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    StreamToolResponse,
)
from runner.text.output import Output, Ticker
from runner.text.safe import inert, inert_lines

_THINKING_LIMIT = 200
_MARGIN = "    | "  # keeps a line of a tool's output from passing for one of ours


def debug_lines(event: RunEvent) -> list[Line]:
    """Return the extra lines for `event`; those that are always shown are not among them."""
    if not isinstance(event, SessionActivity):
        return []
    return [line_of(text, Tone.FAINT) for text in _texts(event)]


def _texts(activity: SessionActivity) -> Iterator[str]:
    match activity.event:
        case StreamThinking(text=text):
            yield f"  [thinking] {inert(text, _THINKING_LIMIT)}".rstrip()
        case StreamText(text=text):
            yield "  [text]"
            yield from _block(text)
        case StreamToolInvocation(name=name, input=arguments):
            yield f"  [tool] {tool_label(name)}"
            yield from _block(json.dumps(arguments, ensure_ascii=False, indent=2, default=str))
        case StreamToolResponse(content=content, is_error=is_error):
            yield "  [tool error]" if is_error else "  [tool answer]"
            yield from _block(content)
        case StreamApiRetry() as retry:
            yield f"  [retry] {retry_label(retry)}"
        case StreamEnd():
            yield "  [end]"
        case _:
            return


def _block(text: str) -> Iterator[str]:
    return (f"{_MARGIN}{content}".rstrip() for content in inert_lines(text))


PROGRESS_SECONDS = 60.0
_TICK_SECONDS = 1.0

Paint = Callable[[Line], str]


def unpainted(line: Line) -> str:
    """Return the line's text: the way to paint without colours."""
    return line.text


class PlainPresenter:
    """Writes lines, and what is going on after a minute without any.

    Args:
        out: gets the lines.
        err: gets warnings and errors.
        paint: makes the text of a line for `out`.
        paint_err: makes the text of a line for `err`.
        quiet: write the final lines and errors only, and no progress.
        debug: also write every event of the agent with its content.
        clock: monotonic seconds.
        wall: seconds since the epoch.
    """

    def __init__(
        self,
        out: Output,
        err: Output,
        *,
        paint: Paint = unpainted,
        paint_err: Paint = unpainted,
        quiet: bool = False,
        debug: bool = False,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        self._out, self._err = out, err
        self._paint, self._paint_err = paint, paint_err
        self._quiet, self._debug = quiet, debug
        self._clock = clock
        self._activity = Activity(clock, wall)
        self._narrator = Narrator(wall)
        self._lock = threading.Lock()
        self._written = clock()
        self._ticker = Ticker(_TICK_SECONDS, self.tick)

    @property
    def lost(self) -> OSError | None:
        """See `Presenter.lost`."""
        return self._out.lost

    def __call__(self, event: RunEvent) -> None:
        """Write the lines of one event."""
        self._activity.update(event)
        lines = self._lines(event)
        if lines:
            with self._lock:
                self._write(lines)

    def __enter__(self) -> Self:
        """Begin the progress lines."""
        if not self._quiet:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """End the progress lines."""
        self._ticker.stop()

    def tick(self) -> None:
        """Write a progress line when one is due."""
        with self._lock:
            text = self._activity.text()
            if text and self._clock() - self._written >= PROGRESS_SECONDS:
                self._out.write(f"{text}\n")
                self._written = self._clock()

    def _lines(self, event: RunEvent) -> list[Line]:
        lines = debug_lines(event) if self._debug else []
        lines += self._narrator.lines(event)
        if self._quiet:
            return [
                line for line in lines if line.level in (Level.FINAL, Level.ERROR) and line.text
            ]
        return lines

    def _write(self, lines: list[Line]) -> None:
        self._written = self._clock()
        for line in lines:
            if line.is_for_stderr:
                self._err.write(f"{self._paint_err(line)}\n")
            else:
                self._out.write(f"{self._paint(line)}\n")
