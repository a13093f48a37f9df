"""Put the server together and run it."""

import logging
import os
import sys
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio

from runner.autonomy.assembly import open_control_plane
from runner.autonomy.observability.export import exporting
from runner.autonomy.service import ControlPlane
from runner.checkpoints.tree_identity import tree_identity
from runner.errors import PrerequisiteError
from runner.server.app import serve
from runner.server.reviewing import AgentReviewer
from runner.server.surface import Surface
from runner.server.wire import open_standard_error, take_standard_streams

_LAST_WORK_SECONDS = 5.0


def run_server(workspace: Path, *, is_named: bool = False) -> int:
    """Serve a workspace on standard input and output; return the exit code.

    Args:
        workspace: the project's folder.
        is_named: it was named, and is not just the current folder; see `Surface`.

    Raises:
        PrerequisiteError: standard input or output is closed.
        ConfigError: `.runner/runner.toml` is wrong.
    """
    open_standard_error()
    plane = open_plane(workspace)
    try:
        ends = take_standard_streams()
    except OSError as error:
        raise PrerequisiteError(
            "Standard input and output must be open: the server talks on them.",
            hint="Let an MCP client start `runner mcp`; see docs/supervisor-runbook.md.",
        ) from error
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    for warning in plane.warnings:
        logging.getLogger(__name__).warning(warning)
    with (
        exporting(os.environ, logging.getLogger(__name__).warning),
        closing(AgentReviewer(plane, workspace)) as reviewer,
    ):
        surface = Surface(plane, workspace, reviewer, is_named=is_named)
        code = anyio.run(serve, plane, surface, ends)
    _bound_the_end(code)
    return code


def open_plane(workspace: Path) -> ControlPlane:
    """Return the control plane that the server offers."""
    return open_control_plane(
        workspace,
        surface="mcp",
        environ=os.environ,
        interactive=False,
        tree_of=partial(tree_identity, workspace),
    )


def _bound_the_end(code: int) -> None:
    """Give commands under way a moment to finish, then end whatever they do.

    Their threads hold up the interpreter's end, and one may wait on a dead disk for ever. Every
    command survives being killed.
    """
    last = threading.Timer(_LAST_WORK_SECONDS, os._exit, (code,))
    last.daemon = True
    last.start()
