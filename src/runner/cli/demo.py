"""`runner demo`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from runner.cli.help_text import help_text
from runner.cli.options import takes
from runner.config.options import OPTIONS
from runner.config.resolve import Chosen

DemoDir = Annotated[
    Path | None,
    typer.Option(
        "--project-dir",
        "-p",
        metavar="PATH",
        help="Build the demo here: a new or empty folder. Default: a new temporary one.",
        show_default=False,
    ),
]


HELP = help_text(
    "Run the main job on a bundled example: no key, nothing to pay.",
    ("runner demo", "in a new temporary folder"),
    ("runner demo -p /tmp/measure", "in a folder of your choice"),
    details="A scripted model on 127.0.0.1 stands in for Claude; the agent, its tools, the policy "
    "and the loop are the real ones. What it builds is kept for you to look at.",
)


@takes(OPTIONS["output_format"], OPTIONS["quiet"], OPTIONS["debug"])
def demo(*, project_dir: DemoDir = None, chosen: Chosen) -> None:
    """Run the loop on the bundled example, with the bundled scripted model."""
    from runner.app.demo import demo_job  # noqa: PLC0415
    from runner.app.run import run  # noqa: PLC0415
    from runner.cli.present import finish, present  # noqa: PLC0415

    with demo_job(project_dir, dict(os.environ)) as job:
        result = present(job, run, chosen.options)
    if chosen.options.output_format == "text" and not chosen.options.quiet:
        typer.echo(f"\nThe program is in {job.project.directory}. Try it:")
        typer.echo(f"  cd {job.project.directory}")
        typer.echo("  python3 -m measure 26.2 mi km")
        typer.echo("  python3 -m unittest discover -s tests")
    finish(job, result)
