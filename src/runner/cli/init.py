"""`runner init`."""

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.help_text import help_text
from runner.cli.options import takes
from runner.config.options import PROJECT_DIR
from runner.config.project import SPEC_NAME
from runner.config.resolve import Chosen
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import StateWriteError
from runner.files import write_error
from runner.resources import data_text
from runner.text.safe import inert

HELP = help_text(
    "Prepare a project: an example SPEC.md and the folder .runner/.",
    ("runner init", "in the current folder"),
    ("runner init -p ../app", "in another one"),
    ("runner init --from-autonoe", "take over a project of Autonoe"),
    details="What exists is left as it is. --from-autonoe copies status.json, agent.json, the "
    "instruction overrides and the note: all of them, or none when one is damaged or would "
    "overwrite something. The folder .autonoe/ stays as it is.",
)

FromAutonoe = Annotated[
    bool,
    typer.Option("--from-autonoe", help="Adopt what .autonoe/ and .autonoe-note.md hold."),
]


@takes(PROJECT_DIR)
def init(chosen: Chosen, *, from_autonoe: FromAutonoe = False) -> None:
    """Scaffold a project, or adopt one; what exists is left as it is."""
    if from_autonoe:
        _adopt(chosen.project_dir)
    else:
        _scaffold(chosen.project_dir)


def _adopt(project: Path) -> None:
    from runner.app.adoption import adopt  # noqa: PLC0415 - pydantic is slow to import

    for file in adopt(project):
        verb = "Was adopted before" if file.existed else "Adopted"
        typer.echo(f"{verb}: {inert(file.source)} as {inert(file.target)}")
        if file.advice:
            typer.echo(f"  {file.advice} Change it before you run.")
    if not (project / SPEC_NAME).is_file():
        typer.echo(f"There is no {SPEC_NAME} in {project}; a run needs one.")
    typer.echo("Next: `runner status` shows what was adopted, `runner run` goes on with it.")


def _scaffold(project: Path) -> None:
    state = project / STATE_DIRECTORY
    existed = state.is_dir()
    ensure_state_directory(project)
    spec = project / SPEC_NAME
    try:
        with spec.open("x", encoding="utf-8") as file:
            file.write(data_text("SPEC.example.md"))
    except FileExistsError:
        typer.echo(f"{spec} exists; it was left as it is.")
    except OSError as error:
        cause = write_error(spec, error)
        raise StateWriteError(cause.message, hint=cause.hint) from error
    else:
        typer.echo(f"Wrote {spec}: an example. Replace it by what you want to have built.")
    if not existed:
        typer.echo(f"Made {state}: runner keeps its state there.")
    if (project / ".autonoe").is_dir():
        typer.echo("Found .autonoe/: `runner init --from-autonoe` takes over what it holds.")
    typer.echo("Next: edit SPEC.md, then `runner doctor` and `runner run`.")
