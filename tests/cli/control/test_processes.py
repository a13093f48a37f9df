"""The real program: in a pipe, on a terminal, pasted into a shell, and from several processes."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.cli.control.kit import make_workspace

pytestmark = pytest.mark.process

COMMAND = [sys.executable, "-m", "runner"]


class Program:
    """`runner` as a process in a workspace."""

    def __init__(self, folder: Path) -> None:
        self.workspace = make_workspace(folder / "demo")
        paths = os.pathsep.join(path for path in sys.path if path)
        self.environ = dict(os.environ) | {
            "PYTHONPATH": paths,
            "XDG_STATE_HOME": str(folder / "state"),
            "COLUMNS": "120",
        }

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return self.shell([*COMMAND, *arguments], **options)

    def shell(self, command: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.workspace,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **options,
        )

    def data(self, *arguments: str, **options: Any) -> dict[str, Any]:
        done = self.run(*arguments, "--json", **options)
        assert (done.returncode, done.stderr) == (0, ""), done
        found: dict[str, Any] = json.loads(done.stdout)["data"]
        return found


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def _report(step: Mapping[str, Any]) -> str:
    return json.dumps(
        {
            "step_id": step["step_id"],
            "step_type": step["type"],
            "task_id": step["task_id"],
            "outcome": "success",
            "step_proof": step["step_proof_token"],
        }
    )


def test_what_a_step_shows_can_be_pasted_into_a_shell(program: Program) -> None:
    program.data("session", "start")
    said = program.run("step", "next").stdout
    pasted = said[said.index("runner step next") :].replace(
        "runner", f"{sys.executable} -m runner", 1
    )
    done = program.shell(["bash", "-c", pasted])
    assert done.stdout.startswith("implement_task A-002"), done


def test_a_pipe_gets_plain_lines(program: Program) -> None:
    done = program.run("session", "start")
    assert all(line.isprintable() for line in done.stdout.split("\n"))
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_reader_that_leaves_early_does_no_harm(program: Program) -> None:
    program.data("session", "start")
    done = program.shell(["bash", "-c", f"{sys.executable} -m runner journal list | true"])
    assert done.stderr == ""


def test_a_terminal_without_utf_8_gets_something_readable(program: Program) -> None:
    status = program.workspace / ".runner/status.json"
    status.write_text(
        status.read_text(encoding="utf-8").replace("it works", "it works … in all cases"),
        encoding="utf-8",
    )
    program.environ |= {"PYTHONIOENCODING": "ascii"}
    done = program.run("task", "prepare", "A-001")
    assert (done.returncode, done.stderr) == (0, "")
    assert "it works ... in all cases" in done.stdout


def test_arguments_that_are_no_utf_8_are_refused_in_order(program: Program) -> None:
    done = program.shell([*COMMAND, "session", "list", "--json", "--spec-id", b"\xff\xfe"])
    assert json.loads(done.stdout)["data"]["error_code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("redirection", ["<&-", "0>/dev/null"])
def test_a_standard_input_that_cannot_be_read_is_refused_in_order(
    program: Program, redirection: str
) -> None:
    line = f"{sys.executable} -m runner step report --json --result - {redirection}"
    done = program.shell(["bash", "-c", line])
    assert (done.returncode, done.stderr) == (1, "")
    assert "standard input can't be read" in json.loads(done.stdout)["error"]


def test_a_terminal_gets_its_width(program: Program) -> None:
    leader, follower = pty.openpty()
    environ = program.environ | {"COLUMNS": "100"}
    title = "words that go on and on " * 8
    status = program.workspace / ".runner/status.json"
    text = status.read_text(encoding="utf-8").replace("Title of A-001", title)
    status.write_text(text, encoding="utf-8")
    with os.fdopen(leader, "rb", buffering=0) as screen:
        command = [*COMMAND, "task", "list"]
        subprocess.run(
            command, cwd=program.workspace, env=environ, stdout=follower, timeout=60, check=True
        )
        os.close(follower)
        said = screen.read(4096).decode().splitlines()
    assert max(map(len, said)) == 100


def test_the_identical_report_from_many_processes_gets_one_answer(program: Program) -> None:
    program.data("session", "start")
    report = _report(program.data("step", "next")["next_step"])
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda _: program.data("step", "next", "--result", "-", input=report), range(4)
            )
        )
    assert all(answer == answers[0] for answer in answers)
    assert program.data("session", "status")["counters"]["tasks_completed"] == 1


def test_starts_from_many_processes_make_one_session(program: Program) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: program.run("session", "start", "--json"), range(4)))
    codes = sorted(process.returncode for process in done)
    refusals = {json.loads(p.stdout)["data"]["error_code"] for p in done if p.returncode}
    assert (codes, refusals) == ([0, 1, 1, 1], {"SPEC_SESSION_EXISTS"})
