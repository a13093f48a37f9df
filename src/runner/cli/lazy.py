"""A group whose further commands are imported and built only when they are asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

_SECTION = "Control plane"
_SHORT_HELP = 60


class RootGroup(TyperGroup):
    """The commands of `runner`, and those of the control plane in a section of their own."""

    lazy: ClassVar[Mapping[str, str]] = {
        "session": "runner.cli.control.session:session",
        "step": "runner.cli.control.step:step",
        "review": "runner.cli.control.review:review",
        "task": "runner.cli.control.task:task",
        "journal": "runner.cli.control.journal:journal",
        "capabilities": "runner.cli.control.capabilities:capabilities",
    }
    """Names, and where the Typer application of each is."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *self.lazy]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.lazy[cmd_name].partition(":")
        return typer.main.get_command(getattr(import_module(module), name))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [
            (name, self.get_command(ctx, name).get_short_help_str(_SHORT_HELP))
            for name in self.list_commands(ctx)
        ]
        width = max(len(name) for name, _ in rows)
        own = len(rows) - len(self.lazy)
        for title, part in (("Commands", rows[:own]), (_SECTION, rows[own:])):
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in part])
