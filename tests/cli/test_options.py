"""How a command gets its options from the catalogue."""

from pathlib import Path
from typing import Annotated

import pytest
import typer

from runner.cli.options import takes
from runner.config.catalogue import MAX_RETRIES, PROJECT_DIR, QUIET
from runner.config.resolve import Chosen

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@takes(PROJECT_DIR, MAX_RETRIES, QUIET)
def _try(word: Annotated[str, typer.Argument()], *, chosen: Chosen, loud: bool = False) -> None:
    """Say what was given."""
    typer.echo(f"{word} {chosen[MAX_RETRIES]} {chosen[QUIET]} {loud} {chosen.project_dir}")


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
