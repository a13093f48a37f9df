"""Signals that end a run: while it starts, and while it works.

Imported before anything else of a run, so that a signal ends the process without a message only in
the time that the interpreter takes to start.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import anyio.abc

SIGNAL_EXIT_BASE = 128
ECHO_SECONDS = 0.25
"""A signal that comes again within this time is the same request.

`timeout` and service managers signal a process and then its group; nobody asks twice that fast.
"""

_ENDING = (signal.SIGINT, signal.SIGTERM)
_first: list[int] = []


class InterruptedEarly(SystemExit):
    """The command was asked to stop before it began. No error: frameworks have to let it through.

    Attributes:
        signal_number: of the signal.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(SIGNAL_EXIT_BASE + signal_number)
        self.signal_number = signal_number


def install_signals() -> None:
    """Raise InterruptedEarly at the first SIGINT or SIGTERM; end at once at the second.

    That holds until the run handles signals itself. Signals that the caller ignores stay ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def check_signals() -> None:
    """Raise InterruptedEarly if a signal came whose exception was lost.

    One that is raised in a callback of the interpreter itself, as imports have them, is swallowed.
    """
    if _first:
        raise InterruptedEarly(_first[0])


def ignore_signals() -> None:
    """Let no signal change the exit code of a run whose result is out."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    _first.append(number)
    for other in _ENDING:
        signal.signal(other, _end)
    raise InterruptedEarly(number)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(SIGNAL_EXIT_BASE + number)


async def stop_on_signal(
    stop: Callable[[int], None],
    interrupted: Callable[[int], None] = lambda _number: None,
    *,
    now: Callable[[], float] = time.monotonic,
    task_status: "anyio.abc.TaskStatus[None]",
) -> None:
    """Call `stop` with the first SIGINT or SIGTERM; end the process on the second.

    The second is handed to `interrupted` first, which must not take long. The agent process is in
    a session of its own and dies with ours (sandbox/guard.py), so that ending at once leaves
    nothing behind.

    Args:
        now: seconds of a clock that only goes forward.
    """
    import anyio  # noqa: PLC0415 - this module is imported before all others

    # A terminal that was closed does not end an unattended run (output then goes nowhere).
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with anyio.open_signal_receiver(*_ENDING) as signals:
        task_status.started()
        asked: float | None = None
        async for number in signals:
            if asked is None:
                asked = now()
                stop(int(number))
            elif now() - asked > ECHO_SECONDS:
                # Whatever goes wrong now, the user has asked twice.
                with suppress(Exception):
                    interrupted(int(number))
                os._exit(SIGNAL_EXIT_BASE + number)
