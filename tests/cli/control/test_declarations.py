"""The declarations and the library fit each other, and what is recommended can be typed."""

import importlib
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.control.kit import Cli

from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, PauseReason, SessionStatus
from runner.autonomy.service import ControlPlane
from runner.autonomy.signals import error_actions, recommended_actions
from runner.cli.app import app
from runner.cli.control.commands import ControlCommand, control_variables
from runner.cli.control.parameters import parameters_of
from runner.cli.lazy import RootGroup

MODULES = ("session", "step", "review", "task", "journal", "capabilities")


def _declared() -> dict[tuple[str, str], ControlCommand]:
    found: dict[tuple[str, str], ControlCommand] = {}
    for name in MODULES:
        application = getattr(importlib.import_module(f"runner.cli.control.{name}"), name)
        for info in application.registered_commands:
            command = info.callback.declaration
            found[command.group, command.name] = command
    return found


@pytest.fixture
def plane(cli: Cli) -> ControlPlane:
    return ControlPlane(cli.workspace)


def test_every_command_of_the_library_is_on_the_command_line(plane: ControlPlane) -> None:
    assert set(plane.commands) <= set(_declared())


def test_every_parameter_of_the_library_is_an_option(plane: ControlPlane) -> None:
    declared = _declared()
    for key, command in plane.commands.items():
        offered = {p.key for p in declared[key].parameters}
        assert set(command.params.model_fields) <= offered, key


def test_every_option_is_a_parameter_of_the_library(plane: ControlPlane) -> None:
    declared = _declared()
    for key, command in plane.commands.items():
        offered = {p.key for p in declared[key].parameters}
        assert offered <= set(command.params.model_fields), key


def test_what_the_library_requires_is_marked_as_required(plane: ControlPlane) -> None:
    declared = _declared()
    marked = {
        key: {p.key for p in declared[key].parameters if p.required} for key in plane.commands
    }
    required = {
        key: {n for n, field in c.params.model_fields.items() if field.is_required()}
        for key, c in plane.commands.items()
    }
    assert marked == required


def _commands() -> list[str]:
    facts = {"session_id": "auto_x", "gate_attempt_id": "gate_x"}
    paused, failed = SessionStatus.PAUSED, SessionStatus.FAILED
    rows = [recommended_actions("auto_x", paused, why, None, "gate_x") for why in PauseReason]
    rows += [recommended_actions("auto_x", failed, None, why) for why in FailureReason]
    rows += [recommended_actions("auto_x", status, None, None) for status in SessionStatus]
    rows += [error_actions(code, facts) for code in ErrorCode]
    return sorted({a["command"] for row in rows for a in row if "command" in a})


def _parse(words: list[str]) -> None:
    root: Any = typer.main.get_command(app)
    with root.make_context("runner", list(words), resilient_parsing=True) as context:
        leaf, rest = root.get_command(context, words[0]), words[1:]
        if hasattr(leaf, "get_command"):
            leaf, rest = leaf.get_command(context, rest[0]), rest[1:]
        leaf.parse_args(leaf.context_class(leaf, parent=context), rest)


@pytest.mark.parametrize("command", _commands())
def test_every_recommended_command_can_be_typed(command: str) -> None:
    _parse(shlex.split(command)[1:])


def test_all_lazy_commands_are_in_the_help() -> None:
    assert tuple(RootGroup.lazy) == MODULES


def test_variables_of_the_control_plane_are_known() -> None:
    known = control_variables()
    assert {"AUTORUNNER_WORKSPACE", "AUTORUNNER_SESSION_ID", "AUTORUNNER_GATE_POLICY"} <= known
    assert "AUTORUNNER_FORCE" not in known


def test_config_show_complains_about_no_variable_that_a_command_reads(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_SESSION_ID", "auto_x")
    monkeypatch.setenv("AUTORUNNER_SESION_ID", "auto_x")
    said = cli.run("config", "show", "-p", str(cli.workspace)).out
    assert "AUTORUNNER_SESION_ID" in said
    assert "AUTORUNNER_SESSION_ID" not in said.replace("AUTORUNNER_SESION_ID", "")


_TOUR = Path(__file__).parents[3] / "docs" / "control-plane.md"


def _tour() -> list[str]:
    lines = _TOUR.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ runner ")]


@pytest.mark.parametrize("command", _tour())
def test_every_command_of_the_tour_can_be_typed(command: str) -> None:
    _parse(shlex.split(command.split(" >", maxsplit=1)[0])[1:])


def test_every_parameter_has_a_help() -> None:
    bare = [
        (*key, parameter.key)
        for key, command in _declared().items()
        for parameter in command.parameters
        if not parameter.help
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("command", "key", "expected"),
    [
        (("session", "start"), "gates_required", "--gates-required/--no-gates-required"),
        (("session", "start"), "max_tasks_per_session", "N"),
        (("session", "start"), "gate_policy", "strict|lenient|manual"),
        (("session", "list"), "status_filter", "running|paused|completed|failed|ended"),
        (("step", "next"), "last_step_result", "--result"),
        (("review", "gate"), "findings", "JSON|@FILE|-"),
        (("task", "block"), "task_id", "TASK_ID"),
        (("task", "block"), "autonomy_step_proof", "TOKEN"),
    ],
)
def test_a_field_of_the_model_says_how_it_is_given(
    command: tuple[str, str], key: str, expected: str
) -> None:
    (parameter,) = (p for p in parameters_of(*command) if p.key == key)
    assert expected in (parameter.metavar, parameter.declaration)


def test_only_what_configures_or_names_comes_from_the_environment() -> None:
    from_environment = {p.key for p in parameters_of("task", "block") if p.from_environment}
    assert from_environment == {"session_id", "spec_id", "autonomy_step_proof"}
    assert not any(p.from_environment for p in parameters_of("session", "reset"))
