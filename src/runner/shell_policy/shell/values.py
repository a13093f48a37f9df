"""What is known about a string without running anything: a small lattice with a join."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.shell.limits import MAX_CHOICES, MAX_VALUE

if TYPE_CHECKING:
    from runner.shell_policy.shell.shapes import Shapes

_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]+(?:#[0-9a-zA-Z]+)?|0[xX][0-9a-fA-F]+)?\s*")
_INTEGER = re.compile(r"-?[0-9]+")
_SPACE = re.compile(r"[ \t\n]")
# Digits behind a name in /tmp lead nowhere else, be they empty (`/tmp/run-$$.log`).
_NAME_IN_TMP = re.compile(r"/tmp/(?:[\w.-]+/)*[\w.-]*[A-Za-z0-9_-]", re.ASCII)  # noqa: S108
UNSEEN = "\ue000"
"""Characters of a name that can't be known; no exact edit looks into a text that holds it."""

FRESH = "\ue001"
"""Ends the name that mktemp gave: what stands before is lost when mktemp fails."""


class Value:
    """An abstract string, or a list of them.

    Attributes:
        choices: all it can be, or None.
        prefix: what it certainly begins with.
        numeric: decimal digits (or empty); `signed`: a minus may come first.
        safe: as arithmetic it can't run code or read a variable (a number, or empty), or it
            comes from the environment we were started with.
        nospace: it holds no blank or line feed; `nonempty`: it is not empty.
        items: the exact elements when it is an array or `$@` that is fully known.
        many: an array: in quotes with `[@]` it becomes any number of words.
        assoc: an associative array.
        glob, splits: as in `facts.Word`, for the fields of a command.
        shapes: when there are no choices, texts with holes (`shapes`) one of which it fits.
    """

    __slots__ = (
        "assoc",
        "choices",
        "glob",
        "items",
        "many",
        "nonempty",
        "nospace",
        "numeric",
        "prefix",
        "safe",
        "shapes",
        "signed",
        "splits",
    )

    def __init__(
        self,
        choices: tuple[str, ...] | None = None,
        *,
        prefix: str = "",
        numeric: bool = False,
        signed: bool = False,
        safe: bool = False,
        nospace: bool = False,
        nonempty: bool = False,
        items: tuple[Value, ...] | None = None,
        many: bool = False,
        assoc: bool = False,
        glob: bool = False,
        splits: bool = False,
        shapes: Shapes = None,
    ) -> None:
        self.choices = choices
        self.prefix = prefix
        self.numeric = numeric
        self.signed = signed
        self.safe = safe
        self.nospace = nospace
        self.nonempty = nonempty
        self.items = items
        self.many = many
        self.assoc = assoc
        self.glob = glob
        self.splits = splits
        self.shapes = shapes

    @classmethod
    def of(cls, word: ShellWord) -> Value:
        """What is known of a word of another shell's command."""
        return cls(
            word.choices, prefix=word.prefix, glob=word.glob, splits=word.splits,
            numeric=word.numeric, signed=word.signed, shapes=word.shapes or None,
        )  # fmt: skip

    def key(self) -> tuple[object, ...]:
        """What two equal values have in common, for fixpoints."""
        items = None if self.items is None else tuple(item.key() for item in self.items)
        return (self.choices, self.prefix, self.numeric, self.signed, self.safe, self.nospace,
                self.nonempty, items, self.many, self.assoc, self.shapes)  # fmt: skip

    def forms(self) -> Shapes:
        """The texts, with holes or without, one of which it certainly fits; None if unknown."""
        if self.numeric and self.choices is None:
            return (shapes.SIGNED,) if self.signed else (shapes.DIGITS,)
        return self.shapes if self.choices is None else shapes.plain(self.choices)

    def forms_beside(self) -> Shapes:
        """The same beside other text, where it matters that a program may have printed nothing."""
        forms = self.forms()
        if forms is None or self.choices is not None or self.nonempty:
            return forms
        return forms if shapes.all_may_be_empty(forms) else (*forms, "")

    def word(self, source: str) -> ShellWord:
        return ShellWord(
            self.choices,
            "" if self.splits else self.prefix,
            self.numeric,
            self.glob,
            self.splits,
            source,
            self.signed,
            self.shapes if self.choices is None and self.shapes is not None else (),
        )


def shaped(forms: Shapes, *, nospace: bool = False, nonempty: bool = False) -> Value:
    """A value that fits one of these texts with holes; unknown when there are none."""
    if forms is None:
        return UNKNOWN
    return Value(
        prefix=common_prefix(tuple(map(shapes.beginning, forms))),
        nospace=nospace,
        nonempty=nonempty,
        shapes=forms,
    )


def literal(text: str) -> Value:
    return Value(
        (text,),
        prefix=text,
        safe=_NUMBER.fullmatch(text) is not None,
        nospace=_SPACE.search(text) is None,
        nonempty=bool(text),
    )


def one_of(texts: list[str]) -> Value:
    """A value that is one of these; unknown when they are too many."""
    unique = tuple(dict.fromkeys(texts))
    if len(unique) == 1:
        return literal(unique[0])
    numeric = all(_INTEGER.fullmatch(text) for text in unique)
    few = len(unique) <= MAX_CHOICES and sum(map(len, unique)) <= MAX_VALUE
    return Value(
        unique if few else None,
        prefix=common_prefix(unique),
        numeric=numeric and not few,
        signed=numeric and not few and any(text.startswith("-") for text in unique),
        safe=all(_NUMBER.fullmatch(text) for text in unique),
        nospace=not any(_SPACE.search(text) for text in unique),
        nonempty=all(unique),
    )


def common_prefix(texts: tuple[str, ...]) -> str:
    low, high = min(texts), max(texts)
    for index, char in enumerate(low):
        if index >= len(high) or high[index] != char:
            return low[:index]
    return low


EMPTY = literal("")
UNKNOWN = Value()
UNKNOWN_LIST = Value(many=True)
TRUSTED = Value(safe=True)
NUMBER = Value(numeric=True, safe=True, nospace=True, nonempty=True)
SIGNED = Value(numeric=True, signed=True, safe=True, nospace=True, nonempty=True)


def is_number(value: Value) -> bool:
    """Whether only integers are possible."""
    if value.choices is None:
        return value.numeric
    return all(_INTEGER.fullmatch(text) for text in value.choices)


def may_be_negative(value: Value) -> bool:
    if value.choices is None:
        return value.signed
    return any(text.startswith("-") for text in value.choices)


def join(left: Value, right: Value) -> Value:
    """What is known when it may be either."""
    if left is right or left.key() == right.key():
        return left
    if left.many or right.many:
        return _join_lists(left, right)
    if left.choices is not None and right.choices is not None:
        return one_of([*left.choices, *right.choices])
    numeric = is_number(left) and is_number(right)
    return Value(
        prefix=common_prefix((left.prefix, right.prefix)),
        numeric=numeric,
        signed=numeric and (may_be_negative(left) or may_be_negative(right)),
        safe=left.safe and right.safe,
        nospace=left.nospace and right.nospace,
        nonempty=left.nonempty and right.nonempty,
        shapes=None if numeric else shapes.united(left.forms(), right.forms()),
    )


def _join_lists(left: Value, right: Value) -> Value:
    element = join(any_item(left), any_item(right))
    return as_list(element, None, assoc=left.assoc and right.assoc)


def any_item(value: Value) -> Value:
    """One value that stands for each element of a list (or the value itself)."""
    if not value.many:
        return value
    return Value(
        value.choices,
        prefix=value.prefix,
        numeric=value.numeric,
        signed=value.signed,
        safe=value.safe,
        nospace=value.nospace,
        nonempty=value.nonempty,
        shapes=value.shapes,
    )


def as_list(element: Value, items: tuple[Value, ...] | None, *, assoc: bool = False) -> Value:
    """A list whose elements are all covered by `element`."""
    return Value(
        element.choices,
        prefix=element.prefix,
        numeric=element.numeric,
        signed=element.signed,
        safe=element.safe,
        nospace=element.nospace,
        nonempty=element.nonempty,
        items=items,
        many=True,
        assoc=assoc,
        shapes=element.shapes,
    )


def list_of(items: list[Value], *, assoc: bool = False) -> Value:
    """A list with exactly these elements, unless one of them may become several words."""
    if not items:
        return as_list(EMPTY, (), assoc=assoc)
    element = _any_match(items[0])
    for item in items[1:]:
        element = join(element, _any_match(item))
    exact = not assoc and not any(item.splits or item.glob or item.many for item in items)
    return as_list(any_item(element), tuple(items) if exact else None, assoc=assoc)


def _any_match(item: Value) -> Value:
    """One file that a pattern matches, or the value itself."""
    if not item.glob:
        return item
    if item.choices is None or item.splits:
        return Value(prefix="" if item.splits else item.prefix)
    return shaped(shapes.of_patterns(item.choices), nonempty=True)


def concat(values: list[Value]) -> Value:
    """The text of several values one after another, without splitting."""
    if len(values) == 1:
        return any_item(values[0])
    texts: list[str] | None = [""]
    prefix = ""
    certain = True
    for part in values:
        value = part
        if certain and value.numeric and not value.many and _NAME_IN_TMP.fullmatch(prefix):
            value = literal(UNSEEN)
        if certain:
            prefix += value.prefix if value.nonempty or value.choices is not None else ""
            certain = value.choices is not None and len(value.choices) == 1
        texts = _product(texts, value.choices)
    if texts is not None:
        return one_of(texts)
    return Value(
        prefix=prefix,
        safe=all(value.safe for value in values) and not prefix.strip("0123456789 "),
        nospace=all(value.nospace for value in values),
        nonempty=any(value.nonempty for value in values),
        shapes=shapes.product([None if value.many else value.forms_beside() for value in values]),
    )


def _product(texts: list[str] | None, choices: tuple[str, ...] | None) -> list[str] | None:
    if texts is None or choices is None or len(texts) * len(choices) > MAX_CHOICES:
        return None
    if len(choices) == 1 and len(texts) == 1:
        joined = texts[0] + choices[0]
        return [joined] if len(joined) <= MAX_VALUE or not texts[0] else None
    combined = [text + choice for text in texts for choice in choices]
    return combined if sum(map(len, combined)) <= MAX_VALUE else None
