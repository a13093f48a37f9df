"""`runner init`."""

import typer

from runner.cli.help_text import help_text
from runner.cli.options import takes
from runner.config.catalogue import PROJECT_DIR
from runner.config.resolve import Chosen
from runner.config.run_options import SPEC_NAME
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import StateWriteError
from runner.files import write_error
from runner.resources import data_text

HELP = help_text(
    "Prepare a project: an example SPEC.md and the folder .runner/.",
    ("runner init", "in the current folder"),
    ("runner init -p ../app", "in another one"),
    details="What exists is left as it is.",
)


@takes(PROJECT_DIR)
def init(chosen: Chosen) -> None:
    """Scaffold a project; what exists is left as it is."""
    project = chosen.project_dir
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
    typer.echo("Next: edit SPEC.md, then `runner doctor` and `runner run`.")
