"""Signals that end a run: the first in order, the second at once."""

import os
import signal
from collections.abc import Callable

import anyio

_ENDING = (signal.SIGINT, signal.SIGTERM)
_SIGNAL_EXIT_BASE = 128


async def stop_on_signal(
    stop: Callable[[int], None],
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Call `stop` with the first SIGINT or SIGTERM; end the process on the second.

    The agent process is in a session of its own and dies with ours (agent/guard.py), so that
    ending at once leaves nothing behind.
    """
    # A terminal that was closed does not end an unattended run (output then goes nowhere).
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with anyio.open_signal_receiver(*_ENDING) as signals:
        task_status.started()
        asked = False
        async for number in signals:
            if asked:
                os._exit(_SIGNAL_EXIT_BASE + number)
            asked = True
            stop(int(number))
