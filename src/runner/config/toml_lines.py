"""Where a key stands in TOML text: the parser of the standard library does not tell."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_POSITION = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_AT_END = " (at end of document)"


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """Return the number of the line that gives `keys`, or opens their table.

    It reads line by line and does not know strings of several lines, so it may be wrong about
    what looks like a key inside one.
    """
    wanted = tuple(keys)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            found = table = _parts(header[1])
        elif key:
            found = (*table, *_parts(key[1]))
        else:
            continue
        if found[: len(wanted)] == wanted:
            return number
    return None


def place_of_error(text: str, message: str) -> tuple[str, str]:
    """Split the parser's message on `text` into where (`:3:7`, or `:3` at its end) and what."""
    match = _POSITION.fullmatch(message)
    if match:
        return f":{match[2]}:{match[3]}", match[1]
    what = message.removesuffix(_AT_END)
    return ("", what) if what == message else (f":{max(1, len(text.splitlines()))}", what)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
