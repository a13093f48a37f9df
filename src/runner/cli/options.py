"""Give commands the options that `config.catalogue` declares, resolved (CONTRACT §1)."""

import inspect
import os
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from runner.config.kinds import Kind
from runner.config.option import Option
from runner.config.resolve import Chosen, choose

Command = Callable[..., None]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def takes(*options: Option[Any]) -> Callable[[Command], Command]:
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


def _parameters(
    own: inspect.Signature, options: tuple[Option[Any], ...]
) -> Iterator[inspect.Parameter]:
    """Put the options where the command's own signature has `chosen`."""
    for parameter in own.parameters.values():
        if parameter.annotation is Chosen:
            yield from map(_parameter, options)
        else:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parameter(option: Option[Any]) -> inspect.Parameter:
    info = typer.Option(
        *option.declarations,
        metavar=option.metavar or option.kind.metavar or None,
        autocompletion=names_of(option.kind) if option.kind.names else None,
        help=f"{option.help} {_origins(option)}",
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


def _origins(option: Option[Any]) -> str:
    default = option.default_shown or ("" if option.is_flag else str(option.default))
    shown = f"; default: {default}" if default else ""
    return f"[env var: {option.variable}{shown}]"
