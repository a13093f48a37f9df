"""What all tests share."""

import signal

import pytest
from hypothesis import settings

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("runner", deadline=None)
settings.load_profile("runner")


@pytest.fixture
def anyio_backend() -> str:
    """The backend that runner itself uses."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _signals_as_usual() -> None:
    """Undo what started the tests, or a run in this process, did to the signals.

    A shell starts what it puts into the background with SIGINT ignored; children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
