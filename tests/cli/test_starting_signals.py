"""A signal that comes while a run is still being imported has its exit code and a message."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

# Sends itself the signals when the named module is about to be imported.
PROBE = """
import os, sys
place, numbers, arguments = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]

def send(numbers):
    try:
        os.kill(os.getpid(), int(numbers[0]))
    finally:  # the first one raises
        if numbers[1:]:
            send(numbers[1:])

class Sender:
    def find_spec(self, name, path, target=None):
        if name == place:
            sys.meta_path.remove(self)
            send(numbers)
        return None

sys.meta_path.insert(0, Sender())
from runner.__main__ import main
sys.argv = ["runner", *arguments]
sys.exit(main())
"""

PLACES = (
    "runner.cli.main",
    "runner.cli.app",
    "typer",
    "runner.cli.present",
    "runner.loop.run",
)


def _started(
    folder: Path, place: str, *arguments: str, numbers: tuple[signal.Signals, ...]
) -> subprocess.CompletedProcess[str]:
    (folder / "SPEC.md").write_text("# x\n", encoding="utf-8")
    sent = ",".join(str(int(number)) for number in numbers)
    environment = {n: os.environ[n] for n in ("PATH", "PYTHONPATH", "LANG") if n in os.environ}
    return subprocess.run(
        [sys.executable, "-c", PROBE, place, sent, *arguments],
        cwd=folder,
        env=environment
        | {"HOME": str(folder), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_early_signal_has_its_exit_code_and_is_told(
    tmp_path: Path, place: str, number: signal.Signals, code: int
) -> None:
    done = _started(tmp_path, place, "run", numbers=(number,))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "User interrupted\n")


@pytest.mark.parametrize("command", ["run", "sync"])
def test_an_early_signal_is_a_json_result_too(tmp_path: Path, command: str) -> None:
    done = _started(
        tmp_path, "typer", command, "--output-format", "json", numbers=(signal.SIGTERM,)
    )
    result = json.loads(done.stdout)
    assert (result["command"], result["exit_reason"], result["exit_code"]) == (
        command,
        "interrupted",
        143,
    )


def test_a_second_early_signal_ends_at_once(tmp_path: Path) -> None:
    done = _started(tmp_path, "typer", "run", numbers=(signal.SIGINT, signal.SIGTERM))
    assert (done.returncode, done.stderr) == (143, "")


LOST = """
import os, signal, weakref
from runner.app.signals import check_signals, install_signals

class Lock:
    pass

install_signals()
lock = Lock()
watched = weakref.ref(lock, lambda _: os.kill(os.getpid(), signal.SIGTERM))
del lock
check_signals()
"""


def test_a_signal_that_an_import_swallowed_is_heeded_later() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, b"Exception ignored" in done.stderr) == (143, True)


def test_an_early_interrupt_of_another_command_shows_no_traceback(tmp_path: Path) -> None:
    done = _started(tmp_path, "runner.cli.main", "status", numbers=(signal.SIGINT,))
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
