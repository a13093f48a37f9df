"""Text in columns of a terminal; a Chinese character takes two of them."""

from collections.abc import Iterable, Iterator, Sequence

from runner.text.safe import ELLIPSIS, inert


def columns(text: str) -> int:
    """Return how many columns `text` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - commands that answer at once go without it

    return cell_len(text)


def fit(text: str, width: int) -> str:
    """Return `text` inert and cut to `width` columns."""
    shown = inert(text, max(width, 1))
    if columns(shown) <= width:
        return shown
    while shown and columns(shown) >= width:
        shown = shown[:-1]
    return shown.rstrip() + ELLIPSIS


def wrap(text: str, width: int, margin: str = "", first: str | None = None) -> Iterator[str]:
    """Yield `text`, inert, in lines of at most `width` columns; a longer word stands alone.

    Args:
        text: anything.
        width: of the lines, with their margin.
        margin: stands before every line.
        first: stands before the first line instead.
    """
    start = margin if first is None else first
    line = ""
    for word in inert(text).split(" "):
        longer = f"{line} {word}" if line else start + word
        if line and columns(longer) > width:
            yield line
            longer = margin + inert(word)  # what is harmless inside a line may not begin one
        line = longer
    if line.strip():
        yield line


def labelled(pairs: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield a label and its value per line, values below each other; no value, no line."""
    filled = [(label, value) for label, value in pairs if value]
    label_width = max((columns(label) for label, _ in filled), default=0)
    margin = " " * (label_width + 2)
    for label, value in filled:
        lines = wrap(value, width - len(margin))
        yield f"{label:<{label_width}}  {next(lines, '')}"
        yield from (margin + line for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield rows below a header; the last column is cut to what `width` leaves for it."""
    widths = [max(columns(row[i]) for row in (header, *rows)) for i in range(len(header) - 1)]
    for row in (header, *rows):
        cells = [cell + " " * (w - columns(cell)) for cell, w in zip(row, widths, strict=False)]
        start = "".join(f"{cell}  " for cell in cells)
        yield (start + fit(row[-1], max(width - columns(start), 10))).rstrip()
