"""A real run in a real terminal: what is on the screen, and Ctrl-C from the keyboard."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.terminals import CTRL_C, CTRL_Z, Terminal, terminal
from tests.e2e.harness import Project, project
from tests.e2e.scripts import PASS_BOUND, PLAN_ONE, in_a_tool

pytestmark = pytest.mark.e2e

SLOW = in_a_tool("sleep 300")
PAUSE = (
    in_a_tool("sleep 3")
    + """
[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "passed" } }]

[[session.turn]]
text = "Passed."
"""
)
SIZES = pytest.mark.parametrize("columns", [80, 120])


@contextmanager
def shown(
    folder: Path, script: str, *, columns: int = 80, **environ: str
) -> Iterator[tuple[Project, Terminal]]:
    """Start `runner run` in a terminal."""
    with project(folder, PLAN_ONE + script) as ours:
        variables = {name: value for name, value in ours.environment.items() if "COLOR" not in name}
        variables |= {"TERM": "xterm-256color", **environ}
        with terminal(
            ours.command("run"), columns=columns, environ=variables, cwd=ours.path
        ) as screen:
            yield ours, screen


def _activity(screen: Terminal) -> list[str]:
    return [line for line in screen.screen if line.startswith(("⚡", "⏳"))]


@SIZES
def test_a_run_leaves_its_permanent_lines_and_no_other(tmp_path: Path, columns: int) -> None:
    with shown(tmp_path, PASS_BOUND, columns=columns) as (_, screen):
        screen.wait_for("EXIT 0")
        assert "[PASS] CLI-001 greet.py prints hello" in screen.screen
        assert "All achievable deliverables passed" in screen.screen
        assert _activity(screen) == []


@SIZES
def test_ctrl_c_in_a_session_ends_in_order_and_leaves_a_clean_screen(
    tmp_path: Path, columns: int
) -> None:
    with shown(tmp_path, SLOW, columns=columns) as (ours, screen):
        screen.wait_for("Running Bash...")
        screen.type(CTRL_C)
        screen.wait_for("EXIT 130")
        assert "User interrupted" in screen.screen
        assert (_activity(screen), ours.wait_until_gone(10)) == ([], [])


def test_a_second_ctrl_c_ends_at_once_and_leaves_a_clean_screen(tmp_path: Path) -> None:
    with shown(tmp_path, SLOW) as (ours, screen):
        screen.wait_for("Running Bash...")
        screen.type(CTRL_C + CTRL_C)
        screen.wait_for("EXIT 130")
        assert (_activity(screen), ours.wait_until_gone(10)) == ([], [])


def test_a_suspended_run_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    with shown(tmp_path, PAUSE + PASS_BOUND) as (ours, screen):
        screen.wait_for("Running Bash...")
        screen.type(CTRL_Z)
        screen.wait_for("STOPPED")
        stopped = _activity(screen)
        screen.type("fg\n")
        screen.wait_for("EXIT 0")
        assert (stopped, ours.passed()) == ([], ["CLI-001"])


def test_without_colours_a_terminal_gets_no_control_characters(tmp_path: Path) -> None:
    with shown(tmp_path, PASS_BOUND, NO_COLOR="1") as (_, screen):
        screen.wait_for("EXIT 0")
        text = screen.text.replace("\r\n", "\n")
    assert [character for character in text if character < " " and character != "\n"] == []
