"""Whether what a run tells arrives, and what is said when it does not."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.e2e.harness import Project, eventually, project
from tests.e2e.scripts import IN_A_TOOL, PASS_BOUND, PLAN_ONE, PLAN_TWO

from runner.app.signals import ECHO_SECONDS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full"),
]


def _start(ours: Project, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        ours.command("run", *arguments),
        cwd=ours.path,
        env=ours.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _in_tool(ours: Project, *arguments: str) -> "subprocess.Popen[str]":
    running = _start(ours, *arguments)
    eventually((ours.path / "started.txt").exists)
    return running


@pytest.mark.parametrize("output_format", ["json", "stream-json"])
def test_a_result_that_could_not_be_written_is_no_success(
    tmp_path: Path, output_format: str
) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours, Path("/dev/full").open("w") as full:
        done = subprocess.run(
            ours.command("run", "--output-format", output_format),
            cwd=ours.path,
            env=ours.environment,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, ours.passed()) == (1, ["CLI-001"])
    assert "The result could not be written to stdout: No space left" in done.stderr


def test_a_second_ctrl_c_still_gives_the_result(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + IN_A_TOOL) as ours:
        running = _in_tool(ours, "--output-format", "json")
        running.send_signal(signal.SIGINT)
        time.sleep(ECHO_SECONDS + 0.05)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=20)
        result = json.loads(out)
    assert (running.returncode, result["exit_reason"], result["exit_code"]) == (
        130,
        "interrupted",
        130,
    )
    assert result["deliverables"]["total"] == 2
