"""Make text of agents, programs and files safe to show: on terminals, in Markdown, in prompts.

This module is the only sanitiser. A character that can't be seen, or that changes how others are
shown, is replaced by a visible mark, one by one. No visible character is removed, except where a
length limit cuts the text, and the result says so.

| target | function | layout that is kept |
| --- | --- | --- |
| one line of a terminal | `inert` | none: line breaks and tabs become spaces |
| lines of a terminal | `inert_lines` | line breaks, indentation |
| a block of a prompt | `fenced` | line breaks, tabs |
| a block of a file that people read, rendered or not | `quoted` | line breaks, tabs |
| a part of a line of Markdown or of a prompt | `inline` | none |
| a file name in a list | `name` | none: even a line break is a mark |
| JSON | `json_text` | all: JSON escapes it |
"""

import json
import re
import unicodedata

LAYOUT = "\n\t"
ELLIPSIS = "…"

_ODD = re.compile(r"[^ -~\n\t]")
_BREAKS = re.compile(r"\r\n|\n")
_SPACES = re.compile(r"[\n\t ]+")
_BLANK_END = re.compile(r"(?:\r\n|[\n\t ])+\Z")
_TILDES = re.compile(r"~{3,}")
_BACKTICKS = re.compile(r"`+")
# Characters of printable categories that show nothing: fillers, joiners and variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_JOINERS = "\u200c\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
_MAX_STACK = 6  # Combining marks on one character; more of them cover other lines.
# Text that no reader of Markdown turns into markup, a link, a mention or a reference.
_PLAIN = re.compile(r"""[^\W_](?:[\w ,;'"/()%+=?…-]|[.:!](?= |$))*""")
_LINKS = re.compile(r"(?i)\bGH-\d|\b[0-9a-f]{7,40}\b|(?<![^\W_])_|_(?![^\W_])|^\d+[.)]")
_NAME = re.compile(r"[\w./@+=,:-]+")


def visible(text: str, layout: str = LAYOUT) -> str:
    """Return `text` with a mark in place of every character that can't be seen.

    Args:
        text: anything.
        layout: those of the characters line break and tab that stay as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = _ODD.sub(lambda found: _shown(text, found.start()), text)
    for character in LAYOUT:
        if character not in layout:
            shown = shown.replace(character, _mark(character))
    return shown


def is_visible(text: str, layout: str = LAYOUT) -> bool:
    """Whether every character of `text` can be seen or is of `layout`."""
    return visible(text, layout) == text


def has_controls(text: str, layout: str = LAYOUT) -> bool:
    """Whether a control character or half of a surrogate pair is in `text`, those of `layout` aside."""
    return any(unicodedata.category(c) in ("Cc", "Cs") and c not in layout for c in text)


def inert(text: str, limit: int | None = None) -> str:
    """Return `text` as one line of a terminal: visible characters and single spaces.

    Args:
        text: anything.
        limit: the greatest length of the answer; what is longer ends in an ellipsis.
    """
    rest = False
    if limit is not None:
        # A megabyte is not cleaned to show a hundred characters of it.
        text = text.lstrip("\n\t ")
        most = limit * 8 + 256
        text, rest = text[:most], len(text) > most
    line = _neutral(visible(_one_line(text)))
    if limit is not None and (rest or len(line) > limit):
        return line[: limit - 1].rstrip() + ELLIPSIS
    return line


def inert_lines(text: str) -> list[str]:
    """Return the lines of `text`, each inert behind its indentation, no blank ones at the end."""
    return [_indentation(line) + inert(line) for line in _BREAKS.split(_BLANK_END.sub("", text))]


def fenced(text: str, kind: str = "data") -> str:
    """Return text as a fenced block that nothing in it can close.

    Args:
        kind: one word behind the fence.
    """
    clean = visible(text).strip("\n")
    longest = max((len(run) for run in _TILDES.findall(clean)), default=3)
    fence = "~" * (longest + 1)
    return f"{fence} {kind}\n{clean}\n{fence}"


def quoted(text: str, kind: str = "text") -> str:
    """Return text as a fenced block in which every line begins with `>`.

    So no line can pass for one of the file's own, where the file is read without a renderer.
    """
    return "\n".join(f"> {line}" for line in fenced(text, kind).split("\n"))


def inline(text: str, limit: int = 500) -> str:
    """Return text as a part of one line of Markdown in which nothing is markup.

    Plain words stay as they are. Anything else is shown as code, where readers of Markdown make no
    links, mentions or emoji either; a pipe in it ends no cell of a table.

    Args:
        limit: of characters; the number of those that are left out follows the text.
    """
    line = inert(text)
    left_out = len(line) - limit
    if left_out > 0:
        return f"{_as_text_or_code(line[:limit])} ({left_out} more characters are left out)"
    return _as_text_or_code(line)


def code(text: str) -> str:
    """Return one line of visible text, not empty, as inline code of Markdown. Not for tables."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    marks = "`" * (longest + 1)
    ends = text[0] + text[-1]
    padding = " " if "`" in ends or (ends == "  " and text.strip()) else ""
    return f"{marks}{padding}{text}{padding}{marks}"


def one_line(text: str) -> str:
    """Return a text on one line, so that it can't pass for the lines that follow it."""
    return visible(text, layout="")


def name(text: str, limit: int = 300) -> str:
    """Return the name of a file as one word, or as one text in quotes.

    Args:
        limit: of characters; the number of those that are left out follows the name.
    """
    left_out = len(text) - limit
    shown = visible(text[:limit], "")
    if not _NAME.fullmatch(shown):
        shown = '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{shown} ({left_out} more characters are left out)" if left_out > 0 else shown


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


def cut(text: str, limit: int | None) -> str:
    """Return `text`, or its beginning and an ellipsis when it is longer than `limit`."""
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + ELLIPSIS


def json_text(value: object) -> str:
    """Return `value` as one line of JSON that nothing obeys and that says the same.

    It is ASCII alone, so that no terminal sequence, lone surrogate or encoding can do harm.
    """
    text = json.dumps(value, default=str)
    return text.replace("\x7f", "\\u007f").replace("##[", "\\u0023#[")


def _shown(text: str, at: int) -> str:
    """Return how the character at `at` is shown; some are visible by what stands around them."""
    character = text[at]
    category = unicodedata.category(character)
    if category == "Zs":
        return character
    if character in _JOINERS:
        return character if _joins(text, at) else _mark(character)
    if _BLANK.match(character):
        return character if _is_style(text, at) else _mark(character)
    if category[0] == "M" and _stack(text, at) >= _MAX_STACK:
        return _mark(character)
    return character if character.isprintable() else _mark(character)


def _mark(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"[U+{code:04X}]"


def _joins(text: str, at: int) -> bool:
    """Whether a joiner at `at` stands where scripts and emoji need one, and not to hide data."""
    before, after = _category(text, at - 1), _category(text, at + 1)
    if before in ("So", "Sk") or (at and text[at - 1] in _EMOJI_STYLES):
        return text[at] == "\u200d" and after in ("So", "Sm")
    scripts = ("Lo", "Mn", "Mc")
    return before in scripts and after in scripts and not _BLANK.match(text[at - 1])


def _is_style(text: str, at: int) -> bool:
    """Whether a variation selector at `at` chooses how the emoji before it looks."""
    if text[at] not in _EMOJI_STYLES or not at:
        return False
    keycap = text[at - 1] in "0123456789#*" and text[at + 1 : at + 2] == "\u20e3"
    return keycap or _category(text, at - 1) in ("So", "Sm", "Sk") or text[at - 1] in "‼⁉〰"


def _stack(text: str, at: int) -> int:
    """Return how many combining marks stand directly before `at`, counted up to the limit."""
    count = 0
    while count < _MAX_STACK and _category(text, at - 1 - count).startswith("M"):
        count += 1
    return count


def _category(text: str, at: int) -> str:
    return unicodedata.category(text[at]) if 0 <= at < len(text) else ""


def _one_line(text: str) -> str:
    if not text.isascii():
        text = "".join(" " if unicodedata.category(c) == "Zs" else c for c in text)
    return _SPACES.sub(" ", _BREAKS.sub("\n", text)).strip(" ")


def _neutral(text: str) -> str:
    # GitHub reads "##[" anywhere and "::" at the start of a line as a command.
    text = text.replace("##[", "## [")
    return f": {text[1:]}" if text.startswith("::") else text


def _indentation(line: str) -> str:
    line = line.expandtabs()
    return " " * (len(line) - len(line.lstrip(" ")))


def _as_text_or_code(line: str) -> str:
    if not line:
        return "(empty)"
    if _PLAIN.fullmatch(line) and not _LINKS.search(line):
        return line
    # Parsers disagree about an escaped pipe in code in a table, and agree about one outside.
    return "\\|".join(code(part) if part else "" for part in line.split("|"))
