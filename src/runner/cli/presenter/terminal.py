"""The terminal: coloured lines above one transient activity line (seed 001 §3.5).

The only module that imports Rich; nothing else may import it before a terminal is known.
"""

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from runner.cli.presenter.activity import Activity, Clock
from runner.cli.presenter.lines import Line, Tone
from runner.cli.presenter.narration import Narrator
from runner.cli.presenter.plain import Paint, unpainted
from runner.cli.presenter.wrapping import rows
from runner.events import RunEvent
from runner.text.output import Output, Ticker


class JobControl:
    """Handles SIGTSTP and SIGCONT between `install` and `remove`.

    Signals that somebody else handles, or that are ignored as in a pipeline without job control,
    are left alone.

    Args:
        suspend: called before the process stops, in the main thread, between two instructions of it;
            returns False when it must not stop just now, but at the next `catch_up`.
        resume: called when it goes on, also after a SIGSTOP that nobody could handle.
    """

    def __init__(self, suspend: Callable[[], bool], resume: Callable[[], None]) -> None:
        self._suspend = suspend
        self._resume = resume
        self._installed = False
        self._pending = False

    def install(self) -> None:
        """Begin, if this is the main thread and nobody else handles the signals."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
            signal.signal(signal.SIGTSTP, self._stop)
            signal.signal(signal.SIGCONT, self._continue)
            self._installed = True

    def remove(self) -> None:
        """End. May be called twice."""
        if self._installed:
            self._installed = False
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def catch_up(self) -> None:
        """Stop now, if that was asked for while it could not be done."""
        if self._pending:
            self._stop(signal.SIGTSTP, None)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._pending = not self._suspend()
        if self._pending:
            return
        # Only the default action stops a process the way its shell expects.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._stop)

    def _continue(self, _number: int, _frame: FrameType | None) -> None:
        self._resume()


_TICK_SECONDS = 0.25
_ERASE_LINE = "\r\x1b[2K"
_ERASE_BELOW = "\x1b[J"

_STYLES = {
    Tone.NORMAL: "",
    Tone.STRONG: "bold",
    Tone.FAINT: "dim",
    Tone.GOOD: "bold green",
    Tone.CAUTION: "yellow",
    Tone.BAD: "bold red",
}


class Painter:
    """Paints lines for one terminal. A line's text is never read as Rich markup.

    Args:
        output: the terminal, for its width.
        environ: decides the colours (TERM, COLORTERM).
        forced: use the eight basic colours even where the environment promises none.
    """

    def __init__(self, output: Output, environ: Mapping[str, str], *, forced: bool = False) -> None:
        self._output = output
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard" if forced else "auto",
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
            _environ=dict(environ),
        )

    def line(self, line: Line) -> str:
        """Return a permanent line, on a terminal broken at words."""
        return "\n".join(self._row(row) for row in rows(line, self._output))

    def _row(self, line: Line) -> str:
        text = Text.assemble(*((content, _STYLES[tone]) for content, tone in line.spans))
        if line.clip and self._output.is_terminal():
            text.truncate(self._output.columns(), overflow="ellipsis")
        return self._render(text)

    def clipped(self, content: str, width: int) -> tuple[str, int]:
        """Return the transient line and its width in cells.

        It stays a column short of the edge, where terminals differ about the cursor.
        """
        text = Text(content)
        text.truncate(max(1, width - 1), overflow="ellipsis")
        return self._render(text), cell_len(text.plain)

    def _render(self, text: Text) -> str:
        with self._console.capture() as capture:
            self._console.print(text, soft_wrap=True, end="")
        return capture.get()


class TerminalPresenter:
    """Shows a run on a terminal.

    The transient line is drawn by a timer thread when it changed, never by the events, so
    thousands of them a second cost nothing. The cursor is neither hidden nor moved from the
    line: whatever stops the process leaves a usable terminal behind.

    Args:
        out: the terminal.
        err: gets warnings and errors; mostly the same terminal.
        environ: decides the colours.
        clock: monotonic seconds.
        wall: seconds since the epoch.
    """

    def __init__(
        self,
        out: Output,
        err: Output,
        environ: Mapping[str, str],
        *,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        self._out, self._err = out, err
        self._painter = Painter(out, environ)
        self._paint_err: Paint = Painter(err, environ).line if err.is_terminal() else unpainted
        self._activity = Activity(clock, wall)
        self._narrator = Narrator(wall)
        self._lock = threading.RLock()
        self._drawn = ("", 0)
        self._drawn_cells = 0
        self._ticker = Ticker(_TICK_SECONDS, self.tick)
        self._writing = False
        self._jobs = JobControl(self.suspend, self.resume)

    @property
    def lost(self) -> OSError | None:
        """See `Presenter.lost`."""
        return self._out.lost

    def __call__(self, event: RunEvent) -> None:
        """Write the lines of one event above the activity line."""
        self._activity.update(event)
        lines = self._narrator.lines(event)
        if lines:
            with self._lock:
                self._writing = True
                self._write(lines)
                self._writing = False
            self._jobs.catch_up()

    def __enter__(self) -> Self:
        """Begin the activity line."""
        self._jobs.install()
        self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Take the activity line away."""
        self._jobs.remove()
        self._ticker.stop()
        with self._lock:
            self._out.write(self._erase())

    def tick(self) -> None:
        """Draw the activity line if it changed or the terminal did."""
        if not self._out.in_foreground():
            return
        with self._lock:
            wanted = (self._activity.text(), self._out.columns())
            if wanted != self._drawn:
                self._out.write(self._erase() + self._draw(*wanted))

    def suspend(self) -> bool:
        """Take the activity line away, for the shell to have the terminal.

        Returns False in the middle of a write of the same thread, which can't be written into.
        """
        if self._writing:
            return False
        with self._lock:
            self._out.write(self._erase())
        return True

    def resume(self) -> None:
        """Forget what was drawn: others have written since, and the line is drawn anew below."""
        with self._lock:
            self._drawn, self._drawn_cells = ("", 0), 0

    def _write(self, lines: list[Line]) -> None:
        pending = self._erase()
        for line in lines:
            if line.is_for_stderr:
                self._out.write(pending)
                self._err.write(f"{self._paint_err(line)}\n")
                pending = ""
            else:
                pending += f"{self._painter.line(line)}\n"
        if self._out.in_foreground():
            pending += self._draw(self._activity.text(), self._out.columns())
        self._out.write(pending)

    def _draw(self, content: str, width: int) -> str:
        """Return what draws the line where the cursor is, and remember it."""
        painted, cells = self._painter.clipped(content, width) if content else ("", 0)
        self._drawn, self._drawn_cells = (content, width), cells
        return painted

    def _erase(self) -> str:
        """Return what takes the drawn line away and leaves the cursor in its first column.

        A terminal that became narrower has broken the line into several rows.
        """
        cells = self._drawn_cells
        self._drawn, self._drawn_cells = ("", 0), 0
        if not cells or not self._out.in_foreground():
            return ""
        rows = -(-cells // self._out.columns())
        return _ERASE_LINE if rows == 1 else f"\r\x1b[{rows - 1}A{_ERASE_BELOW}"
