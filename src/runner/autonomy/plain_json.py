"""JSON that means one thing: no key twice (ADR-0037).

Parsers disagree on which of two equal keys counts, so that who checks a call and who carries it out
could read two different ones.
"""

from typing import Any


class DuplicateKeyError(ValueError):
    """A key stands twice in one object."""

    def __init__(self) -> None:
        super().__init__("a key stands twice in one object")


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of what a parser found, for `object_pairs_hook`. Raises DuplicateKeyError."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DuplicateKeyError
    return found
