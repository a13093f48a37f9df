"""The options of a run."""

from pathlib import Path

import pytest

from runner.config.options import OPTIONS, RUN_OPTIONS, RunOptions
from runner.config.resolve import choose


def test_the_defaults_are_those_of_the_declarations(tmp_path: Path) -> None:
    chosen = choose(RUN_OPTIONS, {"project_dir": tmp_path}, {})
    assert chosen.options == RunOptions(project_dir=tmp_path)


def test_every_field_takes_its_option(tmp_path: Path) -> None:
    given = {
        "project_dir": tmp_path,
        "max_iterations": 7,
        "max_retries": 1,
        "model": "haiku",
        "plan_model": "sonnet",
        "thinking": "2048",
        "max_cost": 2.5,
        "max_session_cost": 0.5,
        "session_timeout": 15.0,
        "allow_destructive": True,
    }
    assert choose(RUN_OPTIONS, given, {}).options == RunOptions(
        project_dir=tmp_path,
        max_iterations=7,
        max_retries=1,
        model="haiku",
        plan_model="sonnet",
        thinking_tokens=2048,
        max_cost_usd=2.5,
        max_session_cost_usd=0.5,
        session_timeout_minutes=15.0,
        allow_destructive=True,
    )


@pytest.mark.parametrize(
    ("key", "value", "field", "found"),
    [
        ("no_gates", True, "gates", False),
        ("no_sandbox", True, "sandbox", False),
        ("sandbox_network", "closed", "sandbox_network", False),
        ("sandbox_network", "open", "sandbox_network", True),
        ("max_wait", 3.0, "max_wait_hours", 3.0),
    ],
)
def test_an_option_of_another_name_or_sense_reaches_its_field(
    key: str, value: object, field: str, found: object, tmp_path: Path
) -> None:
    chosen = choose(RUN_OPTIONS, {"project_dir": tmp_path, key: value}, {})
    assert getattr(chosen.options, field) is found or getattr(chosen.options, field) == found


def test_what_a_command_does_not_take_has_its_default(tmp_path: Path) -> None:
    options = choose([OPTIONS["quiet"]], {"quiet": True}, {}).options
    assert options == RunOptions(quiet=True)


def test_the_budget_of_the_spec_comes_from_its_table(tmp_path: Path) -> None:
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / "runner.toml").write_text("[budget]\ntotal = 12.5\n")
    assert choose(RUN_OPTIONS, {"project_dir": tmp_path}, {}).options.budget_usd == 12.5


def test_every_option_belongs_to_a_group_and_a_command() -> None:
    assert all(option.group and option.commands for option in OPTIONS.values())
