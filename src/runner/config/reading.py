"""Read the small text files that configure a project."""

import re
from collections.abc import Sequence
from pathlib import Path

from runner.errors import ConfigError
from runner.files import read_regular
from runner.text.messages import reason

MAX_BYTES = 1024 * 1024


def read_text(path: Path, *, within: Path | None = None) -> str | None:
    """Return the text of a configuration file without a byte order mark, None without a file.

    Args:
        within: a folder out of which no link may lead.

    Raises:
        ConfigError: it can't be read, is no regular file, is too large or not UTF-8.
    """
    try:
        content = read_regular(path, limit=MAX_BYTES + 1, within=within)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, reason(error, named=True)) from error
    if len(content) > MAX_BYTES:
        raise _unreadable(path, f"it has more than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8") from error


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"{path} can't be read: {why}.",
        hint="Make it a readable UTF-8 text file, or remove it to use the defaults.",
    )


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
