"""Ctrl-Z and `fg` on a real terminal."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.terminals import CTRL_Z, Terminal, terminal

from runner.cli.presenter.terminal import JobControl

SCENES = Path(__file__).with_name("scenes.py")
ROOT = Path(__file__).resolve().parents[2]


def _at_once() -> bool:
    return True


def _nothing() -> None:
    pass


@contextmanager
def playing(*, columns: int = 80, pace: str = "0.3") -> Iterator[Terminal]:
    """Play a run in a terminal, slowly."""
    kept = {key: value for key, value in os.environ.items() if "COLOR" not in key}
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    command = [sys.executable, str(SCENES), "text", pace]
    environ = {**kept, "TERM": "xterm-256color", "PYTHONPATH": path}
    with terminal(command, columns=columns, environ=environ, cwd=ROOT) as shown:
        yield shown


def _stopped(shown: Terminal) -> None:
    shown.wait_for("⚡")
    shown.type(CTRL_Z)
    shown.wait_for("STOPPED")


@pytest.mark.process
@pytest.mark.parametrize("columns", [80, 120])
def test_a_suspended_run_leaves_no_activity_line_to_the_shell(columns: int) -> None:
    with playing(columns=columns) as shown:
        _stopped(shown)
        assert [line for line in shown.screen if "⚡" in line] == []


@pytest.mark.process
@pytest.mark.parametrize("columns", [80, 120])
def test_a_resumed_run_draws_its_line_again_and_leaves_the_shells_own(columns: int) -> None:
    with playing(columns=columns) as shown:
        _stopped(shown)
        shown.type("fg\n")
        shown.wait_for("⚡")
        assert [line for line in shown.screen if line.endswith("STOPPED")] != []
        assert "fg" in shown.screen


@pytest.mark.process
def test_a_run_that_was_suspended_goes_on_to_its_end() -> None:
    with playing(pace="0.1") as shown:
        _stopped(shown)
        shown.type("fg\n")
        shown.wait_for("EXIT 0")
        assert "All achievable deliverables passed" in shown.screen


@pytest.mark.process
def test_a_run_can_be_suspended_twice() -> None:
    with playing() as shown:
        _stopped(shown)
        shown.type("fg\n")
        _stopped(shown)
        shown.type("fg\n")
        shown.wait_for("⚡")


@pytest.fixture
def _defaults() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_defaults")
def test_signals_that_are_ignored_stay_ignored() -> None:
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    control = JobControl(_at_once, _nothing)
    control.install()
    control.remove()
    assert signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN


@pytest.mark.usefixtures("_defaults")
def test_afterwards_the_signals_are_as_they_were() -> None:
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    control = JobControl(_at_once, _nothing)
    control.install()
    during = signal.getsignal(signal.SIGTSTP)
    control.remove()
    assert (during is signal.SIG_DFL, signal.getsignal(signal.SIGTSTP)) == (False, signal.SIG_DFL)


@pytest.mark.usefixtures("_defaults")
def test_a_stop_that_comes_at_a_bad_moment_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _pid, number: stops.append(number))
    moments = iter([False, True])
    control = JobControl(lambda: next(moments), _nothing)
    control.install()
    signal.raise_signal(signal.SIGTSTP)
    before = list(stops)
    control.catch_up()
    control.catch_up()
    control.remove()
    assert (before, stops) == ([], [signal.SIGTSTP])


@pytest.mark.usefixtures("_defaults")
def test_outside_the_main_thread_nothing_is_installed() -> None:
    control = JobControl(_at_once, _nothing)
    thread = threading.Thread(target=control.install)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
