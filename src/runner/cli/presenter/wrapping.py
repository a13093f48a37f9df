"""Break a permanent line at words for a terminal; for a pipe it stays one line, for grep.

What people copy stays in one piece: a word, text in backticks, and a line that is marked whole. The
terminal breaks those by itself where it must, and a selection with the mouse puts them together.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from runner.cli.presenter.lines import Line, Span
from runner.text.columns import columns
from runner.text.output import Output

_UNIT = re.compile(r"(?:`[^`]*`|\S)+")
_COMMAND = re.compile(r"\s*(?:\$ |runner )")
_HANG = 2
_LEAST_ROOM = 20


def rows(line: Line, output: Output) -> Iterator[Line]:
    """Yield the rows of a line; only a terminal gets more than one.

    Rows after the first begin with the line's hanging indent.
    """
    width = output.columns()
    text = line.text
    hang = _hang(line)
    if (
        line.clip
        or line.whole
        or not output.is_terminal()
        or width - hang < _LEAST_ROOM
        or columns(text) <= width
        or _COMMAND.match(text)
    ):
        yield line
    else:
        for start, end in _breaks(text, width, hang):
            margin = [(" " * hang, line.spans[0][1])] if start else []
            yield replace(line, spans=(*margin, *_part(line.spans, start, end)))


def _hang(line: Line) -> int:
    if line.hang is not None:
        return line.hang
    return len(line.text) - len(line.text.lstrip(" ")) + _HANG


def _breaks(text: str, width: int, hang: int) -> Iterator[tuple[int, int]]:
    """Yield where each row starts and ends."""
    start = end = 0
    for unit in _UNIT.finditer(text):
        room = width - (hang if start else 0)
        if text[start:end].strip() and columns(text[start : unit.end()]) > room:
            yield start, end
            start = unit.start()
        end = unit.end()
    yield start, end


def _part(spans: tuple[Span, ...], start: int, end: int) -> Iterator[Span]:
    position = 0
    for text, tone in spans:
        piece = text[max(0, start - position) : max(0, end - position)]
        if piece:
            yield piece, tone
        position += len(text)
