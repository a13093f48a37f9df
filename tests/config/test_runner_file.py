"""What `.runner/runner.toml` may say, and how a mistake in it is told."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runner.config.options import ALL_OPTIONS
from runner.config.runner_file import (
    BudgetTable,
    Notify,
    PostureTable,
    RunnerFile,
    VerificationTable,
    load_runner_file,
    parse_runner_file,
)
from runner.errors import ConfigError

PATH = Path("/p/.runner/runner.toml")
PROJECT = Path("/p")


def _parsed(text: str) -> RunnerFile:
    return parse_runner_file(PATH, text, PROJECT)


def _refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        _parsed(text)
    return raised.value


EVERYTHING = """
max_iterations = 5
max_cost = 10
model = "haiku"
thinking = true
quiet = false
replay = "scripts/one.toml"

[feature_flags]
autonomy_sessions = true
autonomy_rebase = false

[posture]
profile = "supervised"
role = "maintainer"

[verification]
commands = ["pytest -q", "ruff check"]
timeout_minutes = 5

[budget]
total = 50

[notify]
command = ["notify-send", "runner"]
webhook = "https://example.com/hook"
on = ["finished"]
"""


def test_options_are_converted_to_their_own_type() -> None:
    assert dict(_parsed(EVERYTHING).options) == {
        "max_iterations": 5,
        "max_cost": 10.0,
        "model": "haiku",
        "thinking": 8192,
        "quiet": False,
        "replay": Path("/p/scripts/one.toml"),
    }


def test_the_tables_are_kept() -> None:
    file = _parsed(EVERYTHING)
    assert file.feature_flags == {"autonomy_sessions": True, "autonomy_rebase": False}
    assert file.posture == PostureTable("supervised", "maintainer")
    assert file.verification == VerificationTable(("pytest -q", "ruff check"), 5.0)
    assert file.budget == BudgetTable(50.0)
    assert file.notify == Notify(
        ("notify-send", "runner"), "https://example.com/hook", ("finished",)
    )


def test_what_was_read_can_not_be_changed() -> None:
    with pytest.raises(TypeError):
        _parsed(EVERYTHING).options["model"] = "opus"  # type: ignore[index] # that is the point


def test_no_file_and_an_empty_one_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".runner" / "runner.toml"
    assert load_runner_file(tmp_path) == RunnerFile(path)
    path.parent.mkdir()
    path.write_text("\ufeff", encoding="utf-8")
    assert not load_runner_file(tmp_path).options


@pytest.mark.parametrize("option", [o for o in ALL_OPTIONS if o.in_file], ids=lambda o: o.name)
def test_every_option_of_the_file_refuses_a_value_of_another_type(option: object) -> None:
    key = getattr(option, "key", "")
    assert f"{PATH}:1: {key} must be" in _refused(f"{key} = [1]").message


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("\nmax_iteration = 5", ":2: there is no key max_iteration.", "max_iterations"),
        ("max-iterations = 5", ":1: there is no key max-iterations.", "max_iterations"),
        ("maxIterations = 5", ":1: there is no key maxIterations.", "max_iterations"),
        ("thinking_tokens = 5", ":1: there is no key thinking_tokens.", "thinking"),
        ("zebra = 5", ":1: there is no key zebra.", "Known keys: max_iterations, "),
        ("[feature_flag]\nx = true", ":1: there is no table feature_flag.", "feature_flags"),
        ("[posture]\n\nrolle = 'x'", ":3: there is no key posture.rolle.", "role"),
        ("posture.profil = 'x'", ":1: there is no key posture.profil.", "profile"),
        (
            "[feature_flags]\nautonomy_session = true",
            ":2: there is no feature flag autonomy_session.",
            "autonomy_sessions",
        ),
        ("posture.profile = 'superwised'", ":1: posture.profile names no posture.", "supervised"),
        ("[budget]\nmax_cost = 5", ":2: there is no key budget.max_cost.", "above the first"),
        ("project_dir = '.'", ":1: project_dir can't be set here.", "AUTORUNNER_PROJECT_DIR"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest(
    text: str, message: str, hint: str
) -> None:
    error = _refused(text)
    assert error.message == f"{PATH}{message}"
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_retries = '3'", ":1: max_retries must be a whole number, found a string."),
        ("max_retries = true", ":1: max_retries must be a whole number, found true or false."),
        ("max_retries = 1.5", ":1: max_retries must be a whole number, found a number."),
        ("max_cost = true", ":1: max_cost must be a number, found true or false."),
        ("quiet = 1", ":1: quiet must be true or false, found a whole number."),
        ("model = 2020-01-01", ":1: model must be a string, found a date or time."),
        (
            "output_format = 'xml'",
            ":1: output_format must be one of text, json, stream-json, found another.",
        ),
        ("max_iterations = 0", ":1: Max iterations must be positive, got 0"),
        ("posture = 'debug'", ":1: posture must be a table, found a string."),
        (
            "[feature_flags]\nautonomy_rebase = 'on'",
            ":2: feature_flags.autonomy_rebase must be true or false, found a string.",
        ),
        (
            "[verification]\ncommands = 'pytest'",
            ":2: verification.commands must be a list of strings, found a string.",
        ),
        (
            "[verification]\ncommands = [1]",
            ":2: verification.commands must be a list of strings, found a list.",
        ),
        (
            "[verification]\ntimeout_minutes = 0",
            ":2: verification.timeout_minutes must be a positive number.",
        ),
        ("[budget]\ntotal = nan", ":2: budget.total must be a positive number."),
        ("x = @\n", ":1:5: not TOML: Invalid value."),
        ("x = ", ":1: not TOML: Invalid value."),
        ("model = 'a'\nmodel = 'b'", ":2: not TOML: Cannot overwrite a value."),
    ],
)
def test_a_wrong_value_is_named_with_its_line(text: str, message: str) -> None:
    assert _refused(text).message == f"{PATH}{message}"


@pytest.mark.parametrize("key", ["api_key", "apiKey", "ANTHROPIC_API_KEY", "token", "db-password"])
def test_a_secret_is_sent_to_the_environment(key: str) -> None:
    error = _refused(f"{key} = 'sk-very-secret'")
    assert "looks like a secret" in error.message
    assert "environment" in (error.hint or "")
    assert "sk-very-secret" not in str(error)


def test_a_wrong_value_is_not_repeated() -> None:
    assert "sk-very-secret" not in str(_refused("output_format = 'sk-very-secret'"))


def test_deep_nesting_is_refused() -> None:
    assert "nested" in _refused("x = " + "[" * 20_000).message


@pytest.mark.parametrize("content", [b"\xff", b"x" * (1024 * 1024 + 1)], ids=["latin", "huge"])
def test_a_file_that_is_no_configuration_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / ".runner" / "runner.toml"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"can't be read"):
        load_runner_file(tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / ".runner").mkdir()
    os.mkfifo(tmp_path / ".runner" / "runner.toml")
    with pytest.raises(ConfigError, match="not a regular file"):
        load_runner_file(tmp_path)


KEYS = [o.key for o in ALL_OPTIONS] + ["api_key", "x.y", '"a b"', "posture.role", "[budget]\ntotal"]
VALUES = ["1", "-1", "1.5", "nan", "true", "'a'", "'\\u0000'", "[]", "['a']", "{}", "{a = 1}",
          "2020-01-01", "99999999999999999999", "1e999", ""]  # fmt: skip


@settings(deadline=None)
@given(text=st.text(max_size=60))
@example("model = " + "9" * 5000)
@example("a = [" * 2000)
def test_any_text_is_a_configuration_or_a_configuration_error(text: str) -> None:
    with suppress(ConfigError):
        _parsed(text)


@settings(deadline=None)
@given(lines=st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=4))
def test_any_key_with_any_value_is_taken_or_refused(
    lines: list[tuple[str, str]],
) -> None:
    with suppress(ConfigError):
        _parsed("\n".join(f"{key} = {value}" for key, value in lines))


def _notifying(project: Path, words: str) -> None:
    for name in ("tools/n.py", ".runner/n.sh"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).touch()
    (project / "link").symlink_to("tools/n.py")
    (project / ".runner" / "runner.toml").write_text(f"[notify]\ncommand = {words}\n")


@pytest.mark.parametrize(
    "words", ['["tools/n.py"]', '["python3", "./tools/n.py"]', '["sh", "link"]']
)
def test_a_notification_that_runs_what_agents_can_write_is_refused(
    words: str, tmp_path: Path
) -> None:
    _notifying(tmp_path, words)
    with pytest.raises(ConfigError, match="agents can write that file") as refused:
        load_runner_file(tmp_path)
    assert ".runner/" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "words",
    ['[".runner/n.sh"]', '["sh", "-c", "echo tools/n.py"]', '["git", "-C", "tools", "log"]'],
)
def test_a_notification_by_anything_else_is_taken(words: str, tmp_path: Path) -> None:
    _notifying(tmp_path, words)
    assert load_runner_file(tmp_path).notify.command


def test_variables_are_handed_on_by_name_and_by_their_beginning() -> None:
    file = _parsed('[environment]\npass = ["DATABASE_URL", "MY_*"]')
    assert file.environment.passed == ("DATABASE_URL", "MY_*")


@pytest.mark.parametrize("entry", ["", "*", "A*B", "*_KEY", "A B", "KEY=hunter2", "1A", "A\u00e9"])
def test_what_names_no_variable_is_refused_and_not_repeated(entry: str) -> None:
    error = _refused(f'[environment]\npass = ["{entry}"]')
    assert "names no variable" in error.message
    assert "hunter2" not in str(error)
