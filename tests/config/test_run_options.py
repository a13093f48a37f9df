"""The options of a run."""

from pathlib import Path

from runner.config.catalogue import RUN_OPTIONS
from runner.config.resolve import RunOptions, choose


def test_the_defaults_are_those_of_the_catalogue(tmp_path: Path) -> None:
    chosen = choose(RUN_OPTIONS, {"project_dir": tmp_path}, {})
    assert RunOptions.of(chosen) == RunOptions()


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
    assert RunOptions.of(choose(RUN_OPTIONS, given, {})) == RunOptions(
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
