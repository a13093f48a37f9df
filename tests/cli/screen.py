"""A small terminal: enough to see what the presenter leaves on a screen."""

import re
import unicodedata

from rich.cells import cell_len

_SEQUENCE = re.compile(r"\x1b\[(?P<arguments>[0-9;]*)(?P<final>[A-Za-z])")


class Screen:
    """Interprets output. Anything the presenter has no reason to send is an AssertionError."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows: list[list[str]] = [[]]
        self._row = 0
        self._column = 0

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    @property
    def column(self) -> int:
        return self._column

    def feed(self, text: str) -> "Screen":
        position = 0
        while position < len(text):
            if text[position] == "\x1b":
                match = _SEQUENCE.match(text, position)
                assert match, f"unknown sequence {text[position : position + 8]!r}"
                self._control(match["final"], match["arguments"])
                position = match.end()
            else:
                self._character(text[position])
                position += 1
        return self

    def _control(self, final: str, arguments: str) -> None:
        match final, arguments:
            case "m", _:
                pass
            case "K", "2":
                self._rows[self._row] = []
            case "J", "":
                del self._rows[self._row + 1 :]
                del self._rows[self._row][self._column :]
            case "A", _:
                self._row = max(0, self._row - int(arguments or 1))
            case _:
                raise AssertionError(f"unexpected control {arguments}{final}")

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down()
        else:
            assert unicodedata.category(character) != "Cc", f"control character {character!r}"
            self._print(character)

    def _print(self, character: str) -> None:
        cells = cell_len(character)
        if self._column + cells > self.width:
            self._down()
        row = self._rows[self._row]
        row.extend(" " * (self._column - len(row)))
        row[self._column : self._column + cells] = [character, *[""] * (cells - 1)]
        self._column += cells

    def _down(self) -> None:
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append([])
