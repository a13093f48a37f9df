"""Make text of agents and files harmless to show.

What an agent writes may carry escape sequences that move the cursor or set the clipboard,
line breaks that fake a line of ours, characters that reverse the reading direction, or
commands for a CI system that reads our output. None of it gets through.
"""

import json
import re
import unicodedata

_ESCAPES = re.compile(
    r"""
      (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]                  # CSI: colours, cursor
    | \x1b[\]PX^_] [^\x07\x1b\x9c]* (?:\x07|\x1b\\|\x9c)      # OSC, DCS: titles, the clipboard
    | \x1b [ -/]* [0-~]?                                   # two-character ones
    """,
    re.VERBOSE,
)
_SPACES = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"  # part of words in some scripts, and of emoji
_REPLACEMENT = "\ufffd"
_LINE_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
ELLIPSIS = "…"


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cs":
        return _REPLACEMENT
    if category in ("Cc", "Cf") and character not in _JOINERS:
        return ""
    return character


def _neutral(text: str) -> str:
    # GitHub reads "##[" anywhere and "::" at the start of a line as a command.
    text = text.replace("##[", "## [")
    return f": {text[1:]}" if text.startswith("::") else text


def inert(text: str, limit: int | None = None) -> str:
    """Return `text` as one line without anything but visible characters and single spaces.

    Args:
        text: anything.
        limit: the greatest length of the answer; what is longer ends in an ellipsis.
    """
    if limit is not None:
        # A megabyte is not cleaned to show a hundred characters of it.
        text = text[: limit * 8 + 256]
    if not text.isprintable():
        folded = _SPACES.sub(" ", _ESCAPES.sub("", text))
        text = "".join(map(_shown, folded))
    return cut(_neutral(_SPACES.sub(" ", text).strip()), limit)


def inert_lines(text: str) -> list[str]:
    """Return the lines of `text`, each inert behind its indentation, no blank ones at the end."""
    return [_indentation(line) + inert(line) for line in _LINE_BREAKS.split(text.rstrip())]


def json_text(value: object) -> str:
    """Return `value` as one line of JSON that nothing obeys and that says the same.

    It is ASCII alone, so that no terminal sequence, lone surrogate or encoding can do harm.
    """
    text = json.dumps(value, default=str)
    return text.replace("\x7f", "\\u007f").replace("##[", "\\u0023#[")


def _indentation(line: str) -> str:
    line = line.expandtabs()
    return " " * (len(line) - len(line.lstrip(" ")))


def cut(text: str, limit: int | None) -> str:
    """Return `text`, or its beginning and an ellipsis when it is longer than `limit`."""
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + ELLIPSIS
