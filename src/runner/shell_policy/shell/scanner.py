"""The lowest layer of the parser: position, blanks, comments, operators, here-document bodies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from runner.shell_policy.shell.limits import ShellParseError
from runner.shell_policy.shell.nodes import Literal, Part, Redirect, WordNode

if TYPE_CHECKING:
    from runner.shell_policy.shell.limits import AnalysisBudget

ODD = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xa0\\xad\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f"
    "\\u205f-\\u206f\\u3000\\ufeff"
)
"""Characters (inside a character class) whose reading outside quotes depends on the locale, on
a program that cleans the text up, or on the reader's eyes."""

_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_COMMENT = re.compile(r"#[^\n]*")
_ODD_IN_COMMENT = re.compile(r"[\x00\r\x85\u2028\u2029]")
OPERATOR = re.compile(
    r"&&|&>>|&>|&|\|\||\|&|\||;;&|;;|;&|;|<<<|<<-|<<|<>|<&-|<&|<|>>|>&-|>&|>\||>|\(|\)|\n"
)
_GLUED = re.compile(r"(?:\\\n)+[<>&|;()]")
_LINE = re.compile(r"[^\n]*\n?")
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)*\\\n\Z")


class Scanner:
    """A position in a text and the means to move it."""

    __slots__ = (
        "budget",
        "compounds",
        "documents",
        "functions",
        "pending",
        "pos",
        "substituting",
        "text",
    )

    def __init__(self, text: str, budget: AnalysisBudget, functions: set[str]) -> None:
        self.text = text
        self.pos = 0
        self.budget = budget
        self.functions = functions
        self.pending: list[Redirect] = []
        self.substituting = False
        self.compounds = 0
        self.documents = 0

    def fail(self, message: str, hint: str) -> NoReturn:
        raise ShellParseError(message, hint=hint, position=self.pos)

    def unexpected(self, wanted: str) -> NoReturn:
        found = self.text[self.pos : self.pos + 12].split("\n")[0]
        where = f"`{found}`" if found else "the end of the line or text"
        self.fail(
            f"The shell syntax was not understood at {where}: expected {wanted}.",
            "Check quotes and separators, or write it as several simpler commands.",
        )

    def char(self, offset: int = 0) -> str:
        """The character at the position, or "" at the end."""
        return self.text[self.pos + offset : self.pos + offset + 1]

    def skip_blanks(self) -> None:
        """Move over blanks, continuation lines and a comment."""
        match = _BLANKS.match(self.text, self.pos)
        if match is not None:
            self.pos = match.end()
        if self.char() == "#":
            comment = _COMMENT.match(self.text, self.pos)
            if comment is not None:
                if _ODD_IN_COMMENT.search(comment.group()):
                    self.fail(
                        "A comment contains a control character.",
                        "Use plain line feeds as line ends and no control characters.",
                    )
                self.pos = comment.end()

    def operator(self) -> str:
        """The operator at the position ("" if a word or the end), without moving."""
        char = self.char()
        if char in ("<", ">") and self.char(1) == "(":
            return ""
        match = OPERATOR.match(self.text, self.pos) if char else None
        return match.group() if match is not None else ""

    def take(self, operator: str) -> None:
        """Move over an operator found by `operator()`, and blanks; read pending bodies."""
        self.pos += len(operator)
        if operator == "\n":
            self.read_bodies()
        elif _GLUED.match(self.text, self.pos):
            self.fail(
                "A continuation line splits an operator.",
                "Put a blank before the backslash at the line's end.",
            )
        self.skip_blanks()

    def skip_newlines(self) -> None:
        self.skip_blanks()
        while self.char() == "\n":
            self.take("\n")

    def read_bodies(self) -> None:
        """Read the bodies of the here-documents begun on the line that just ended."""
        pending, self.pending = self.pending, []
        for redirect in pending:
            start = self.pos
            body = self._body_lines(redirect)
            redirect.target = self.body_word(redirect, body, self.text[start : self.pos])

    def _body_lines(self, redirect: Redirect) -> str:
        lines: list[str] = []
        joined = ""
        while True:
            if self.pos >= len(self.text):
                self.fail(
                    f"The here-document `{redirect.delimiter}` has no end.",
                    "End it with a line that holds the delimiter alone.",
                )
            match = _LINE.match(self.text, self.pos)
            line = match.group() if match is not None else ""
            self.pos += len(line)
            if redirect.operator == "<<-" and not joined:
                line = line.lstrip("\t")
            if not joined and line.rstrip("\n") == redirect.delimiter:
                return "".join(lines)
            self._check_line(line, redirect.delimiter)
            if joined and (joined + line).rstrip("\n") == redirect.delimiter:
                self._almost()
            continues = not redirect.quoted and _ODD_BACKSLASHES.search(line)
            joined = (joined + line[:-2])[: len(redirect.delimiter) + 1] if continues else ""
            if continues and not joined:
                self._almost()
            lines.append(line)

    def _check_line(self, line: str, delimiter: str) -> None:
        bare = line.strip(" \t\r\n\\")
        if bare == delimiter.strip() and ("\r" in line or "\\" in line):
            self._almost()
        if "\x00" in line:
            self.fail("A here-document contains a NUL.", "Remove it.")

    def _almost(self) -> NoReturn:
        self.fail(
            "A line of a here-document can be taken for its delimiter.",
            "Use plain line feeds and end the here-document with the delimiter alone.",
        )

    def body_word(self, redirect: Redirect, body: str, source: str) -> WordNode:
        """The body as a word; the layer above expands it when the delimiter is unquoted."""
        part: list[Part] = [Literal(body, redirect.quoted)]
        return WordNode(part, source)
