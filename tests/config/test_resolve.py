"""Where a value comes from, and which values are refused."""

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.config.options import ALL_OPTIONS, OPTIONS, PROJECT_DIR, RUN_OPTIONS, Option
from runner.config.resolve import Chosen, choose
from runner.errors import ConfigError, PrerequisiteError

ALLOW_DESTRUCTIVE = OPTIONS["allow_destructive"]
MAX_COST = OPTIONS["max_cost"]
MAX_ITERATIONS = OPTIONS["max_iterations"]
MAX_RETRIES = OPTIONS["max_retries"]
MODEL = OPTIONS["model"]
OUTPUT_FORMAT = OPTIONS["output_format"]
QUIET = OPTIONS["quiet"]
REPLAY = OPTIONS["replay"]
SESSION_TIMEOUT = OPTIONS["session_timeout"]
THINKING = OPTIONS["thinking"]


def _chosen(
    project: Path,
    given_values: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    file: str | None = None,
) -> Chosen:
    if file is not None:
        (project / ".runner").mkdir(exist_ok=True)
        (project / ".runner" / "runner.toml").write_text(file)
    return choose(RUN_OPTIONS, {"project_dir": project, **(given_values or {})}, environ or {})


def _found(chosen: Chosen, option: Option) -> tuple[Any, str]:
    found = chosen.settings[option.key]
    return found.value, found.origin


FILE = "max_iterations = 3\n"
ENVIRON = {"AUTORUNNER_MAX_ITERATIONS": "2"}


def test_without_anything_it_is_the_default(tmp_path: Path) -> None:
    assert _found(_chosen(tmp_path), MAX_ITERATIONS) == (None, "default")


def test_the_file_beats_the_default(tmp_path: Path) -> None:
    assert _found(_chosen(tmp_path, file=FILE), MAX_ITERATIONS) == (3, "runner.toml")


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    chosen = _chosen(tmp_path, environ=ENVIRON, file=FILE)
    assert _found(chosen, MAX_ITERATIONS) == (2, "AUTORUNNER_MAX_ITERATIONS")


def test_the_command_line_beats_the_environment(tmp_path: Path) -> None:
    chosen = _chosen(tmp_path, {"max_iterations": 1}, ENVIRON, FILE)
    assert _found(chosen, MAX_ITERATIONS) == (1, "command line")


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    chosen = _chosen(tmp_path, environ={"AUTORUNNER_MAX_ITERATIONS": ""}, file=FILE)
    assert _found(chosen, MAX_ITERATIONS) == (3, "runner.toml")


def test_a_flag_can_be_turned_off_again(tmp_path: Path) -> None:
    chosen = _chosen(tmp_path, {"quiet": False}, {"AUTORUNNER_QUIET": "1"}, "quiet = true")
    assert _found(chosen, QUIET) == (False, "command line")


def test_the_project_comes_from_the_environment_too(tmp_path: Path) -> None:
    chosen = choose(RUN_OPTIONS, {}, {"AUTORUNNER_PROJECT_DIR": str(tmp_path)})
    assert chosen.project_dir == tmp_path
    assert chosen.settings["project_dir"].origin == "AUTORUNNER_PROJECT_DIR"


def test_a_project_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="not found"):
        _chosen(tmp_path / "missing")


def test_a_command_without_a_project_reads_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chosen(tmp_path, file="quiet = true")
    monkeypatch.chdir(tmp_path)
    assert choose([QUIET], {}, {}).options.quiet is False


def test_a_command_that_takes_the_project_alone_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / "runner.toml").write_text("broken")
    assert choose([PROJECT_DIR], {"project_dir": tmp_path}, {}).project_dir == tmp_path


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (MAX_ITERATIONS, " 12 ", 12),
        (MAX_COST, "1.5", 1.5),
        (MODEL, "haiku", "haiku"),
        (OUTPUT_FORMAT, "stream-json", "stream-json"),
        (REPLAY, "a/b.toml", Path("a/b.toml")),
        (ALLOW_DESTRUCTIVE, "yes", True),
        (ALLOW_DESTRUCTIVE, "1", True),
        (ALLOW_DESTRUCTIVE, "Off", False),
        (THINKING, "4096", 4096),
        (THINKING, "true", 8192),
        (THINKING, "off", None),
    ],
)
def test_a_variable_is_read(option: Option, text: str, value: object, tmp_path: Path) -> None:
    assert _chosen(tmp_path, environ={option.variable: text}).settings[option.key].value == value


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        (MAX_ITERATIONS, "1_0", "AUTORUNNER_MAX_ITERATIONS must be a whole number, got '1_0'."),
        (MAX_COST, "$5", "AUTORUNNER_MAX_COST must be a number, got '$5'."),
        (QUIET, "maybe", "AUTORUNNER_QUIET must be true or false, got 'maybe'."),
        (
            OUTPUT_FORMAT,
            "xml",
            "AUTORUNNER_OUTPUT_FORMAT must be one of text, json, stream-json, got 'xml'.",
        ),
        (
            THINKING,
            "much",
            "AUTORUNNER_THINKING must be a number of tokens, true or false, got 'much'.",
        ),
    ],
)
def test_a_variable_that_does_not_fit_is_named(
    option: Option, text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as raised:
        _chosen(tmp_path, environ={option.variable: text})
    assert raised.value.message == message


def test_thinking_on_the_command_line_may_be_a_word(tmp_path: Path) -> None:
    chosen = _chosen(tmp_path, {"thinking": "off"}, file="thinking = true")
    assert _found(chosen, THINKING) == (None, "command line")


def test_thinking_that_is_no_number_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--thinking must be"):
        _chosen(tmp_path, {"thinking": "much"})


REFUSED: list[tuple[str, Any, str]] = [
    ("thinking", "1023", "Thinking budget must be at least 1024 tokens, got 1023"),
    ("thinking", "1", "Thinking budget must be at least 1024 tokens, got 1"),
    ("max_iterations", 0, "Max iterations must be positive, got 0"),
    ("max_iterations", -1, "Max iterations must be positive, got -1"),
    ("max_retries", -1, "Max retries must be non-negative, got -1"),
    ("max_cost", 0.0, "Max cost must be a positive amount in US dollars, got 0"),
    ("max_cost", math.nan, "Max cost must be a positive amount in US dollars, got nan"),
    ("max_cost", math.inf, "Max cost must be a positive amount in US dollars, got inf"),
    (
        "max_session_cost",
        -0.5,
        "Max session cost must be a positive amount in US dollars, got -0.5",
    ),
    ("session_timeout", 25_001.0, "Session timeout must be at most 25000 minutes, got 25001"),
    ("max_review_cycles", 2_000_000, "Max review cycles must be at most 1000000, got 2000000"),
    ("session_timeout", 0.0, "Session timeout must be a positive number of minutes, got 0"),
    ("session_timeout", math.nan, "Session timeout must be a positive number of minutes, got nan"),
    ("model", " ", "Model must not be empty; give a name such as sonnet"),
    ("plan_model", "", "Plan model must not be empty; give a name such as sonnet"),
]


@pytest.mark.parametrize(("key", "value", "message"), REFUSED)
def test_a_value_out_of_range_is_refused(
    key: str, value: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as raised:
        _chosen(tmp_path, {key: value})
    assert raised.value.message == message


def test_a_variable_out_of_range_is_named_in_the_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        _chosen(tmp_path, environ={"AUTORUNNER_MAX_RETRIES": "-1"})
    assert raised.value.message == "Max retries must be non-negative, got -1"
    assert "AUTORUNNER_MAX_RETRIES" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("option", "given_value", "value"),
    [
        (THINKING, "1024", 1024),
        (MAX_ITERATIONS, 1, 1),
        (MAX_RETRIES, 0, 0),
        (MAX_COST, 0.01, 0.01),
        (SESSION_TIMEOUT, 0.1, 0.1),
    ],
)
def test_values_at_the_edge_are_taken(
    option: Option, given_value: object, value: object, tmp_path: Path
) -> None:
    assert _chosen(tmp_path, {option.key: given_value}).settings[option.key].value == value


@pytest.mark.parametrize("option", ALL_OPTIONS, ids=lambda option: option.name)
def test_every_default_is_a_value_that_would_be_taken(option: Option) -> None:
    assert option.check(option.default) is None


def test_no_two_options_share_a_name() -> None:
    names = [name for o in ALL_OPTIONS for name in o.declarations]
    assert len(names) == len(set(names))


@settings(deadline=None)
@given(text=st.text(max_size=30), option=st.sampled_from(ALL_OPTIONS[1:]))
def test_any_text_in_a_variable_is_a_value_or_a_clear_error(text: str, option: Option) -> None:
    with suppress(ConfigError):
        chosen = choose([option], {}, {option.variable: text})
        assert chosen.settings[option.key].origin == (option.variable if text else "default")
