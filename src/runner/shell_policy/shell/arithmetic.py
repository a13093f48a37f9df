"""Arithmetic: bash evaluates names and subscripts in it, so only numbers may reach it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from runner.shell_policy.shell import facts
from runner.shell_policy.shell.limits import ShellParseError
from runner.shell_policy.shell.nodes import Arithmetic, Literal, Part, Variable, WordNode
from runner.shell_policy.shell.values import SIGNED, Value, any_item, join

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell.ports import Host

_TEXT = re.compile(r"[\w \t\n+\-*/%<>=!&|^~?:,;\[\]()#@.]*", re.ASCII)
_NAME = re.compile(r"(?<![\w#@.])([A-Za-z_]\w*)", re.ASCII)
_NAME_AT_END = re.compile(r"(?<![\w#@.])[A-Za-z_]\w*\Z", re.ASCII)
_ASSIGNS_AFTER = re.compile(r"\s*(?:\[[^\]]*\])?\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
_CONDITIONAL = re.compile(r"[;?&|()]")
_AT_START = re.compile(r"(?:\A|,)\s*(?:\+\+|--)?\s*\Z")
_ASSIGNS_BEFORE = re.compile(r"(?:\+\+|--)\s*\Z")


def check(word: WordNode, host: Host, evaluate: Callable[[Part], Value]) -> None:
    """Visit an expression and note what it assigns.

    Raises:
        ShellParseError: a value in it may not be a number.
    """
    text = ""
    host.compared.append(facts.ShellWord(None, source=word.source))
    for part in word.parts:
        if isinstance(part, Literal):
            text += part.text
            continue
        value = any_item(evaluate(part))
        if not (value.safe or value.numeric):
            _refuse(_source(part))
        if _NAME_AT_END.search(text):
            _refuse(word.source)
        text += "0"
    if _TEXT.fullmatch(text) is None:
        _refuse(word.source)
    _check_names(text, word.source, host)


def _check_names(text: str, source: str, host: Host) -> None:
    conditional = _CONDITIONAL.search(text)
    certain = len(text) if conditional is None else conditional.start()
    for match in _NAME.finditer(text):
        name = match[1]
        value = any_item(host.environment.lookup(name))
        if not value.safe:
            _refuse(name)
        host.compared.append(facts.ShellWord(None, source=f"${name}"))
        start = match.start()
        before = text[start - 8 : start] if start > 8 else text[:start]
        if _ASSIGNS_AFTER.match(text, match.end()) or _ASSIGNS_BEFORE.search(before):
            first = match.start() < certain and _AT_START.search(before) is not None
            host.assigned(name, SIGNED if first else join(value, SIGNED), source)


def check_text(text: str, host: Host) -> None:
    """The same for a text that is known."""
    if _TEXT.fullmatch(text) is None:
        _refuse(text)
    _check_names(text, text, host)


def _source(part: Part) -> str:
    if isinstance(part, Variable):
        return part.name
    return "$((…))" if isinstance(part, Arithmetic) else "$(…)"


def _refuse(what: str) -> NoReturn:
    raise ShellParseError(
        f"`{what[:60]}` is used in arithmetic but may not be a number; "
        "bash would run code hidden in it.",
        hint='Use `[ "$x" -gt 0 ]` for comparisons, or take the number from `wc -l <file`, '
        "`grep -c` or `${x//[^0-9]/}`.",
    )
