"""`runner config show`."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import typer

from runner.cli.help_text import help_text
from runner.cli.options import AsJson, takes
from runner.cli.run import unread
from runner.config.options import RUN_OPTIONS
from runner.config.resolve import Chosen
from runner.text.output import Output
from runner.text.safe import inert, json_text

HELP = help_text(
    "Show what a run would be configured with, and where it comes from.",
    ("runner config show", "every option, and what the files add"),
)

SHOW_HELP = help_text(
    "Show every option with its value and origin, and what the files add.",
    ("runner config show", "of the current folder's project"),
    ("runner config show -p ../app --max-cost 5", "with these options given"),
    ("runner config show --json", "one JSON object, for programs"),
    details="The command line goes before the environment, that before .runner/runner.toml, and "
    "that before the default. Nothing is written; secrets of MCP servers are not shown. What "
    "would stop a run is an error here, too: exit code 2.",
)

config = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


@config.command("show", help=SHOW_HELP)
@takes(*RUN_OPTIONS)
def show(chosen: Chosen, *, as_json: AsJson = False) -> None:
    """Show the configuration of a project."""
    from runner.config.report import configuration_report  # noqa: PLC0415 - pydantic is slow

    interactive = Output(sys.stdout).is_terminal()
    report = configuration_report(chosen, RUN_OPTIONS, os.environ, interactive=interactive)
    if as_json:
        typer.echo(json_text(_knowing(report)))
        return
    for line in _lines(_knowing(report)):
        typer.echo(line)


def _knowing(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report without complaints about variables that other commands read."""
    return {**report, "unknown_variables": unread(report["unknown_variables"])}


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield from _options(report["options"])
    file, agent = report["runner_toml"], report["agent_json"]
    yield from _in_force(report["in_force"])
    yield from _section("Thinking", tuple(report["thinking"].items()))
    yield from _section(
        _title(file),
        (
            ("feature_flags", file["feature_flags"]),
            *(
                (name, _said(file[name]))
                for name in ("posture", "verification", "budget", "notify", "environment")
            ),
        ),
    )
    yield from _section(
        _title(agent),
        (
            ("profiles", agent["profiles"]),
            *((f"commands.{tier}", names) for tier, names in agent["commands"].items()),
            *(
                (name, agent[name])
                for name in ("pkill_targets", "permissions", "permissions_without_effect", "tools")
            ),
            *((f"mcp_servers.{name}", server) for name, server in agent["mcp_servers"].items()),
        ),
    )
    yield from _section("Instruction overrides", (("files", report["instructions"]),))
    for name, hint in report["unknown_variables"].items():
        yield ""
        yield inert(f"Nothing reads the variable {name}. {hint}")


def _options(options: dict[str, dict[str, Any]]) -> Iterator[str]:
    shown = {name: _shown(setting["value"]) for name, setting in options.items()}
    name_width = max(map(len, options))
    # A long path would push every origin out of sight.
    value_width = min(max(map(len, shown.values())), 24)
    for name, setting in options.items():
        yield f"{name:<{name_width}}  {shown[name]:<{value_width}}  {setting['origin']}"


def _in_force(found: dict[str, Any]) -> Iterator[str]:
    yield ""
    settings = {"posture": found["posture"], "role": found["role"], **found["feature_flags"]}
    yield from _options(settings)
    for warning in found["warnings"]:
        yield inert(f"Warning: {warning}")


def _section(title: str, entries: tuple[tuple[str, Any], ...]) -> Iterator[str]:
    yield ""
    yield title
    filled = [(name, value) for name, value in entries if value]
    if not filled:
        yield "  none"
    for name, value in filled:
        yield f"  {name}: {_shown(value)}"


def _title(file: dict[str, Any]) -> str:
    return inert(file["path"]) + ("" if file["exists"] else " (there is none)")


def _said(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value not in (None, [])}


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(_shown(entry) for entry in value)
    if isinstance(value, dict):
        return inert(json.dumps(value, ensure_ascii=False))
    return inert(str(value))
