"""What all tests share."""

import signal
from collections.abc import Iterator

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
def _signals_as_before() -> Iterator[None]:
    """Undo what a run in this process did to the signals: its children would inherit that."""
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
