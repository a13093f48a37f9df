"""The kinds of values that options have, and how each is read from text and from TOML."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

DEFAULT_THINKING_TOKENS = 8192

T = TypeVar("T")

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_ON = frozenset({"1", "true", "yes", "on", "t", "y"})
_OFF = frozenset({"0", "false", "no", "off", "f", "n"})


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of value.

    Attributes:
        expects: completes the sentence «… must be».
        annotation: the type that the command line asks Typer for; a text is read by `from_text`,
            so that a wrong value is refused in our own words.
        from_text: reads an environment variable; raises ValueError.
        from_toml: reads a TOML value; raises ValueError.
        metavar: what stands for a value in the help; empty for Typer's own.
        names: the values, where there are only these.
    """

    expects: str
    annotation: Any
    from_text: Callable[[str], T]
    from_toml: Callable[[object], T]
    metavar: str = ""
    names: tuple[str, ...] = ()


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise ValueError(text)
    return int(text)


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word not in _ON | _OFF:
        raise ValueError(text)
    return word in _ON


def _thinking(text: str) -> int | None:
    word = text.strip().lower()
    # Digits are tokens here, so that a budget of 1 is refused and not taken for "on".
    if word in _ON - {"1"}:
        return DEFAULT_THINKING_TOKENS
    return None if word in _OFF - {"0"} else _integer(text)


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError(text)
    return Path(text)


def _instance(value: object, *types: type) -> Any:
    # TOML keeps true apart from 1, Python doesn't.
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(value)
    return value


def _number_from_toml(value: object) -> float:
    try:
        return float(_instance(value, int, float))
    except OverflowError as error:
        raise ValueError(value) from error


def _thinking_from_toml(value: object) -> int | None:
    if isinstance(value, bool):
        return DEFAULT_THINKING_TOKENS if value else None
    found: int = _instance(value, int)
    return found


def _list_of_texts(value: object) -> tuple[str, ...]:
    return tuple(_instance(entry, str) for entry in _instance(value, list))


def _refuse(text: str) -> Any:
    raise ValueError(text)


INTEGER = Kind[int](
    "a whole number", str, _integer, lambda value: _instance(value, int), metavar="N"
)
NUMBER = Kind[float]("a number", str, float, _number_from_toml, metavar="NUMBER")
TEXT = Kind[str]("a string", str, str, lambda value: _instance(value, str), metavar="TEXT")
FLAG = Kind[bool]("true or false", bool, _flag, lambda value: _instance(value, bool))
PATH = Kind[Path]("a path", str, _path, lambda value: _path(_instance(value, str)), metavar="PATH")
THINKING = Kind[int | None](
    "a number of tokens, true or false", str, _thinking, _thinking_from_toml
)
TEXTS = Kind[tuple[str, ...]]("a list of strings", list, _refuse, _list_of_texts)
"""For the tables of runner.toml alone: no option has it."""


def choice(*names: str) -> Kind[str]:
    """Return the kind whose values are these names."""

    def chosen(text: object) -> str:
        if text not in names:
            raise ValueError(text)
        return str(text)

    return Kind[str](f"one of {', '.join(names)}", str, chosen, chosen, "|".join(names), names)
