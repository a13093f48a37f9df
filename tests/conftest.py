"""What all tests share."""

import os
import re
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests for `make test`: one worker runs a group, and sets up its fixtures once.

    A file is a group. A test with a real agent that uses no fixture of its module is one by itself.
    """
    for item in items:
        if not item.get_closest_marker("e2e") or _shares(item):
            file = item.nodeid.partition("::")[0]
            item.add_marker(pytest.mark.xdist_group(file.removesuffix(".py").replace("/", ".")))


def _shares(item: pytest.Item) -> bool:
    """Return whether a test uses a fixture that other tests of its module use."""
    assert isinstance(item, pytest.Function)
    found = item._fixtureinfo.name2fixturedefs.values()
    return any(
        fixture.scope in ("module", "package", "session") and fixture.baseid
        for fixtures in found
        for fixture in fixtures
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remove the group that xdist appends, so that a printed name can be given to pytest."""
    name, found, _ = report.nodeid.rpartition("@")
    if found and report.nodeid.rfind("]") < len(name):
        report.nodeid = name


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
