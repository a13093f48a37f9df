"""Ctrl-C, SIGTERM and kill -9: the state is saved and no process is left."""

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.harness import Project, eventually, project
from tests.e2e.scripts import IN_A_TOOL, PASS_BOUND, PLAN_TWO

from runner.app.signals import ECHO_SECONDS

if TYPE_CHECKING:
    import subprocess

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc"),
]

WAITING_FOR_THE_MODEL = """
[[session]]
instruction = "coding"

[[session.turn]]
tools = [{ name = "Bash", input = { command = "touch started.txt" } }]

[[session.turn]]
delay_ms = 60000
text = "Thought for long."
"""

SLOW_STARTS = pytest.mark.parametrize("script", [IN_A_TOOL, WAITING_FOR_THE_MODEL])


def _in_session(ours: Project) -> "subprocess.Popen[str]":
    running = ours.start()
    assert eventually((ours.path / "started.txt").exists), running.communicate(timeout=5)
    return running


@SLOW_STARTS
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_with_its_code_and_leaves_no_process(
    tmp_path: Path, script: str, number: signal.Signals, code: int
) -> None:
    with project(tmp_path, PLAN_TWO + script) as ours:
        running = _in_session(ours)
        running.send_signal(number)
        output, _ = running.communicate(timeout=20)
        assert (running.returncode, ours.processes()) == (code, [])
        assert "User interrupted" in output


def test_a_second_signal_ends_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + IN_A_TOOL) as ours:
        running = _in_session(ours)
        running.send_signal(signal.SIGINT)
        time.sleep(ECHO_SECONDS + 0.05)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
        assert (running.returncode, ours.wait_until_gone(10)) == (130, [])


def test_kill_9_leaves_no_process_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + IN_A_TOOL + PASS_BOUND) as ours:
        running = _in_session(ours)
        running.kill()
        running.communicate(timeout=20)
        assert ours.wait_until_gone(10) == []
        done = ours.run()
        assert (done.returncode, ours.passed()) == (0, ["CLI-001", "CLI-002"])


def test_a_second_run_in_the_same_project_is_refused(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + IN_A_TOOL) as ours:
        running = _in_session(ours)
        second = ours.run()
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
        assert second.returncode == 2
        assert f"process {running.pid} on" in second.stderr


PAUSE = """
[[session]]
instruction = "coding"

[[session.turn]]
tools = [{ name = "Bash", input = { command = "touch started.txt; sleep 1" } }]

[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "passed" } }]

[[session.turn]]
text = "Done."
"""


def test_a_terminal_that_is_closed_does_not_end_the_run(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + PAUSE + PASS_BOUND) as ours:
        running = _in_session(ours)
        running.send_signal(signal.SIGHUP)
        running.communicate(timeout=60)
        assert (running.returncode, ours.passed()) == (0, ["CLI-001", "CLI-002"])
