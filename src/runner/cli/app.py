"""The Typer application: commands are registered here, each in a module of its own."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from runner import __version__
from runner.app.signals import InterruptedEarly
from runner.cli.check import HELP as CHECK_HELP
from runner.cli.check import check
from runner.cli.completion import HELP as COMPLETION_HELP
from runner.cli.completion import VARIABLE, completion, make_ready
from runner.cli.config import config
from runner.cli.demo import HELP as DEMO_HELP
from runner.cli.demo import demo
from runner.cli.doctor import HELP as DOCTOR_HELP
from runner.cli.doctor import doctor
from runner.cli.init import HELP as INIT_HELP
from runner.cli.init import init
from runner.cli.lazy import RootGroup
from runner.cli.mcp import HELP as MCP_HELP
from runner.cli.mcp import mcp
from runner.cli.options import GroupedCommand
from runner.cli.report import HELP as REPORT_HELP
from runner.cli.report import report
from runner.cli.rollback import HELP as ROLLBACK_HELP
from runner.cli.rollback import rollback
from runner.cli.run import HELP as RUN_HELP
from runner.cli.run import run
from runner.cli.status import HELP as STATUS_HELP
from runner.cli.status import status
from runner.cli.sync import HELP as SYNC_HELP
from runner.cli.sync import sync

_EPILOG = (
    "Start with `runner demo` (no key needed), then write a SPEC.md and `runner run`. "
    "Every option can also be given as AUTORUNNER_<NAME> in the environment, or in "
    ".runner/runner.toml; `runner config show` shows the effective values."
)

app = typer.Typer(
    name="runner",
    cls=RootGroup,
    help="Drive Claude until every deliverable of a SPEC.md passes: unattended, safely, resumably.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"runner {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Drive Claude until every deliverable of a SPEC.md passes."""


app.command(help=INIT_HELP)(init)
app.command(help=RUN_HELP, cls=GroupedCommand)(run)
app.command(help=SYNC_HELP, cls=GroupedCommand)(sync)
app.command(help=STATUS_HELP)(status)
app.command(help=REPORT_HELP)(report)
app.command(help=DOCTOR_HELP)(doctor)
app.command(help=DEMO_HELP)(demo)
app.command(help=ROLLBACK_HELP)(rollback)
app.command(help=CHECK_HELP)(check)
app.command(help=MCP_HELP)(mcp)
app.add_typer(config, name="config")
app.command(help=COMPLETION_HELP)(completion)


def invoke(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Lets RunnerError and InterruptedEarly through."""
    if VARIABLE in os.environ:
        make_ready()
    elif is_group(arguments):
        arguments = [*arguments, "--help"]
    try:
        app(args=list(arguments), prog_name="runner")
    except InterruptedEarly:
        raise
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def read_leniently(arguments: Sequence[str]) -> dict[str, str]:
    """Return the texts that the options of a command are given, wherever the mistakes are.

    Args:
        arguments: the command's name comes first.
    """
    name, *rest = arguments
    group = typer.main.get_command(app)
    found: dict[str, str] = {}
    with group.make_context("runner", [name], resilient_parsing=True) as context:
        command = group.get_command(context, name)  # type: ignore[attr-defined] # it is a group
    # Reading ends at a mistake such as `--quiet=1`; so what follows is read on its own.
    for start in range(len(rest)):
        with command.make_context(
            name,
            rest[start:],
            resilient_parsing=True,
            ignore_unknown_options=True,
            allow_extra_args=True,
        ) as context:
            given = {key: text for key, text in context.params.items() if isinstance(text, str)}
            found = {**given, **found}
    return found


def is_group(names: Sequence[str]) -> bool:
    """Whether `names` lead to a group of commands, and to none of them: help is the answer then."""
    level: typer.Typer | None = app
    for name in names:
        groups = level.registered_groups if level else []
        level = next((group.typer_instance for group in groups if group.name == name), None)
    return level is not None


def render_help() -> str:
    """Return the top-level help, 80 columns wide."""
    command = typer.main.get_command(app)
    with command.make_context("runner", [], resilient_parsing=True, terminal_width=80) as context:
        return command.get_help(context) + "\n"
