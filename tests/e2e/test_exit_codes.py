"""Every exit code and every exit reason of CONTRACT §2 and §3, each reached by a real command."""

import json
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import Project, eventually, project
from tests.e2e.scripts import (
    API_KEY_LIMIT,
    IN_A_TOOL,
    PASS_BOUND,
    PLAN_ONE,
    PLAN_TWO,
    SYNC_TWO,
    TALK_ONLY,
    VERIFY,
    failing,
    in_a_tool,
    refusing,
)

from runner.events import ExitReason

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

CODES = {0, 1, 2, 3, 4, 6, 7, 75, 130, 143}
"""All that the contract knows."""

JSON = ("--output-format", "json")
GOOD = PLAN_ONE + PASS_BOUND
GOOD_TWO = PLAN_TWO + PASS_BOUND
BLOCK_ALL = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "blocked", reason = "There is no API key here." } }]

[[session.turn]]
text = "There is no key here."
"""

BLOCK_ONE = BLOCK_ALL.replace("repeat = true", 'task = "CLI-002"')

Way = Callable[[Project], "subprocess.CompletedProcess[str]"]


def _run(*arguments: str, command: str = "run") -> Way:
    return lambda ours: ours.run(*JSON, *arguments, command=command)


def _without_a_spec(ours: Project) -> "subprocess.CompletedProcess[str]":
    (ours.path / "SPEC.md").unlink()
    return ours.run(*JSON)


def _with_an_edited_spec(ours: Project) -> "subprocess.CompletedProcess[str]":
    ours.run("-n", "1")
    (ours.path / "SPEC.md").write_text("# something else\n", encoding="utf-8")
    return ours.run(*JSON)


def _while_working(ours: Project, act: "Callable[[subprocess.Popen[str]], object]") -> Any:
    """Start a run, do something while its agent is in a tool, and return how it ended."""
    running = subprocess.Popen(
        ours.command("run", *JSON),
        cwd=ours.path,
        env=ours.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    eventually((ours.path / "started.txt").exists)
    act(running)
    out, err = running.communicate(timeout=60)
    return subprocess.CompletedProcess(running.args, running.returncode, out, err)


def _signalled(number: signal.Signals) -> Way:
    return lambda ours: _while_working(ours, lambda running: running.send_signal(number))


def _with_a_plan_that_breaks(ours: Project) -> "subprocess.CompletedProcess[str]":
    status = ours.path / ".runner" / "status.json"
    done: subprocess.CompletedProcess[str] = _while_working(
        ours, lambda _: status.write_text("{", encoding="utf-8")
    )
    return done


@dataclass(frozen=True)
class Case:
    """A way to end.

    Attributes:
        script: of the model.
        way: runs the command that ends so.
    """

    code: int
    reason: str
    script: str
    way: Way


CASES = (
    Case(0, "all_passed", GOOD, _run()),
    Case(0, "all_verified", SYNC_TWO + VERIFY, _run(command="sync")),
    Case(
        0,
        "phase_complete",
        GOOD_TWO.replace('id = "CLI-002"', 'phase = "later"\nid = "CLI-002"'),
        _run("--one-phase"),
    ),
    Case(1, "failed", failing(401, "authentication_error"), _run()),
    Case(1, "max_retries_exceeded", refusing(429, "Too fast."), _run("--max-retries", "0")),
    Case(1, "error", PLAN_TWO + in_a_tool("(sleep 300 &) ; sleep 3"), _with_a_plan_that_breaks),
    Case(2, "error", GOOD, _without_a_spec),
    Case(3, "paused", GOOD, _run("--gate-policy", "manual")),
    Case(3, "partly_passed", PLAN_TWO + BLOCK_ONE + PASS_BOUND, _run()),
    Case(3, "all_blocked", PLAN_ONE + BLOCK_ALL, _run()),
    Case(3, "stalled", PLAN_ONE + TALK_ONLY, _run("--max-consecutive-errors", "1")),
    Case(4, "max_iterations", GOOD, _run("-n", "1")),
    Case(6, "budget_exceeded", GOOD, _run("--max-cost", "0.000001")),
    Case(7, "blocked_runtime", GOOD, _with_an_edited_spec),
    Case(75, "quota_exceeded", refusing(400, API_KEY_LIMIT.format("2199-12-01 at 00:00 UTC")), _run()),
    Case(130, "interrupted", PLAN_TWO + IN_A_TOOL, _signalled(signal.SIGINT)),
    Case(143, "interrupted", PLAN_TWO + IN_A_TOOL, _signalled(signal.SIGTERM)),
)  # fmt: skip


def test_the_table_has_every_code_and_every_reason() -> None:
    assert {case.code for case in CASES} == CODES
    assert {case.reason for case in CASES} == set(ExitReason)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code} {case.reason}")
def test_a_run_ends_with_the_code_of_its_reason(tmp_path: Path, case: Case) -> None:
    with project(tmp_path, case.script) as ours:
        done = case.way(ours)
        left = ours.wait_until_gone(10)
    result = json.loads(done.stdout)
    told = (done.returncode, result["exit_code"], result["exit_reason"])
    assert told == (case.code, case.code, case.reason), done.stderr
    assert left == []
