"""How a command gets its options from the catalogue."""

from pathlib import Path
from typing import Annotated

import pytest
import typer

from runner.cli.main import run_command_line
from runner.cli.options import takes
from runner.config.options import OPTIONS, PROJECT_DIR
from runner.config.resolve import Chosen

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@takes(PROJECT_DIR, OPTIONS["max_retries"], OPTIONS["quiet"])
def _try(word: Annotated[str, typer.Argument()], *, chosen: Chosen, loud: bool = False) -> None:
    """Say what was given."""
    options = chosen.options
    typer.echo(f"{word} {options.max_retries} {options.quiet} {loud} {chosen.project_dir}")


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit):
        app(list(arguments), prog_name="x")
    return capsys.readouterr().out


def test_options_of_the_command_and_of_the_catalogue_come_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _run(capsys, "hello", "-p", str(tmp_path), "--loud", "--max-retries", "7", "-q")
    assert said == f"hello 7 True True {tmp_path}\n"


def test_the_help_names_variable_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(_run(capsys, "--help").split())
    assert "[env var: AUTORUNNER_MAX_RETRIES; default: 3]" in said
    assert "default: the current directory]" in said


def test_the_help_shows_how_to_turn_a_flag_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert "-q, --quiet / --no-quiet" in _run(capsys, "--help")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["run", "--output-format", "jsno"],
            (
                "Error: --output-format must be one of text, json, stream-json, got 'jsno'.\n"
                "       Did you mean json?\n"
            ),
        ),
        (["run", "--max-cost", "abc"], "Error: --max-cost must be a number, got 'abc'.\n"),
        (["run", "-n", "1.5"], "Error: --max-iterations must be a whole number, got '1.5'.\n"),
        (
            ["check", "--command", "snyc", "ls"],
            "Error: --command must be one of run, sync, got 'snyc'.\n       Did you mean sync?\n",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_our_own_words(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (run_command_line(arguments), capsys.readouterr().err) == (2, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--limit", "0"], "Error: --limit must be at least 1. (VALIDATION_ERROR)"),
        (["--limit", "abc"], "Error: --limit must be a whole number. (VALIDATION_ERROR)"),
    ],
)
def test_the_control_plane_says_it_in_our_own_words(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command_line(["session", "list", "--workspace", str(tmp_path), *arguments])
    assert capsys.readouterr().err.splitlines()[0] == said


def test_the_control_plane_names_the_nearest_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command_line(["session", "start", "--workspace", str(tmp_path), "--gate-policy", "strickt"])
    assert capsys.readouterr().err.splitlines() == [
        "Error: --gate-policy must be 'strict', 'lenient' or 'manual'. (VALIDATION_ERROR)",
        "       Did you mean strict?",
    ]


@pytest.mark.parametrize("command", ["run", "sync"])
def test_the_help_has_one_section_for_each_group(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command_line([command, "--help"])
    titles = [line[:-1] for line in capsys.readouterr().out.splitlines() if line[-1:] == ":"]
    groups = [option.group for option in OPTIONS.values() if command in option.commands]
    assert [title for title in titles if not title.startswith(" ")] == [
        *dict.fromkeys(groups),
        "Options",
    ]
