"""The first signal stops a run in order, the second at once; an echo of the first is neither."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

TWO_SIGNALS = """
import os, signal, sys
import anyio
from runner.app.signals import ECHO_SECONDS, stop_on_signal

apart = float(sys.argv[1]) * ECHO_SECONDS
times = iter([0.0, apart])
asked = []


async def main():
    async with anyio.create_task_group() as tasks:
        await tasks.start(lambda *, task_status: stop_on_signal(
            asked.append, print, now=lambda: next(times), task_status=task_status
        ))
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            await anyio.sleep(0.2)  # equal signals are merged while they are pending
        tasks.cancel_scope.cancel()
    raise SystemExit(len(asked))


anyio.run(main)
"""


@pytest.mark.parametrize(("apart", "code"), [(0.5, 1), (1.5, 143)])
def test_a_second_signal_ends_the_process_unless_it_is_an_echo(apart: float, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_SIGNALS, str(apart)], check=False, capture_output=True
    )
    assert (done.returncode, done.stderr) == (code, b"")
