"""Signals that come before a run can handle them: it ends with a message and its exit code.

Imported before anything else of a run, so that the time in which a signal ends the process without
a word is little more than what the interpreter takes to start.
"""

import os
import signal
from types import FrameType
from typing import NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM)
_SIGNAL_EXIT_BASE = 128
_first: list[int] = []


class InterruptedEarly(SystemExit):
    """The command was asked to stop before it began. No error: frameworks have to let it through.

    Attributes:
        signal_number: of the signal.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(_SIGNAL_EXIT_BASE + signal_number)
        self.signal_number = signal_number


def take_signals() -> None:
    """Raise InterruptedEarly at the first SIGINT or SIGTERM; end at once at the second.

    That holds until the run takes the signals over. Those that the caller ignores stay ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def heed_signals() -> None:
    """Raise InterruptedEarly if a signal came whose exception got lost.

    One that is raised in a callback of the interpreter's own, as imports have them, is swallowed.
    """
    if _first:
        raise InterruptedEarly(_first[0])


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    _first.append(number)
    for other in _ENDING:
        signal.signal(other, _end)
    raise InterruptedEarly(number)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(_SIGNAL_EXIT_BASE + number)
