"""Ctrl-Z and `fg`: take the activity line away before the process stops, and draw it again after."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType


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
