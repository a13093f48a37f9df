"""An output stream that may go away, and the timer that keeps the transient line alive."""

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from typing import TextIO

from runner.text.messages import reason

_DEFAULT_COLUMNS = 80
_GLYPHS = str.maketrans(
    {"⚡": "*", "⏳": "*", "…": "...", "“": '"', "”": '"', "\u2019": "'", "—": "-", "·": "-"}
)


class Output:
    """Writes to a stream and never raises for it.

    `runner run | head` closes our stdout and a closed terminal our stderr; neither is a reason
    to end an unattended run. After the first failure everything is dropped.

    Args:
        stream: None, as `sys.stdout` is where the program was started with it closed, drops all.

    Attributes:
        lost: why something could not be written, None while everything was.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.lost: OSError | None = None if stream else OSError(errno.EBADF, "it is closed")

    def write(self, text: str) -> None:
        """Write and flush `text`; what the stream's encoding lacks is replaced."""
        stream = self._stream
        if stream is None:
            return
        try:
            stream.write(_encodable(text, stream))
            stream.flush()
        except BlockingIOError:
            return  # someone made the terminal non-blocking; it is still there
        except (OSError, ValueError) as error:
            self._stream = None
            self.lost = error if isinstance(error, OSError) else OSError(errno.EBADF, reason(error))
            _quiet_exit(stream)

    def require_written(self) -> None:
        """Make sure that all was written: for an answer that is worth nothing in part.

        Raises:
            OSError: something was lost; says why.
        """
        if self.lost is not None:
            raise self.lost

    def is_terminal(self) -> bool:
        """Whether the stream is a terminal."""
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:
            return False

    def columns(self) -> int:
        """Return the width of the terminal now, 80 where it is not known."""
        try:
            return os.get_terminal_size(self._fileno()).columns or _DEFAULT_COLUMNS
        except (OSError, ValueError):
            return _DEFAULT_COLUMNS

    def in_foreground(self) -> bool:
        """Whether the terminal is ours now; a job in the background shares it with a shell."""
        try:
            return os.tcgetpgrp(self._fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return True

    def _fileno(self) -> int:
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._stream.fileno()


def _encodable(text: str, stream: TextIO) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_GLYPHS).encode(encoding, "replace").decode(encoding)
    return text


def _quiet_exit(stream: TextIO) -> None:
    # The interpreter flushes its streams on the way out and would complain about this one.
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)


class Ticker:
    """Calls a function every `interval` seconds from a thread of its own."""

    def __init__(self, interval: float, tick: Callable[[], None]) -> None:
        self._interval = interval
        self._tick = tick
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin. The thread is a daemon: a forgotten one keeps no program alive."""
        self._thread = threading.Thread(target=self._run, name="runner-presenter", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for a call that is under way. May be called twice."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            self._tick()
