"""Texts and numbers of files that anybody may have written: cleaned, bounded, or nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from math import isfinite
from typing import Any, TypeVar

ALL_CHARACTERS = 3_000_000
"""How much text a report holds; beyond it every text is cut to its first words."""

_SPARE = 80
_REDACTED_AT_MOST = 1_000_000
T = TypeVar("T")


class Words:
    """Cleans and bounds the texts of one report, and knows what it left out.

    Args:
        redact: takes credentials out of a text.
        characters: see ALL_CHARACTERS.
    """

    def __init__(self, redact: Callable[[str], str], characters: int = ALL_CHARACTERS) -> None:
        self._redact = redact
        self._left = characters
        self._shortened = 0
        self._omitted: dict[str, int] = {}

    def text(self, value: Any, limit: int) -> str:
        """Return a text without credentials and its beginning alone where it is longer."""
        cleaned = self._cleaned(value)
        room = self._room(limit)
        if len(cleaned) > room:
            self._shortened += 1
            more = len(cleaned) - room
            cleaned = f"{cleaned[:room].rstrip()} […{more} more characters]"
        self._left -= len(cleaned)
        return cleaned

    def end(self, value: Any, limit: int) -> str:
        """Return a text without credentials and its end alone where it is longer."""
        cleaned = self._cleaned(value).strip("\n")
        room = self._room(limit)
        if len(cleaned) > room:
            self._shortened += 1
            cleaned = f"[{len(cleaned) - room} earlier characters…]\n{cleaned[-room:]}"
        self._left -= len(cleaned)
        return cleaned

    def first(self, items: Iterable[T], limit: int, what: str) -> list[T]:
        """Return the first items, and note how many were left out."""
        rest = iter(items)
        found = list(islice(rest, limit))
        self.omit(what, sum(1 for _ in rest))
        return found

    def newest(self, items: Sequence[T], limit: int, what: str) -> list[T]:
        """Return the last items, and note how many were left out."""
        self.omit(what, max(len(items) - limit, 0))
        return list(items[-limit:])

    def omit(self, what: str, count: int) -> None:
        """Note that something was left out."""
        if count > 0:
            self._omitted[what] = self._omitted.get(what, 0) + count

    @property
    def cuts(self) -> tuple[str, ...]:
        """What was left out, in words."""
        told = [f"{count:,} {what}" for what, count in self._omitted.items()]
        if self._shortened:
            told.append(f"the rest of {self._shortened:,} long texts")
        return tuple(told)

    def _cleaned(self, value: Any) -> str:
        text = value if isinstance(value, str) else ""
        # What lies beyond can't be shown, but a credential may stand across the border.
        return self._redact(text[:_REDACTED_AT_MOST])

    def _room(self, limit: int) -> int:
        return limit if self._left > limit else min(limit, _SPARE)


def table(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def name(value: Any) -> str | None:
    """Return a short text that names something, None for anything else."""
    return value[:200] if isinstance(value, str) and value else None


def amount(value: Any) -> float:
    """Return a number that is not negative, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if isfinite(number) and number > 0 else 0.0


def count(value: Any) -> int:
    """Return a whole number that is not negative, 0 for anything else."""
    return int(amount(value))


def moment(value: Any) -> datetime | None:
    """Return an ISO 8601 time, None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
