"""Signals that end a run: the first in order, the second at once."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import anyio

_ENDING = (signal.SIGINT, signal.SIGTERM)
_SIGNAL_EXIT_BASE = 128

ECHO_SECONDS = 0.25
"""A signal that comes again within this time is the same request.

`timeout` and service managers signal a process and then its group; nobody asks twice that fast.
"""


async def stop_on_signal(
    stop: Callable[[int], None],
    last_words: Callable[[int], None] = lambda _number: None,
    *,
    now: Callable[[], float] = time.monotonic,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Call `stop` with the first SIGINT or SIGTERM; end the process on the second.

    The second is handed to `last_words` first, which must not take long. The agent process is in
    a session of its own and dies with ours (sandbox/guard.py), so that ending at once leaves
    nothing behind.

    Args:
        now: seconds of a clock that only goes forward.
    """
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
                    last_words(int(number))
                os._exit(_SIGNAL_EXIT_BASE + number)
