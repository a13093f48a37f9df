"""`runner completion`: the script that makes a shell complete commands and options."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.completion import show_callback
from typer.main import get_install_completion_arguments

from runner.cli.help_text import help_text
from runner.errors import UsageError

VARIABLE = "_RUNNER_COMPLETE"
"""With this in the environment a shell asks what fits; the scripts below set it."""


class CompletionShell(StrEnum):
    """The shells there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


HELP = help_text(
    "Print the script that completes commands and options in a shell.",
    ('eval "$(runner completion bash)"', "try it in this shell"),
    ("runner completion bash >> ~/.bashrc", "install it for bash"),
    ("runner completion zsh >> ~/.zshrc", "for zsh, after compinit"),
    ("runner completion fish > ~/.config/fish/completions/runner.fish", "for fish"),
    details="A new shell has it then. Nothing is written but the script to stdout; without a name the "
    "script is that of $SHELL.",
)

Wanted = Annotated[
    CompletionShell | None,
    typer.Argument(help="The shell; default: that of $SHELL.", show_default=False),
]


def completion(context: typer.Context, shell: Wanted = None) -> None:
    """Print a completion script."""
    chosen = shell or _users_shell(os.environ.get("SHELL", ""))
    show_callback(context, context.command.params[0], chosen.value)


def make_ready() -> None:
    """Let Typer answer a shell that asks what fits.

    Typer does so only for programs with its own two options, which stand on every help page.
    """
    get_install_completion_arguments()


def _users_shell(path: str) -> CompletionShell:
    name = Path(path).name
    if name in list(CompletionShell):
        return CompletionShell(name)
    raise UsageError(
        "Which shell is it for? $SHELL does not say." if not name else f"There is none for {name}.",
        hint=f"Name one: runner completion {'|'.join(CompletionShell)}",
    )
