"""The control plane of a workspace, composed from its configuration."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.autonomy.assembly import open_control_plane
from runner.autonomy.commands.listing import Listing
from runner.autonomy.service import ControlPlane
from runner.config.project import resolve_project
from runner.errors import PrerequisiteError, StateError, UsageError
from runner.text.output import Output


def control_plane(workspace: Path) -> ControlPlane:
    """Return the control plane that the command line works with.

    Raises:
        UsageError: there is no such folder, or its runner.toml is wrong.
    """
    try:
        project = resolve_project(workspace)
    except PrerequisiteError as error:
        hint = "Give the project's folder with --workspace."
        raise UsageError(error.message, hint=hint) from error
    return open_for_reading(project)


def latest_session(project: Path, spec_id: str) -> dict[str, Any] | None:
    """Return the spec's live session, or else the one that changed last; nothing is written.

    Raises:
        StateError: the folder of sessions can't be read.
    """
    with sessions_readable():
        return Listing(open_for_reading(project).core).latest(spec_id)


@contextmanager
def sessions_readable() -> Iterator[None]:
    """Tell in words where the folder of sessions can't be read.

    Raises:
        StateError: it can't be.
    """
    try:
        yield
    except OSError as error:
        raise StateError(
            f"The sessions can't be read: {error.strerror}.",
            hint=f"Make {error.filename} readable.",
        ) from error


def open_for_reading(project: Path) -> ControlPlane:
    """Return the control plane of a project folder that is known to be there.

    Raises:
        UsageError: its runner.toml is wrong.
    """
    return open_control_plane(
        project,
        surface="cli",
        environ=os.environ,
        interactive=Output(sys.stdout).is_terminal(),
        tree_of=lambda: _tree_of(project),
    )


def _tree_of(project: Path) -> str:
    from runner.checkpoints.tree_identity import tree_identity  # noqa: PLC0415 - few commands need it

    return tree_identity(project)
