"""`runner run`."""

import os
from collections.abc import Mapping

import typer

from runner.cli.help_text import help_text
from runner.cli.options import takes
from runner.config.environment import unknown_variables
from runner.config.options import RUN_OPTIONS
from runner.config.project import require_spec
from runner.config.resolve import Chosen
from runner.project import Project
from runner.text.safe import inert

HELP = help_text(
    "Implement the spec: plan it, then work until every deliverable passes.",
    ("runner run", "in a folder with a SPEC.md"),
    ("runner run -n 10 --max-cost 5", "at most ten sessions and five dollars"),
    ("runner run -p ../app -m opus", "another project, another model"),
    ("runner run --wait-for-quota", "overnight, across usage limits"),
    details="Work is saved as it happens: after an interruption the same command continues. "
    "The exit code says how it ended: 0 all passed, 1 failed, 2 wrong usage, 3 a person is "
    "needed, 4 iteration limit, 6 budget, 7 the spec or plan was changed by somebody else, "
    "75 usage limit, 130 interrupted.",
)


@takes(*RUN_OPTIONS)
def run(chosen: Chosen) -> None:
    """Run the loop on a project's SPEC.md."""
    require_spec(chosen.project_dir)
    warn_of_unknown_variables()
    # The libraries behind a run are imported only now, so that a mistake is answered at once.
    from runner.app.replaying import answering  # noqa: PLC0415
    from runner.app.run import run as run_job  # noqa: PLC0415
    from runner.cli.present import finish, present  # noqa: PLC0415

    project = Project.of(chosen, os.environ)
    with answering(project, chosen.options, "Implementing SPEC.md", command="run") as job:
        result = present(job, run_job, chosen.options)
    finish(job, result)


def warn_of_unknown_variables() -> None:
    """Name the AUTORUNNER_ variables that nothing reads: a typing error would go unnoticed."""
    for name, hint in unread(unknown_variables(os.environ)).items():
        typer.echo(f"Warning: nothing reads the variable {inert(name)}. {hint}", err=True)


def unread(unknown: Mapping[str, str]) -> dict[str, str]:
    """Return, of the variables that are no options of a run, those that no other command reads."""
    if not unknown:
        return {}
    from runner.cli.control.commands import control_variables  # noqa: PLC0415 - rarely needed

    ours = control_variables()
    return {name: hint for name, hint in unknown.items() if name not in ours}
