"""Signals that end a run: the first in order, the second at once."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress

import anyio

_ENDING = (signal.SIGINT, signal.SIGTERM)
_SIGNAL_EXIT_BASE = 128


async def stop_on_signal(
    stop: Callable[[int], None],
    last_words: Callable[[int], None] = lambda _number: None,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Call `stop` with the first SIGINT or SIGTERM; end the process on the second.

    The second is handed to `last_words` first, which must not take long. The agent process is in a session of its own and dies with ours (agent/guard.py), so that
    ending at once leaves nothing behind.
    """
    # A terminal that was closed does not end an unattended run (output then goes nowhere).
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with anyio.open_signal_receiver(*_ENDING) as signals:
        task_status.started()
        asked = False
        async for number in signals:
            if asked:
                # Whatever goes wrong now, the user has asked twice.
                with suppress(Exception):
                    last_words(int(number))
                os._exit(_SIGNAL_EXIT_BASE + number)
            asked = True
            stop(int(number))
