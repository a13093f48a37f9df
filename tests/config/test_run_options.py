"""Options and the folder they are for."""

import math
from pathlib import Path
from typing import Any

import pytest

from runner.config.run_options import RunOptions, require_spec, resolve_project
from runner.errors import ConfigError, PrerequisiteError

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"thinking_tokens": 1023}, "Thinking budget must be at least 1024 tokens, got 1023"),
    ({"max_iterations": 0}, "Max iterations must be positive, got 0"),
    ({"max_iterations": -1}, "Max iterations must be positive, got -1"),
    ({"max_retries": -1}, "Max retries must be non-negative, got -1"),
    ({"max_cost_usd": 0.0}, "Max cost must be a positive amount in US dollars, got 0"),
    ({"max_cost_usd": math.nan}, "Max cost must be a positive amount in US dollars, got nan"),
    ({"max_cost_usd": math.inf}, "Max cost must be a positive amount in US dollars, got inf"),
    (
        {"max_session_cost_usd": -0.5},
        "Max session cost must be a positive amount in US dollars, got -0.5",
    ),
    (
        {"session_timeout_minutes": 0.0},
        "Session timeout must be a positive number of minutes, got 0",
    ),
    (
        {"session_timeout_minutes": math.nan},
        "Session timeout must be a positive number of minutes, got nan",
    ),
    ({"max_wait_hours": 0.0}, "Max wait must be a positive number of hours, got 0"),
    ({"max_wait_hours": math.nan}, "Max wait must be a positive number of hours, got nan"),
    ({"model": " "}, "Model must not be empty; give a name such as sonnet"),
    ({"plan_model": ""}, "Plan model must not be empty; give a name such as sonnet"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_a_value_out_of_range_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        RunOptions(**given).checked()
    assert raised.value.message == message


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"thinking_tokens": 1024, "max_iterations": 1, "max_retries": 0},
        {"wait_for_quota": True, "max_wait_hours": 0.1},
        {"max_cost_usd": 0.01, "max_session_cost_usd": 0.01, "session_timeout_minutes": 0.1},
    ],
)
def test_values_at_the_edge_are_taken(given: dict[str, Any]) -> None:
    options = RunOptions(**given)
    assert options.checked() is options


def test_the_project_is_the_working_directory_unless_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_project(None) == tmp_path.resolve()


def test_the_project_is_absolute_and_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_project(Path("~/link")) == (tmp_path / "real").resolve()


@pytest.mark.parametrize(
    "given",
    ["missing", "file", "loop", "~no-such-user-here/x", "x" * 5000],
    ids=["missing", "a file", "a loop of links", "an unknown home", "a name too long"],
)
def test_a_folder_that_is_none_is_refused(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(PrerequisiteError, match="--project-dir"):
        resolve_project(Path(given))


def test_a_spec_is_found(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_bytes(b"# \xff not quite UTF-8")
    assert require_spec(tmp_path) == tmp_path / "SPEC.md"


def test_a_missing_spec_is_named_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError) as raised:
        require_spec(tmp_path)
    assert raised.value.message == f"SPEC.md not found in {tmp_path}."


def test_a_folder_is_no_spec(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").mkdir()
    with pytest.raises(PrerequisiteError, match="not found"):
        require_spec(tmp_path)


def test_an_empty_spec_is_refused(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text(" \n\t\n")
    with pytest.raises(PrerequisiteError, match="is empty"):
        require_spec(tmp_path)
