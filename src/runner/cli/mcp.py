"""`runner mcp`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from runner.cli.help_text import help_text
from runner.errors import PrerequisiteError

HELP = help_text(
    "Offer the control plane as an MCP server on standard input and output.",
    ("runner mcp", "serve the current folder"),
    ("runner mcp --workspace ../app", "serve another one"),
    ("claude mcp add runner -- runner mcp", "let Claude Code start it"),
    details="An MCP client starts it and talks to it; there is nothing to see for people. Logs go "
    "to stderr. It ends with its input, or by Ctrl-C.",
)

EMPTY_WORKSPACE = "The workspace is empty."
WORKSPACE_HINT = "Name the project's folder: --workspace PATH."

Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        metavar="PATH",
        help="The project's folder. [env var: AUTORUNNER_WORKSPACE; default: the current folder]",
        show_default=False,
    ),
]


def mcp(*, workspace: Workspace = None) -> None:
    """Serve the control plane until the client is gone."""
    from runner.installation import isolate  # noqa: PLC0415
    from runner.sandbox.probe import is_boxed  # noqa: PLC0415
    from runner.server.main import run_server  # noqa: PLC0415 - the library costs a second

    if workspace == "":
        raise PrerequisiteError(EMPTY_WORKSPACE, hint=WORKSPACE_HINT)
    named = workspace or os.environ.get("AUTORUNNER_WORKSPACE")
    folder = Path(named or ".").expanduser().resolve()
    if not folder.is_dir():
        raise PrerequisiteError(f"{folder} is not a folder.", hint=WORKSPACE_HINT)
    # Whatever agents work on the project meanwhile: reviews that this server starts make an
    # environment in the project read-only, as `runner run` from there does.
    isolate(folder, boxed=is_boxed(wanted=True))
    raise typer.Exit(run_server(folder, is_named=bool(named)))
