"""On Windows, where `pip install runner` works and runs do not."""

import sys

import pytest

from runner.__main__ import main


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program believe that it is there; nothing after that asks the system."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "path", [*sys.path])  # the program drops entries


def _answer(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["runner", *arguments])
    return main()


@pytest.mark.parametrize("command", ["run", "demo", "status", "mcp", "session"])
def test_a_command_says_what_to_use_instead(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _answer(monkeypatch, command)
    assert (code, "WSL 2" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_are_told_all_the_same(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _answer(monkeypatch, option) == 0
