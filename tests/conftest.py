"""What all tests share."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("runner", deadline=None)
settings.load_profile("runner")

_OURS = re.compile(r"(python[\d.]*|runner|claude|bwrap)$")
_started: list[str] = []


def _note_programs(event: str, arguments: tuple[object, ...]) -> None:
    """Record the command line of each Python, agent and sandbox process that a test starts."""
    if event == "subprocess.Popen":
        given = arguments[1]
        words = given if isinstance(given, list | tuple) else [given]
        line = " ".join(map(_text, (arguments[0], *words)))
        if _OURS.search(_text(arguments[0])) or sys.executable in line:
            _started.append(line)


def _text(word: object) -> str:
    return os.fsdecode(word) if isinstance(word, bytes | os.PathLike) else str(word)


sys.addaudithook(_note_programs)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget earlier tests; processes that this test's fixtures start count as its own."""
    _started.clear()


class _ByFixture(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Give a worker of `make test` whole files, so that a fixture of a module is set up once.

    Tests with real agents whose file has no such fixture go one by one: they fill the end.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in self._divided else file

    @cached_property
    def _divided(self) -> frozenset[str]:
        files = sorted(Path(__file__).parent.glob("e2e/test_*.py"))
        alone = [f for f in files if 'scope="module"' not in f.read_text(encoding="utf-8")]
        return frozenset(f"tests/e2e/{file.name}" for file in alone)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByFixture:
    """Replace the scheduler of --dist loadscope."""
    return _ByFixture(config, log)


@pytest.fixture
def anyio_backend() -> str:
    """The backend that runner itself uses."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_process_in_a_unit_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that starts one of these processes without the marker `process`."""
    yield
    marked = any(map(request.node.get_closest_marker, ("process", "e2e", "images", "dist")))
    assert marked or not _started, (
        f"mark this test with `process`, which `make unit` leaves out: it starts {_started[0]}"
    )


@pytest.fixture(autouse=True)
def _signals_as_usual() -> None:
    """Undo what started the tests, or a run in this process, did to the signals.

    A shell starts what it puts into the background with SIGINT ignored; children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
