"""`runner config show`: every value, its origin, and nothing secret."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli.main import run_command_line
from runner.cli.run import warn_of_unknown_variables
from runner.config.options import RUN_OPTIONS


class Project:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def write(self, name: str, content: str | dict[str, Any]) -> None:
        path = self.folder / ".runner" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def ask(self, *arguments: str) -> tuple[int, str, str]:
        code = run_command_line(["config", "show", "-p", str(self.folder), *arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def text(self, *arguments: str) -> list[str]:
        code, out, err = self.ask(*arguments)
        assert (code, err) == (0, "")
        return out.splitlines()

    def object(self, *arguments: str) -> dict[str, Any]:
        code, out, err = self.ask("--json", *arguments)
        assert (code, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    for option in RUN_OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)
    return Project(tmp_path, capsys)


def test_every_option_has_a_value_and_an_origin(project: Project) -> None:
    options = project.object()["options"]
    assert list(options) == [option.name for option in RUN_OPTIONS]
    assert options["max-retries"] == {"value": 3, "origin": "default"}


def test_each_origin_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("runner.toml", 'model = "haiku"\nmax_cost = 1\nmax_retries = 1\n')
    monkeypatch.setenv("AUTORUNNER_MAX_COST", "2")
    monkeypatch.setenv("AUTORUNNER_MAX_RETRIES", "2")
    options = project.object("--max-retries", "9")["options"]
    assert options["model"] == {"value": "haiku", "origin": "runner.toml"}
    assert options["max-cost"] == {"value": 2.0, "origin": "AUTORUNNER_MAX_COST"}
    assert options["max-retries"] == {"value": 9, "origin": "command line"}


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["--thinking"], 8192),
        (["--thinking", "2048"], 2048),
        (["--thinking", "off"], None),
    ],
)
def test_thinking_with_and_without_a_number(
    arguments: list[str], value: int | None, project: Project
) -> None:
    found = project.object(*arguments)["options"]["thinking"]
    assert found == {"value": value, "origin": "command line"}


@pytest.mark.parametrize(
    ("flag", "value"), [("--quiet", True), ("-q", True), ("--no-quiet", False)]
)
def test_a_flag_goes_both_ways(flag: str, value: bool, project: Project) -> None:
    found = project.object(flag)["options"]["quiet"]
    assert found == {"value": value, "origin": "command line"}


def test_people_get_one_line_for_each_option(project: Project) -> None:
    lines = project.text("-m", "haiku")
    assert lines[3].split()[:2] == ["model", "haiku"]
    assert lines[3].endswith("  command line")
    assert [line.split()[0] for line in lines[: len(RUN_OPTIONS)]] == [o.name for o in RUN_OPTIONS]


def test_what_agent_json_adds_is_shown(project: Project) -> None:
    project.write(
        "agent.json",
        {
            "profile": "node",
            "allowCommands": {"base": ["make"], "run": ["docker"]},
            "allowPkillTargets": ["server"],
            "permissions": {"allow": ["Read(//opt/**)", "Write(.runner/**)"]},
            "allowedTools": ["WebSearch"],
        },
    )
    agent = project.object()["agent_json"]
    assert agent == {
        "path": str(project.folder / ".runner" / "agent.json"),
        "exists": True,
        "profiles": ["base", "node"],
        "commands": {"base": ["make"], "run": ["docker"], "sync": []},
        "pkill_targets": ["server"],
        "permissions": ["Read(//opt/**)"],
        "permissions_without_effect": ["Write(.runner/**)"],
        "tools": ["WebSearch"],
        "mcp_servers": {},
    }


def test_the_tables_of_runner_toml_are_shown(project: Project) -> None:
    project.write("runner.toml", '[budget]\ntotal = 5\n[posture]\nprofile = "debug"\n')
    lines = project.text()
    assert '  posture: {"profile": "debug"}' in lines
    assert '  budget: {"total": 5.0}' in lines


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_secret_is_shown(form: tuple[str, ...], project: Project) -> None:
    server = {"command": "npx", "env": {"PLAIN_NAME": "hush-1"}, "args": ["--token", "hush-2"]}
    project.write("agent.json", {"mcpServers": {"mine": server}})
    project.write("runner.toml", '[notify]\nwebhook = "https://hooks.example.com/T0/hush-3"\n')
    _, out, _ = project.ask(*form)
    assert "PLAIN_NAME" in out
    assert "hooks.example.com" in out
    assert "hush" not in out


@pytest.mark.parametrize(
    ("address", "shown"), [("$MY_HOOK", "$MY_HOOK"), ("http://[::1/hush", "(hidden)")]
)
def test_a_webhook_without_a_host_is_shown(address: str, shown: str, project: Project) -> None:
    project.write("runner.toml", f'[notify]\nwebhook = "{address}"\n')
    assert project.object()["runner_toml"]["notify"]["webhook"] == shown


def test_instruction_overrides_are_named(project: Project) -> None:
    project.write("coding.md", "Work slowly.")
    assert project.object()["instructions"] == [str(project.folder / ".runner" / "coding.md")]


@pytest.mark.parametrize(
    ("name", "content"),
    [("runner.toml", "x = 1"), ("agent.json", "{"), ("coding.md", "")],
)
def test_what_would_stop_a_run_is_an_error_here(name: str, content: str, project: Project) -> None:
    project.write(name, content)
    code, out, err = project.ask()
    assert (code, out) == (2, "")
    assert str(project.folder / ".runner" / name) in err


def test_a_variable_that_nothing_reads_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_MAX_COSTS", "5")
    assert project.text()[-1] == (
        "Nothing reads the variable AUTORUNNER_MAX_COSTS. Did you mean AUTORUNNER_MAX_COST?"
    )


def test_variables_of_features_and_postures_are_known(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_FEATURE_AUTONOMY_REBASE", "1")
    monkeypatch.setenv("AUTORUNNER_POSTURE", "debug")
    assert project.object()["unknown_variables"] == {}


def test_posture_role_and_flags_in_force_are_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("runner.toml", '[posture]\nprofile = "debug"\n')
    monkeypatch.setenv("AUTORUNNER_FEATURE_AUTONOMY_REBASE", "off")
    found = project.object()["in_force"]
    assert found["posture"] == {"value": "debug", "origin": "runner.toml"}
    assert found["role"] == {"value": "maintainer", "origin": "posture"}
    assert found["feature_flags"]["autonomy_rebase"]["value"] is False


def test_an_unsafe_combination_is_warned_about(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_POSTURE", "unattended")
    monkeypatch.setenv("AUTORUNNER_ROLE", "maintainer")
    assert any(line.startswith("Warning: The posture unattended") for line in project.text())


@pytest.mark.parametrize(
    "variable", ["AUTORUNNER_POSTURE", "AUTORUNNER_FEATURE_AUTONOMY_EVERYTHING"]
)
def test_a_name_that_does_not_exist_is_an_error(
    variable: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "superwised")
    assert project.ask()[0] == 2


def test_nothing_is_written(project: Project) -> None:
    project.object()
    assert list(project.folder.iterdir()) == []


@pytest.mark.parametrize("content", ["\x1b[31m", "::error::x", "a\nb"])
def test_a_value_of_a_file_does_not_act_on_the_terminal(content: str, project: Project) -> None:
    project.write("runner.toml", f"model = {json.dumps(content)}")
    assert all(line.isprintable() for line in project.text())


def test_a_run_warns_of_a_variable_that_nothing_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "SPEC.md").write_text("# App")
    monkeypatch.setenv("AUTORUNNER_MAX_COSTS", "5")
    code = run_command_line(["run", "-p", str(tmp_path), "--replay", str(tmp_path / "missing")])
    assert code == 2
    assert "Warning: nothing reads the variable AUTORUNNER_MAX_COSTS." in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["AUTORUNNER_WORKSPACE", "AUTORUNNER_SESSION_ID", "AUTORUNNER_METRICS_FILE"]
)
def test_a_run_does_not_warn_of_variables_that_other_parts_read(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "x")
    warn_of_unknown_variables()
    assert capsys.readouterr().err == ""
