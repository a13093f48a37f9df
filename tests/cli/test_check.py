"""`runner check`."""

import json
from pathlib import Path

import pytest

from runner.cli.app import invoke


def check(project: Path, *arguments: str) -> int:
    return invoke(["check", "-p", str(project), *arguments])


def test_an_allowed_command_exits_with_0_and_names_its_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, "git status") == 0
    assert "base.toml:commands.git" in capsys.readouterr().out


def test_a_denied_command_exits_with_1_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, "git push") == 1
    assert "push is not allowed" in capsys.readouterr().out


def test_every_command_of_a_script_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path, "ls && echo $(date); git push")
    shown = capsys.readouterr().out
    assert [name in shown for name in ("allowed ls", "allowed date", "denied  git push")] == [
        True,
        True,
        True,
    ]


def test_a_read_only_session_is_judged_by_other_rules(tmp_path: Path) -> None:
    assert (check(tmp_path, "touch x"), check(tmp_path, "--command", "sync", "touch x")) == (0, 1)


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path, "--json", "ls; git push")
    found = json.loads(capsys.readouterr().out)
    assert (found["allowed"], [c["allowed"] for c in found["commands"]]) == (False, [True, False])


def test_commands_of_agent_json_are_allowed(tmp_path: Path) -> None:
    (tmp_path / ".runner").mkdir()
    text = json.dumps({"allowCommands": {"run": ["custom-cli"]}})
    (tmp_path / ".runner" / "agent.json").write_text(text, encoding="utf-8")
    assert (
        check(tmp_path, "custom-cli x"),
        check(tmp_path, "--command", "sync", "custom-cli"),
    ) == (
        0,
        1,
    )


def test_control_characters_of_a_command_are_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path, "echo '\x1b[31mred'")
    assert "\x1b" not in capsys.readouterr().out
