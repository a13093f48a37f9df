"""Names: what a command may name as a variable to set, and what no function may be called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell import outputs
from runner.shell_policy.shell.limits import ShellParseError
from runner.shell_policy.shell.values import Value, any_item

if TYPE_CHECKING:
    from collections.abc import Iterable

_TARGET = re.compile(r"([A-Za-z_]\w*)(?:\[(?:-?[0-9]+|[A-Za-z_]\w*|@|\*)\])?", re.ASCII)
_POSITIONAL = re.compile(r"[0-9]+|[@*#?$!-]")

_FOLLOWED = frozenset(
    [
        "cd",
        "pushd",
        "popd",
        "read",
        "mapfile",
        "readarray",
        "getopts",
        "printf",
        "declare",
        "typeset",
        "local",
        "export",
        "readonly",
        "unset",
        "let",
        "wait",
        "set",
        "shift",
        "shopt",
        "eval",
        "trap",
        "source",
        ".",
        "test",
        "[",
        "command",
        "builtin",
        "exec",
        "exit",
        "return",
        "break",
        "continue",
        "true",
        "false",
        ":",
        "alias",
        "unalias",
        "enable",
        "hash",
        "bash",
        "sh",
        "env",
        "command_not_found_handle",
    ]
)


def check_target(value: Value, source: str) -> list[str]:
    """The variables that a command names as its targets.

    Raises:
        ShellParseError: the name is not known, or its subscript could run code.
    """
    choices = any_item(value).choices
    found = [_TARGET.fullmatch(text) for text in choices or ()]
    names = [match[1] for match in found if match is not None]
    if not names or len(names) != len(found):
        raise ShellParseError(
            f"`{source[:60]}` does not name a variable plainly.",
            hint="Write the variable's name literally, without an evaluated subscript.",
        )
    return names


def check_tested(value: Value, source: str) -> None:
    """The same for `-v`, which may also ask for a positional parameter."""
    choices = value.choices
    if choices is None or not all(map(_POSITIONAL.fullmatch, choices)):
        check_target(value, source)


def refuse_modelled(name: str) -> None:
    """Refuse a function that hides a command whose effect the walk relies on."""
    if name in _FOLLOWED or name in outputs.MODELLED:
        raise ShellParseError(
            f"A function takes the name of the command `{name}`.",
            hint="Give the function another name.",
        )


def refuse_all_modelled(names: Iterable[str]) -> None:
    for name in names:
        refuse_modelled(name)
