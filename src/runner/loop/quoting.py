"""Put text of agents and programs into Markdown so that it stays what it is: data."""

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TILDES = re.compile(r"~{3,}")
# An underscore inside a word, as in ids, is no markup.
_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~!&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_BREAKS = re.compile(r"[\n\u2028\u2029]+")


def printable(text: str) -> str:
    """Return text without escape sequences and what else could upset a terminal or a prompt."""
    return _CONTROL.sub("", _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def fenced(text: str, kind: str = "data") -> str:
    """Return text as a fenced block that nothing in it can close.

    Args:
        kind: one word behind the fence.
    """
    clean = printable(text).strip("\n")
    longest = max((len(run) for run in _TILDES.findall(clean)), default=3)
    fence = "~" * (longest + 1)
    return f"{fence} {kind}\n{clean}\n{fence}"


def inline(text: str, limit: int = 500) -> str:
    """Return text as one line of Markdown in which nothing is markup."""
    line = " ".join(_BREAKS.sub(" ", printable(text)).split())
    if len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    return _SPECIAL.sub(r"\\\1", line)


def shortened(text: str, limit: int) -> str:
    """Return text, or its beginning and a line that says how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[runner: {len(text) - limit} more characters are left out]"


def end_of(text: str, limit: int) -> str:
    """Return text, or its end behind a line that says how much is missing."""
    if len(text) <= limit:
        return text
    return f"[runner: {len(text) - limit} earlier characters are left out]\n{text[-limit:]}"
