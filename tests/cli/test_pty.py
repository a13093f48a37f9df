"""The presenter on a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.cli.screen import Screen

pytestmark = pytest.mark.process

SCENES = Path(__file__).with_name("scenes.py")


def recording(columns: int, *arguments: str, **environ: str) -> str:
    """Everything a program wrote to a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {"TERM": "xterm-256color", **environ}
    kept = {key: value for key, value in os.environ.items() if "COLOR" not in key}
    child = subprocess.Popen(
        [sys.executable, str(SCENES), *arguments],
        stdout=slave,
        stderr=slave,
        env=kept | variables,
    )
    os.close(slave)
    chunks = []
    try:
        while chunk := os.read(master, 65536):
            chunks.append(chunk)
    except OSError:
        pass  # EIO: the other side is closed
    finally:
        os.close(master)
        assert child.wait(60) == 0
    return b"".join(chunks).decode()


@pytest.mark.parametrize("columns", [80, 120])
def test_the_screen_after_a_run(columns: int) -> None:
    lines = Screen(columns).feed(recording(columns, "text", "0.02")).lines
    assert lines[:6] == [
        "Runner v0.1.0",
        "",
        "Implementing SPEC.md",
        "  Working directory: /home/ada/projects/todo-cli",
        "  Plan model: opus",
        "  Model: sonnet",
    ]
    assert "[PASS] UI-001 Parse the arguments" in lines
    assert not [line for line in lines if line.startswith(("⚡", "⏳"))]


def test_the_activity_line_is_drawn() -> None:
    assert "⚡ 0s " in recording(80, "text", "0.05")


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_plain_terminal_gets_no_control_characters(variable: tuple[str, str]) -> None:
    text = recording(80, "text", "0", **dict([variable]))
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f]", text.replace("\r\n", "\n")) == []


def test_json_on_a_terminal_comes_after_the_activity_line_is_gone() -> None:
    last = Screen(4000).feed(recording(4000, "json", "0.01")).lines[-2]
    assert last.startswith('{"type": "result"')
