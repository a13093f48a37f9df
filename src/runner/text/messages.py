"""Words that several packages need to say the same thing in the same way."""

import errno
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

_CENT = 0.01
_LEAST_SHOWN_USD = 0.0001


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 tool`, `2 tools`.

    Args:
        many: the noun for any number but one, where it is not `noun` with an s.
    """
    return f"{count} {noun}" if count == 1 else f"{count} {many or noun + 's'}"


def format_cost(usd: float) -> str:
    """Return `$0.41`; an amount below a cent keeps four decimals: nothing paid reads as `$0.00`."""
    if 0 < usd < _LEAST_SHOWN_USD:
        return f"<${_LEAST_SHOWN_USD}"
    return f"${usd:.4f}" if 0 < usd < _CENT else f"${usd:.2f}"


_WANTED = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_pattern_mismatch": "must match {pattern}",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "none_required": "must be null",
    "timezone_aware": "must be a time with its zone, such as 2026-01-31T12:00:00Z",
}
_WANTED_KINDS = {
    "int": "must be a whole number",
    "float": "must be a number",
    "finite": "must be a number",
    "bool": "must be true or false",
    "datetime": "must be a time, such as 2026-01-31T12:00:00Z",
    "json": "must be JSON",
}


def problem(found: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, in words that complete a sentence about it.

    Args:
        found: one of the errors that a validation lists: its `type`, `msg` and perhaps `ctx`.
    """
    kind = str(found["type"])
    wanted = _WANTED.get(kind) or _WANTED_KINDS.get(kind.partition("_")[0])
    if wanted is not None:
        with suppress(KeyError):
            return wanted.format_map(found.get("ctx") or {})
    said = str(found["msg"]).removeprefix("Value error, ").rstrip(".")
    return said.replace("Input should be", "must be", 1)


def stated(place: str, what: str) -> str:
    """Return the sentence that says what `problem` found at a place."""
    joint = " " if what.startswith(("must ", "is missing", "is not known")) else ": "
    return f"{place}{joint}{what}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the hint for a name that is nearly a known one, None for any other."""
    folded = {candidate.lower(): candidate for candidate in known}
    wanted = name.lower()
    near = get_close_matches(wanted, folded, n=1) or get_close_matches(
        wanted.replace("-", "_"), folded, n=1
    )
    return f"Did you mean {folded[near[0]]}?" if near else None


_OWN_WORDS = {errno.EBADF: "it is closed"}


def reason(error: BaseException, *, named: bool = False) -> str:
    """Return why something failed, without a full stop at the end.

    An error of the system is told in words and with the file it is about: nobody knows the number.

    Args:
        named: whether the message has named the file already.
    """
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        about = "" if named or error.filename is None else f": {error.filename}"
        said = f"{_OWN_WORDS.get(error.errno or 0, error.strerror)}{about}"
    return said.rstrip(".") or type(error).__name__
