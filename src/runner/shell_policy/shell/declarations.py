"""`declare`, `local`, `export`, `readonly`, `typeset`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellAssignment
from runner.shell_policy.shell.names import check_target
from runner.shell_policy.shell.nodes import Assign
from runner.shell_policy.shell.values import (
    EMPTY,
    UNKNOWN,
    Value,
    any_item,
    as_list,
    join,
    literal,
    shaped,
)

if TYPE_CHECKING:
    from runner.shell_policy.shell.call import ShellCall

_HINT = "Declare plain names with plain values, as in `export NAME=value`."


def declare(call: ShellCall) -> None:
    """Follow a declaration; what it names and how it changes them must be certain."""
    attributes = _attributes(call)
    if "f" in attributes or "F" in attributes:
        return
    if "n" in attributes and call.name != "export":
        call.refuse("name references are not understood", "Use the variable itself.")
    assigns = {word.source: word for word in call.command.words if isinstance(word, Assign)}
    if assigns and len(call.command.words) - 1 - call.prefixed == len(call.args):
        _by_node(call, attributes)
        return
    for value in call.args:
        _by_text(call, value, attributes)


def _attributes(call: ShellCall) -> str:
    """The option letters; they end up removed from the arguments."""
    letters = ""
    for value in call.args:
        texts = value.choices
        if texts is None and value.prefix[:1] in ("", "-"):
            call.refuse("an argument is not known", _HINT)
        for text in texts or ():
            if text.startswith(("-", "+")):
                letters += text[1:]
    return letters


def _by_node(call: ShellCall, attributes: str) -> None:
    words = call.command.words[1 + call.prefixed :]
    for word, value in zip(words, call.args, strict=True):
        if not isinstance(word, Assign):
            _by_text(call, value, attributes)
            continue
        _prepare(call, word.name, attributes)
        old = call.walk.environment.lookup(word.name)
        if word.items is not None or word.subscript is not None:
            new = call.walk.value_of(word)
        else:
            # What was expanded for the argument is taken, not expanded once more.
            new = _without_name(value, word.source.partition("=")[0] + "=")
        _check_evaluated(call, word.name, new, attributes, listed=word.items is not None)
        if _may_fail(call):
            new = join(old, new)
        new = call.walk.environment.assign(word.name, new, append=word.append)
        subscript = word.subscript.source if word.subscript is not None else None
        call.assignments.append(
            ShellAssignment(word.name, any_item(new).word(word.source), subscript)
        )


def _without_name(value: Value, head: str) -> Value:
    if value.shapes is not None and all(text.startswith(head) for text in value.shapes):
        forms = tuple(text[len(head) :] for text in value.shapes)
        if forms in ((shapes.DIGITS,), (shapes.SIGNED,)):
            return Value(numeric=True, safe=True, signed=forms == (shapes.SIGNED,))
        return shaped(forms)
    if value.choices is None:
        rest = value.prefix[len(head) :]
        return Value(prefix=rest, safe=value.safe)
    return _known([text[len(head) :] for text in value.choices])


def _known(texts: list[str]) -> Value:
    value = literal(texts[0])
    for text in texts[1:]:
        value = join(value, literal(text))
    return value


def _by_text(call: ShellCall, value: Value, attributes: str) -> None:
    """An argument that is an ordinary word: an option, `name`, or `name=value`."""
    if value.splits or (value.choices is None and "=" not in value.prefix):
        call.refuse("an argument is not known", _HINT)
    texts = value.choices if value.choices is not None else (value.prefix,)
    for text in texts:
        if text.startswith(("-", "+")):
            continue
        head, equals, rest = text.partition("=")
        for name in check_target(literal(head.removesuffix("+")), call.command.source):
            _prepare(call, name, attributes)
            if not equals:
                _declared(call, name, attributes)
                continue
            new = literal(rest) if value.choices is not None else Value(prefix=rest)
            _check_evaluated(call, name, new, attributes, listed=False)
            certain = len(texts) == 1 and not _may_fail(call) and not head.endswith("+")
            call.set(name, new if certain else join(call.walk.environment.lookup(name), UNKNOWN))


def _may_fail(call: ShellCall) -> bool:
    """`local` outside a function is an error that changes nothing."""
    environment = call.walk.environment
    return call.name == "local" and (not environment.functions or environment.trapping > 0)


def _declared(call: ShellCall, name: str, attributes: str) -> None:
    """A name without a value: kept, except that `local` and attributes may empty it."""
    environment = call.walk.environment
    old = environment.lookup(name)
    if "A" in attributes or "a" in attributes:
        fresh = name not in environment.state.variables
        element = EMPTY if fresh and not environment.functions else any_item(old)
        assoc = "A" in attributes and not environment.functions
        call.set(name, as_list(element, None, assoc=assoc))
    elif call.name in ("local", "declare", "typeset") and environment.functions:
        call.set(name, join(old, EMPTY))
    else:
        call.assignments.append(ShellAssignment(name, any_item(old).word(call.command.source)))


def _prepare(call: ShellCall, name: str, attributes: str) -> None:
    environment = call.walk.environment
    if "r" in attributes or call.name == "readonly":
        # A later assignment fails, and the value stays.
        environment.knowledge.add(environment.knowledge.volatile, name)
    if "i" in attributes:
        environment.knowledge.add(environment.knowledge.integers, name)
    if "A" in attributes and not environment.functions and name not in environment.state.variables:
        environment.assign(name, as_list(EMPTY, None, assoc=True))


def _check_evaluated(
    call: ShellCall, name: str, value: Value, attributes: str, *, listed: bool
) -> None:
    """Bash evaluates a text in parentheses as a list when the variable is an array."""
    if listed:
        return
    element = any_item(value)
    array = "a" in attributes or "A" in attributes or call.walk.environment.lookup(name).many
    if element.choices is not None:
        evaluated = any(text.lstrip().startswith("(") for text in element.choices)
    else:
        evaluated = array and not element.safe and element.prefix[:1] in ("", "(")
    if evaluated:
        call.refuse("a text that may be evaluated as a list", _HINT)
