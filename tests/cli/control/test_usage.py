"""What ends before the library is called: bad usage, a wrong workspace, a wrong configuration."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.control.kit import Cli

from runner.cli.control.commands import ControlCommand, control_command


@pytest.mark.parametrize(
    "words",
    [
        ("session", "start", "--no-such-option"),
        ("session", "strat"),
        ("session",),
        ("session", "start", "stray"),
        ("capabilities", "--nonsense"),
    ],
)
def test_bad_usage_is_an_envelope_on_stdout_and_a_message_on_stderr(
    cli: Cli, words: tuple[str, ...]
) -> None:
    done = cli.run(*words, "--json")
    code = json.loads(done.out)["data"]["error_code"]
    assert (done.code, code) == (2, "VALIDATION_ERROR")
    assert "Usage: runner" in done.err


def test_an_option_without_its_value_is_bad_usage(cli: Cli) -> None:
    done = cli.run("step", "next", "--json", "--result")
    assert (done.code, json.loads(done.out)["success"]) == (2, False)


def test_bad_usage_without_json_prints_nothing_on_stdout(cli: Cli) -> None:
    done = cli.run("session", "start", "--no-such-option")
    assert (done.code, done.out) == (2, "")
    assert "--no-such-option" in done.err


@pytest.mark.parametrize("words", [("session", "list"), ("step", "next"), ("capabilities",)])
def test_a_workspace_that_is_not_there_is_bad_usage(
    cli: Cli, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = cli.run(*words, "--workspace", str(tmp_path / "missing"), "--json")
    envelope = json.loads(done.out)
    assert (done.code, envelope["data"]["error_code"]) == (2, "VALIDATION_ERROR")
    assert "--workspace" in envelope["data"]["remediation"]


def test_people_are_told_about_a_workspace_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    done = cli.run("session", "list", "--workspace", str(missing))
    assert (done.code, done.out) == (2, "")
    said = " ".join(done.err.split())  # a long path is on a line of its own
    assert said.startswith(f"Error: Project directory not found: {missing}. ")


def test_a_wrong_runner_toml_is_an_envelope_that_names_the_line(cli: Cli) -> None:
    (cli.workspace / ".runner/runner.toml").write_text("\nnonsense = 1\n", encoding="utf-8")
    code, envelope = cli.envelope("session", "start")
    assert (code, envelope["data"]["error_code"]) == (2, "VALIDATION_ERROR")
    assert "runner.toml:2" in envelope["error"]


def test_verification_commands_of_runner_toml_close_every_phase(cli: Cli) -> None:
    text = '[verification]\ncommands = ["make lint"]\n'
    (cli.workspace / ".runner/runner.toml").write_text(text, encoding="utf-8")
    cli.start()
    step = cli.until("execute_verification")
    assert "make lint" in [command["command"] for command in step["commands"]]


def test_the_workspace_is_the_current_folder_where_none_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cli.workspace)
    done = cli.run("session", "start", "--json")
    assert json.loads(done.out)["data"]["spec_id"] == "demo"


def test_the_workspace_can_be_named_in_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_WORKSPACE", str(cli.workspace))
    assert json.loads(cli.run("session", "start", "--json").out)["success"]


def test_recommended_commands_name_the_workspace_that_was_named(cli: Cli) -> None:
    cli.start()
    data = cli.ok("session", "pause")
    assert data["recommended_actions"][0]["command"].endswith(f" --workspace {cli.workspace}")


def test_the_journal_hint_names_the_workspace_that_was_named(cli: Cli) -> None:
    cli.start()
    cli.ok("session", "pause")
    hint = cli.ok("session", "resume")["resume_context"]["journal_hint"]
    assert hint.endswith(f" --workspace {cli.workspace}")


def test_recommended_commands_name_no_workspace_where_none_was(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cli.workspace)
    cli.run("session", "start")
    data = json.loads(cli.run("session", "pause", "--json").out)["data"]
    assert "--workspace" not in data["recommended_actions"][0]["command"]


@pytest.mark.parametrize("group", ["session", "step", "review", "task", "journal"])
def test_a_group_alone_shows_its_commands(cli: Cli, group: str) -> None:
    done = cli.run(group)
    assert done.code == 2
    assert "Commands:" in done.out + done.err


def test_too_long_a_document_is_refused(cli: Cli) -> None:
    cli.start()
    long = b'"' + b"x" * (4 * 1024 * 1024) + b'"'
    code, envelope = cli.envelope("step", "next", "--result", "-", stdin=long)
    assert (code, "longer than" in envelope["error"]) == (1, True)


def test_a_bug_is_an_envelope_too_and_stays_a_failure(
    cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_plane: object, _values: object) -> dict[str, Any]:
        raise ZeroDivisionError

    command = ControlCommand(
        "x", "broken", "A command.", lambda _: iter(()), perform=broken, own_parameters=()
    )
    application = typer.main.get_command(control_command(command))
    with pytest.raises(ZeroDivisionError):
        application(args=["--json", "--workspace", str(cli.workspace)], standalone_mode=False)
    envelope = json.loads(capsys.readouterr().out)
    assert envelope["data"]["error_code"] == "INTERNAL"
