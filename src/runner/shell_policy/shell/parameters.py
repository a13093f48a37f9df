"""`$name` and `${…}`: what each form can yield, and what it evaluates on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.limits import ShellParseError
from runner.shell_policy.shell.values import (
    EMPTY,
    NUMBER,
    UNKNOWN,
    UNKNOWN_LIST,
    Value,
    any_item,
    as_list,
    join,
    list_of,
    one_of,
    shaped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell.nodes import Variable, WordNode
    from runner.shell_policy.shell.ports import Host, WordExpander

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PATTERN = re.compile(r"[*?\[\]\\@+!(]")
_DIGITS_ONLY = re.compile(r"\[[\^!]0-9\]/?")


def evaluate(part: Variable, host: Host, expander: WordExpander) -> Value:
    """The value of an expansion; everything nested in it is visited."""
    value = _element(part, host, expander)
    operator = part.operator
    if not operator:
        return value
    if operator in _SIMPLE:
        return _SIMPLE[operator](part, value)
    if operator[-1] in "-=?+":
        return _conditional(part, value, host, expander)
    if operator == ":":
        expander.arithmetic(part.operands[0])
        return _sliced(part, value) if value.many else _derived(value)
    if operator[0] == "@":
        return _transformed(operator, value)
    operand = expander.single(part.operands[0])
    return _edited(part, value, operand)


def _element(part: Variable, host: Host, expander: WordExpander) -> Value:
    """The variable's value with the subscript applied."""
    value = host.environment.lookup(part.name)
    if part.subscript is None:
        if part.name == "@" or (part.name == "*" and not part.quoted):
            return value if value.many else UNKNOWN_LIST
        if part.name == "*":
            return UNKNOWN
        return any_item(value)
    whole = part.subscript.source
    if whole in ("@", "*"):
        listed = value if value.many else as_list(value, None)
        return listed if whole == "@" or not part.quoted else UNKNOWN
    check_subscript(part.subscript, value, expander)
    return any_item(value)


def check_subscript(subscript: WordNode, value: Value, expander: WordExpander) -> None:
    """Visit a subscript: a key of an associative array, else arithmetic."""
    if value.assoc:
        expander.single(subscript)
    else:
        expander.arithmetic(subscript)


def _indirect(part: Variable, value: Value) -> Value:
    names = any_item(value).choices
    if part.subscript is not None or not names or not all(map(_IDENTIFIER.fullmatch, names)):
        _refuse("An indirect expansion `${!…}`")
    return UNKNOWN


def _keys(_part: Variable, value: Value) -> Value:
    if value.assoc:
        return UNKNOWN_LIST
    return as_list(NUMBER, None)


_SIMPLE: dict[str, Callable[[Variable, Value], Value]] = {
    "len": lambda _part, _value: NUMBER,
    "keys": _keys,
    "names": lambda _part, _value: UNKNOWN_LIST,
    "!": _indirect,
}


def _conditional(part: Variable, value: Value, host: Host, expander: WordExpander) -> Value:
    operand = expander.single(part.operands[0])
    kind = part.operator[-1]
    if kind == "?":
        return value
    if kind == "+":
        return join(operand, EMPTY)
    known = value.choices is not None and all(value.choices) and not value.many
    if known:
        return value
    if kind == "=":
        host.assigned(part.name, join(any_item(value), operand), part.operands[0].source)
    if value.choices == ("",):
        return operand
    return join(value, operand)


def _sliced(part: Variable, value: Value) -> Value:
    """`${@:2}` and `${array[@]:1}`."""
    start = part.operands[0].source.strip()
    if part.name == "@" and (not start.isdecimal() or start == "0"):
        # Offset 0 is the name of the shell.
        return UNKNOWN_LIST
    if value.items is None or not start.isdecimal():
        return as_list(any_item(value), None)
    return list_of(list(value.items[int(start) - (part.name == "@") :]), assoc=value.assoc)


def _derived(value: Value) -> Value:
    """A part of the value, or a text made from it that adds nothing new."""
    value = any_item(value)
    return Value(numeric=value.numeric, signed=value.signed, safe=value.safe, nospace=value.nospace)


def _transformed(operator: str, value: Value) -> Value:
    if operator == "@P":
        _refuse("The prompt expansion `${…@P}`")
    if value.many:
        return UNKNOWN_LIST
    if operator in ("@U", "@u", "@L"):
        return _derived(value)
    return UNKNOWN


def _edited(part: Variable, value: Value, operand: Value) -> Value:
    """`#`, `%`, `/`, `^`, `,` and their doubled forms."""
    source = part.operands[0].source
    if value.many:
        return as_list(_edited(part, any_item(value), operand), None)
    if part.operator == "//" and _DIGITS_ONLY.fullmatch(source):
        return Value(numeric=True, safe=True, nospace=True)
    edit = _exact_edit(part.operator, source, operand)
    if edit is not None and value.choices is not None and all(map(str.isascii, value.choices)):
        return one_of([edit(text) for text in value.choices])
    forms = _edited_shape(part.operator, source, operand, value)
    if forms is not None:
        stays = all(shapes.stays(text, part.operator, source) for text in forms)
        return shaped(forms, nonempty=value.nonempty and stays)
    safe = value.safe and (operand.safe or part.operator[0] in "#%^,")
    kept = _derived(value)
    return Value(
        numeric=kept.numeric and part.operator[0] in "#%",
        signed=kept.signed,
        safe=safe,
        nospace=kept.nospace and operand.nospace,
    )


def _edited_shape(operator: str, source: str, operand: Value, value: Value) -> shapes.Shapes:
    """The same for a text with holes, where it is certain what is taken away."""
    if value.shapes is None:
        return None
    if (operator, source) == ("##", "*/"):
        return shapes.last_part(value.shapes)
    if operator[0] not in "#%" or operand.choices is None or len(operand.choices) != 1:
        return None
    if (operator, source) == ("%", ".*"):
        return _without_ending(value.shapes)
    if _PATTERN.search(source):
        return None
    return shapes.edited(operator, operand.choices[0], value.shapes)


def _without_ending(forms: tuple[str, ...]) -> shapes.Shapes:
    """`${x%.*}` where the last dot stands in the fixed text at the end."""
    tails = [shapes.HOLE.split(text)[-1] for text in forms]
    if not all("." in tail and "/" not in tail for tail in tails):
        return None
    return tuple(text.rpartition(".")[0] for text in forms)


def _behind_first(text: str, mark: str) -> str:
    return text.partition(mark)[2] if mark in text else text


def _before_last(text: str, mark: str) -> str:
    return text.rpartition(mark)[0] if mark in text else text


# `${x%%:*}`, `${x##*/}`: one plain character, and all that is before or behind it.
_CUTS: dict[str, tuple[re.Pattern[str], Callable[[str, str], str]]] = {
    "#": (re.compile(r"\*([.:/=,@_-])"), _behind_first),
    "##": (re.compile(r"\*([.:/=,@_-])"), lambda text, mark: text.rpartition(mark)[2]),
    "%": (re.compile(r"([.:/=,@_-])\*"), _before_last),
    "%%": (re.compile(r"([.:/=,@_-])\*"), lambda text, mark: text.partition(mark)[0]),
}


def _exact_edit(operator: str, source: str, operand: Value) -> Callable[[str], str] | None:
    """The edit as a function of the text, where the pattern is simple enough to be exact."""
    cut = _CUTS.get(operator)
    separated = cut and cut[0].fullmatch(source)
    if cut and separated:
        return lambda text: cut[1](text, separated[1])
    if operator in ("^^", ",,") and not source:
        return str.upper if operator == "^^" else str.lower
    if operand.choices is None or len(operand.choices) != 1 or _PATTERN.search(source):
        return None
    fixed = operand.choices[0]
    if operator in ("#", "##"):
        return lambda text: text.removeprefix(fixed)
    if operator in ("%", "%%"):
        return lambda text: text.removesuffix(fixed)
    return None


def _refuse(what: str) -> NoReturn:
    raise ShellParseError(
        f"{what} is not understood.", hint="Use the variable itself, or a `case` over names."
    )
