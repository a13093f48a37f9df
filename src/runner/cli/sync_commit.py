"""Commit what a sync produced: status.json and the note, nothing else."""

import shutil
import subprocess
from pathlib import Path

from runner.deliverables.workspace import STATE_DIRECTORY, STATUS_FILE
from runner.errors import PrerequisiteError
from runner.security.tree import NOTE_NAME

_MESSAGE = "Sync deliverables with SPEC.md"
# The repository may be untrusted: nothing that its configuration names is run.
_PINNED = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false",
    "-c", "core.pager=cat",
)  # fmt: skip


def commit_results(project: Path) -> None:
    """Commit the two files if they changed; leave the index otherwise as it is.

    Raises:
        PrerequisiteError: git is missing, or refused.
    """
    git = shutil.which("git")
    if git is None:
        raise PrerequisiteError("git was not found.", hint="Install it, or leave --commit out.")
    names = [f"{STATE_DIRECTORY}/{STATUS_FILE}", NOTE_NAME]
    files = [name for name in names if (project / name).is_file()]
    _git(git, project, "add", "--force", "--", *files)
    if _git(git, project, "status", "--porcelain", "--", *files):
        _git(git, project, "commit", "--quiet", "--message", _MESSAGE, "--only", "--", *files)


def _git(git: str, project: Path, *arguments: str) -> str:
    done = subprocess.run(
        [git, *_PINNED, *arguments], cwd=project, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PrerequisiteError(
            f"git {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}",
            hint="The sync itself is saved; commit .runner/status.json yourself.",
        )
    return done.stdout
