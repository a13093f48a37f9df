"""`runner demo`."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from runner.cli.help_text import help_text
from runner.cli.options import takes
from runner.config.options import OPTIONS, RunOptions
from runner.config.project import SPEC_NAME
from runner.config.resolve import Chosen
from runner.errors import PrerequisiteError
from runner.programs import find_program, outside_environment
from runner.reach import reach_of

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
    from runner.app.composition import Job  # noqa: PLC0415
    from runner.app.replaying import scripted  # noqa: PLC0415
    from runner.cli.present import finish, present  # noqa: PLC0415
    from runner.replay.demo import demo_script, demo_spec_text  # noqa: PLC0415
    from runner.sandbox.probe import switched_off  # noqa: PLC0415

    project = _demo_project(project_dir, demo_spec_text())
    with scripted(demo_script(), project) as answers:
        job = Job(
            project,
            RunOptions(sandbox=not switched_off(os.environ)),
            "Demo: building SPEC.example.md with a scripted model",
            answers.environment,
            (("Model answers", "scripted; no key, no network, no cost"),),
            # What runs is the script that we ship; so the demo also works where no sandbox can.
            sandbox_required=False,
            divergences=answers.divergences,
        )
        result = present(job, chosen)
    if chosen.options.output_format == "text" and not chosen.options.quiet:
        typer.echo(f"\nThe program is in {project}. Try it:")
        typer.echo(f"  cd {project}")
        typer.echo("  python3 -m measure 26.2 mi km")
        typer.echo("  python3 -m unittest discover -s tests")
    finish(job, result)


def _demo_project(wanted: Path | None, spec: str) -> Path:
    if wanted is None:
        project = Path(tempfile.mkdtemp(prefix="runner-demo-")).resolve()
    else:
        project = wanted.expanduser().resolve()
        if project.exists() and (not project.is_dir() or any(project.iterdir())):
            raise PrerequisiteError(
                f"{project} exists and is not an empty folder.",
                hint="Name a new folder for the demo; it never writes into existing work.",
            )
        project.mkdir(parents=True, exist_ok=True)
    (project / SPEC_NAME).write_text(spec, encoding="utf-8")
    _start_repository(project)
    return project


def _start_repository(project: Path) -> None:
    """Make the folder a git repository where git is there; the demo works without."""
    git = find_program("git", project)
    if git is None:
        return
    identity = {"user.name": "runner demo", "user.email": "demo@localhost"}
    commands = [
        ["init", "--quiet", "--initial-branch=main"],
        *(["config", name, value] for name, value in identity.items()),
        ["add", SPEC_NAME],
        ["commit", "--quiet", "--message", "Add the specification"],
    ]
    environment = outside_environment(reach_of(project))
    for command in commands:
        done = subprocess.run([str(git), *command], cwd=project, env=environment, check=False)
        if done.returncode:
            return
