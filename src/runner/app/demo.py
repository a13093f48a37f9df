"""`runner demo`: the main job on the bundled example."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.app.job import Job
from runner.app.replaying import scripted
from runner.config.options import RunOptions
from runner.config.project import SPEC_NAME
from runner.errors import PrerequisiteError
from runner.programs import find_program, outside_environment
from runner.project import Project
from runner.reach import reach_of
from runner.replay.demo import demo_script, demo_spec_text
from runner.sandbox.probe import switched_off


@contextmanager
def demo_job(wanted: Path | None, environ: dict[str, str]) -> Iterator[Job]:
    """Prepare the example, and serve its scripted model.

    Args:
        wanted: a new or empty folder; a temporary one where None.
        environ: the environment of runner itself.

    Raises:
        PrerequisiteError: the folder is not empty.
    """
    directory = _demo_folder(wanted)
    with scripted(demo_script(), directory) as answers:
        yield Job(
            Project(directory, environ),
            RunOptions(sandbox=not switched_off(environ)),
            "Demo: building SPEC.example.md with a scripted model",
            answers.environment,
            (("Model answers", "scripted; no key, no network, no cost"),),
            # What runs is the script that we ship; so the demo also works where no sandbox can.
            sandbox_required=False,
            divergences=answers.divergences,
        )


def _demo_folder(wanted: Path | None) -> Path:
    if wanted is None:
        folder = Path(tempfile.mkdtemp(prefix="runner-demo-")).resolve()
    else:
        folder = wanted.expanduser().resolve()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PrerequisiteError(
                f"{folder} exists and is not an empty folder.",
                hint="Name a new folder for the demo; it never writes into existing work.",
            )
        folder.mkdir(parents=True, exist_ok=True)
    (folder / SPEC_NAME).write_text(demo_spec_text(), encoding="utf-8")
    _start_repository(folder)
    return folder


def _start_repository(folder: Path) -> None:
    """Make the folder a git repository where git is installed; the demo works without."""
    git = find_program("git", folder)
    if git is None:
        return
    identity = {"user.name": "runner demo", "user.email": "demo@localhost"}
    commands = [
        ["init", "--quiet", "--initial-branch=main"],
        *(["config", name, value] for name, value in identity.items()),
        ["add", SPEC_NAME],
        ["commit", "--quiet", "--message", "Add the specification"],
    ]
    environment = outside_environment(reach_of(folder))
    for command in commands:
        done = subprocess.run([str(git), *command], cwd=folder, env=environment, check=False)
        if done.returncode:
            return
