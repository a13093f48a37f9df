"""`runner run`."""

import os
from contextlib import ExitStack

import typer

from runner.cli.help_text import help_text
from runner.cli.inert import inert
from runner.cli.options import takes
from runner.config.catalogue import REPLAY, RUN_OPTIONS
from runner.config.environment import unknown_variables
from runner.config.resolve import Chosen
from runner.config.run_options import RunOptions, require_spec

HELP = help_text(
    "Implement the spec: plan it, then work until every deliverable passes.",
    ("runner run", "in a folder with a SPEC.md"),
    ("runner run -n 10 --max-cost 5", "at most ten sessions and five dollars"),
    ("runner run -p ../app -m opus", "another project, another model"),
    details="What is done is saved as it happens: after an interruption the same command goes on. "
    "The exit code says how it ended: 0 all passed, 1 failed, 2 wrong usage, 3 a person is "
    "needed, 4 iteration limit, 6 budget, 75 usage limit, 130 interrupted.",
)


@takes(*RUN_OPTIONS)
def run(chosen: Chosen) -> None:
    """Run the loop on a project's SPEC.md."""
    project, replay = chosen.project_dir, chosen[REPLAY]
    require_spec(project)
    for name, hint in unknown_variables(os.environ).items():
        typer.echo(f"Warning: nothing reads the variable {inert(name)}. {hint}", err=True)
    # The libraries behind a run are imported only now, so that a mistake is answered at once.
    from runner.cli.present import finish, present  # noqa: PLC0415
    from runner.cli.session import Job  # noqa: PLC0415

    with ExitStack() as resources:
        environment: dict[str, str] = {}
        facts: tuple[tuple[str, str], ...] = ()
        if replay is not None:
            from runner.cli.replaying import scripted_environment  # noqa: PLC0415

            environment = resources.enter_context(scripted_environment(replay, project))
            facts = (("Model answers", f"scripted, from {replay}"),)
        job = Job(project, RunOptions.of(chosen), "Implementing SPEC.md", environment, facts)
        result = present(job, chosen)
    finish(result)
