"""The entry to the analysis."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from runner.shell_policy.shell.compound import parse
from runner.shell_policy.shell.facts import ShellScript
from runner.shell_policy.shell.limits import (
    MAX_BYTES,
    MAX_PASSES,
    WIDEN_AFTER,
    AnalysisBudget,
    ShellParseError,
)
from runner.shell_policy.shell.names import refuse_all_modelled
from runner.shell_policy.shell.state import Knowledge, State
from runner.shell_policy.shell.values import Value, list_of
from runner.shell_policy.shell.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.shell_policy.shell.facts import ShellWord

_SPLIT_UP = "Split it into several smaller commands, or put it in a file."
_NOTHING: Mapping[str, str] = MappingProxyType({})


def analyse(
    text: str,
    *,
    variables: Mapping[str, str] = _NOTHING,
    cwds: tuple[str, ...] | None = (".",),
    scope: Mapping[str, object] | None = None,
    arguments: tuple[ShellWord, ...] | None = None,
) -> ShellScript:
    """Find every command that bash could run when it is given `text`.

    Args:
        text: the script, exactly as bash would get it.
        variables: environment variables whose value is certain (`HOME`, `PWD`, …).
        cwds: the directories it may start in, relative to the project or absolute.
        scope: for text that a command of another script makes a shell run (`bash -c`, a script
            on standard input): that command's `scope`.
        arguments: the positional parameters from `$1` on, when they are told (`bash -c TEXT NAME
            ARGUMENT …`).

    Raises:
        ShellParseError: the text is not positively understood, or evaluates data as code.
    """
    try:
        return _analyse(text, dict(variables), cwds, _inherited(scope or {}, arguments))
    except RecursionError:
        raise ShellParseError("The command is nested too deeply.", hint=_SPLIT_UP) from None


def tainted(scope: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """The scope with variables that something else (`env`, a wrapper) sets to unknown values."""
    return {**scope, **{name: Value() for name in names}}


def _analyse(
    text: str,
    variables: dict[str, str],
    cwds: tuple[str, ...] | None,
    inherited: dict[str, Value],
) -> ShellScript:
    _check_text(text)
    functions: set[str] = set()
    tree = parse(text, AnalysisBudget(), functions)
    knowledge = Knowledge()
    for name in inherited:
        variables.pop(name, None)
    refuse_all_modelled(functions)
    for number in range(MAX_PASSES):
        knowledge.changed = False
        knowledge.widen = number >= WIDEN_AFTER
        for name, value in inherited.items():
            knowledge.note(name, value)
        known = len(functions)
        walk = Walk(knowledge, State(dict(inherited), cwds, errexit=False), variables, functions)
        walk.sequence(tree)
        if len(functions) == known and not (knowledge.changed and _order_matters(walk, knowledge)):
            if knowledge.unvisited and not knowledge.settled:
                knowledge.settled = True
                continue
            refuse_all_modelled(functions)
            walk.calls.refuse_storm()
            return ShellScript(tuple(walk.commands), walk.calls.certain(), tuple(walk.compared))
    raise ShellParseError("The command is too intricate to follow.", hint=_SPLIT_UP)


def _inherited(
    scope: Mapping[str, object], arguments: tuple[ShellWord, ...] | None
) -> dict[str, Value]:
    """The variables that a nested shell finds."""
    found = {
        name: Value(safe=value.safe, many=name == "@")
        for name, value in scope.items()
        if isinstance(value, Value)
    }
    if arguments is not None:
        found["@"] = list_of([Value.of(word) for word in arguments])
    return found


def _order_matters(walk: Walk, knowledge: Knowledge) -> bool:
    """Whether any part of the walk looked at what is known of the whole script."""
    return bool(
        walk.functions
        or knowledge.volatile
        or knowledge.loop_variables
        or knowledge.loop_moves
        or knowledge.flags
        or knowledge.integers
    )


def _check_text(text: str) -> None:
    if len(text) > MAX_BYTES:
        raise ShellParseError("The command is too long.", hint=_SPLIT_UP)
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise ShellParseError(
            "The command is not valid Unicode.", hint="Remove the character.", position=error.start
        ) from None
    if size > MAX_BYTES:
        raise ShellParseError("The command is too long.", hint=_SPLIT_UP)
