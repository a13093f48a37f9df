"""Give commands the options that `runner.config.options` declares, resolved."""

import inspect
import os
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from runner.config.kinds import Kind
from runner.config.options import Option
from runner.config.resolve import Chosen, choose

Command = Callable[..., None]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def takes(*options: Option) -> Callable[[Command], Command]:
    """Decorate a Typer command that takes these options, besides those of its own.

    The command gets their values as its parameter `chosen`. Typer itself knows neither
    environment nor defaults of them: there is one place where a value is decided.
    """

    def decorate(function: Command) -> Command:
        own = inspect.signature(function, eval_str=True)

        def command(**given: Any) -> None:
            values = {option.key: given.pop(option.key) for option in options}
            function(chosen=choose(options, values, os.environ), **given)

        parameters = list(_parameters(own, options))
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # read by inspect
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _parameters(own: inspect.Signature, options: tuple[Option, ...]) -> Iterator[inspect.Parameter]:
    """Put the options where the command's own signature has `chosen`."""
    for parameter in own.parameters.values():
        if parameter.annotation is Chosen:
            yield from map(_parameter, options)
        else:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parameter(option: Option) -> inspect.Parameter:
    info = typer.Option(
        *option.declarations,
        metavar=option.metavar or option.kind.metavar or None,
        autocompletion=names_of(option.kind) if option.kind.names else None,
        help=f"{option.help} {_origins(option)}",
        rich_help_panel=option.group or None,
        show_default=False,
    )
    return inspect.Parameter(
        option.key,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[option.kind.annotation | None, info],
    )


def names_of(kind: Kind[Any]) -> Callable[[str], list[str]]:
    """Return what a shell completes a value of this kind to."""
    # Typer tells by its name what a parameter stands for.
    return lambda incomplete: [name for name in kind.names if name.startswith(incomplete)]


class GroupedCommand(TyperCommand):
    """A command whose help lists the options in the groups of their declarations."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group, in the order of the first options of each."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None:
                group = getattr(parameter, "rich_help_panel", None) or "Options"
                groups.setdefault(group, []).append(row)
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)


def _origins(option: Option) -> str:
    default = option.default_shown or ("" if option.is_flag else str(option.default))
    shown = f"; default: {default}" if default else ""
    return f"[env var: {option.variable}{shown}]"
