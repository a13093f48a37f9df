"""Words: quotes, escapes, and everything that begins with a dollar sign or a backquote."""

from __future__ import annotations

import re
from typing import NoReturn

from runner.shell_policy.shell.nodes import (
    Arithmetic,
    Literal,
    Part,
    Redirect,
    Sequence,
    Substitution,
    Variable,
    WordNode,
)
from runner.shell_policy.shell.scanner import ODD, Scanner

_ESCAPE = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})"
    r"|U([0-9A-Fa-f]{1,8})|(.))",
    re.DOTALL,
)
_NAMED = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_HIGHEST = 0x10FFFF


class _UnknownEscapeError(Exception):
    pass


def _character(match: re.Match[str]) -> str:
    named, octal, byte, short, long, other = match.groups()
    if named:
        return _NAMED.get(named, named)
    if other:
        raise _UnknownEscapeError
    digits = byte or short or long
    code = int(octal, 8) if octal else int(digits, 16)
    one_byte = bool(octal or byte)
    surrogate = 0xD800 <= code <= 0xDFFF
    if code == 0 or code > _HIGHEST or surrogate or (one_byte and code > 0x7F):
        raise _UnknownEscapeError
    return chr(code)


def decode(text: str) -> str | None:
    """The value of the inside of `$'…'`; None when an escape is not understood."""
    try:
        return _ESCAPE.sub(_character, text)
    except _UnknownEscapeError:
        return None


_PLAIN = re.compile(rf"[^\x00-\x20|&;()<>$`\"'\\{ODD}]+")
_ODD_CHAR = re.compile(rf"[{ODD}\r]")
_DOUBLE = re.compile(r"[^\x00$`\"\\]+")
_BODY = re.compile(r"[^\x00$`\\]+")
_SINGLE = re.compile(r"'([^'\x00]*)'")
_ANSI = re.compile(r"'((?:[^'\\\x00]|\\[^\n\x00])*)'")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[0-9@*#?$!-]")
_SPECIALS = re.compile(r"[0-9]+|[@*#?$!-]")
_BACKQUOTE = re.compile(r"((?:[^`\\\x00]|\\[^\x00])*)`", re.DOTALL)
_BACKQUOTE_ESCAPE = re.compile(r"\\([\\`$])", re.DOTALL)
_BACKQUOTE_ESCAPE_QUOTED = re.compile(r"\\([\\`$\"])", re.DOTALL)
_OPERAND = re.compile(rf"[^\x00$`\"'\\{{}}<>{ODD}]+")
_SUBSCRIPT = re.compile(rf"[^\x00-\x20|&;()<>$`\"'\\\[\]{{}}{ODD}]+")
_ARITHMETIC = re.compile(r"[\w \t\n+\-*/%<>=!&|^~?:,\[\]#@.]+", re.ASCII)
_OPERATORS = re.compile(
    r":[-=?+]|[-=?+]|##|#|%%|%|//|/#|/%|/|\^\^|\^|,,|,|@[A-Za-z](?=\})|:(?![-=?+])"
)
_QUOTES_IN_OPERAND = re.compile(r"'[^'\\$`\"{}\x00]*'")

HINT_SIMPLER = "Write it more simply, for instance with an intermediate variable."


class WordScanner(Scanner):
    """Reads words into parts. What stands inside substitutions is read by the layer above."""

    __slots__ = ()

    def commands_until_paren(self) -> Sequence:
        """Read a list up to `)` and move over that."""
        raise NotImplementedError

    def substituted(self) -> Sequence:
        """Read the inside of `$(…)`, `<(…)` or `>(…)`."""
        outer = self.substituting, self.compounds, self.documents
        self.substituting, self.compounds, self.documents = True, 0, 0
        body = self.commands_until_paren()
        if self.documents and (len(body.chains) != 1 or body.chains[0].background):
            self.misprinted()
        self.substituting, self.compounds, self.documents = outer
        return body

    def misprinted(self) -> NoReturn:
        """Bash prints a substitution anew before it runs it, and can lose a `;` after these."""
        self.fail(
            "A here-document stands among several commands inside a substitution.",
            "Let it be the only command of the substitution, or move it out.",
        )

    def nested(self, text: str) -> Sequence:
        """Read a separate text as a complete list."""
        raise NotImplementedError

    def word(self) -> WordNode:
        """Read one word, which must not be empty."""
        start = self.pos
        self.budget.node()
        parts: list[Part] = []
        continued = self._unquoted(parts)
        if self.pos == start or (continued and not parts):
            self.unexpected("a word")
        if self.char() in ("<", ">") and self.text[start] == "{" and self.text[self.pos - 1] == "}":
            self.unexpected("a plain name in `{name}>`")
        return WordNode(parts, self.text[start : self.pos], continued)

    def _unquoted(self, parts: list[Part]) -> bool:
        continued = False
        while True:
            match = _PLAIN.match(self.text, self.pos)
            if match is not None:
                parts.append(Literal(match.group(), False))
                self.pos = match.end()
            char = self.char()
            if char == "\\" and self.char(1) == "\n":
                self.pos += 2
                continued = True
            elif char in ("<", ">") and self.char(1) == "(":
                parts.append(self._process(char))
            elif not char or char not in "'\"\\$`":
                self._check_end(char, parts)
                return continued
            else:
                self._quoting(char, parts)

    def _check_end(self, char: str, parts: list[Part]) -> None:
        if char == "(" and parts and isinstance(parts[-1], Literal) and not parts[-1].quoted:
            if parts[-1].text[-1] in "?*+@!":
                self.fail(
                    "Extended glob patterns are not understood.",
                    "Use ordinary patterns, or quote the text if it is meant literally.",
                )
        elif char and _ODD_CHAR.match(char):
            self.fail(
                "The command contains an unquoted control or invisible character.",
                "Use plain spaces and line feeds only, or quote the text.",
            )

    def _quoting(self, char: str, parts: list[Part]) -> None:
        if char == "'":
            self.single(parts)
        elif char == '"':
            self.pos += 1
            self.double(parts)
        elif char == "\\":
            self._escaped(parts)
        elif char == "$":
            self.dollar(parts, quoted=False)
        else:
            parts.append(self.backquote(quoted=False))

    def single(self, parts: list[Part]) -> None:
        self.budget.node()
        match = _SINGLE.match(self.text, self.pos)
        if match is None:
            self.fail("A single quote is not closed.", "Close it, or escape it.")
        parts.append(Literal(match.group(1), True))
        self.pos = match.end()

    def _escaped(self, parts: list[Part]) -> None:
        self.budget.node()
        following = self.char(1)
        if not following or _ODD_CHAR.match(following):
            self.fail("A backslash escapes nothing visible.", "Remove the backslash.")
        parts.append(Literal(following, True))
        self.pos += 2

    def double(self, parts: list[Part], plain: re.Pattern[str] = _DOUBLE) -> None:
        """Read to the closing double quote; with `_BODY` to the end of a here-document."""
        self.budget.node()
        begun = len(parts)
        while True:
            match = plain.match(self.text, self.pos)
            if match is not None:
                parts.append(Literal(match.group(), True))
                self.pos = match.end()
            char = self.char()
            if char == '"':
                self.pos += 1
                break
            if char == "\\":
                self._escaped_quoted(parts, '$`"\\' if plain is _DOUBLE else "$`\\")
            elif char == "$":
                self.dollar(parts, quoted=True)
            elif char == "`":
                parts.append(self.backquote(quoted=True))
            elif plain is _BODY and not char:
                break
            else:
                self.fail("A double quote is not closed.", "Close it, or escape it.")
        if len(parts) == begun:
            parts.append(Literal("", True))

    def _escaped_quoted(self, parts: list[Part], special: str) -> None:
        self.budget.node()
        following = self.char(1)
        if not following and special != "$`\\":
            self.fail("A double quote is not closed.", "Close it, or escape it.")
        if following != "\n":
            text = following if following and following in special else "\\" + following
            parts.append(Literal(text, True))
        self.pos += 2

    def body_word(self, redirect: Redirect, body: str, source: str) -> WordNode:
        if redirect.quoted or not ("$" in body or "`" in body or "\\" in body):
            return super().body_word(redirect, body, source)
        return self.subscanner(body).here_document(source)

    def subscanner(self, text: str) -> WordScanner:
        return type(self)(text, self.budget, self.functions)

    def here_document(self, source: str) -> WordNode:
        """Read the whole text as an unquoted here-document body."""
        parts: list[Part] = []
        self.budget.enter()
        self.double(parts, _BODY)
        self.budget.leave()
        return WordNode(parts, source)

    def _process(self, char: str) -> Substitution:
        self.pos += 2
        return Substitution(char, self.substituted(), False)

    def backquote(self, *, quoted: bool) -> Substitution:
        self.budget.node()
        match = _BACKQUOTE.match(self.text, self.pos + 1)
        if match is None:
            self.fail("A backquote is not closed.", "Close it, or use `$(…)`.")
        escapes = _BACKQUOTE_ESCAPE_QUOTED if quoted else _BACKQUOTE_ESCAPE
        inner = escapes.sub(r"\1", match.group(1))
        self.pos = match.end()
        return Substitution("$", self.nested(inner), quoted)

    def dollar(self, parts: list[Part], *, quoted: bool) -> None:
        """Read what begins with the `$` at the position."""
        self.budget.node()
        following = self.char(1)
        if following == "(":
            self._dollar_paren(parts, quoted)
        elif following == "{":
            self.pos += 2
            parts.append(self.parameter(quoted))
        elif following in ("'", '"') and not quoted:
            self._dollar_quote(following, parts)
        elif following == "[":
            self.fail("`$[…]` is not understood.", "Write arithmetic as `$((…))`.")
        elif self.text.startswith("\\\n", self.pos + 1):
            self.fail("A continuation line follows a `$`.", "Keep the expansion on one line.")
        else:
            match = _NAME.match(self.text, self.pos + 1) or _SPECIAL.match(self.text, self.pos + 1)
            if match is None:
                parts.append(Literal("$", quoted))
                self.pos += 1
                return
            if self.text.startswith("\\\n", match.end()):
                self.fail("A continuation line follows a `$`.", "Keep the expansion on one line.")
            variable = Variable(match.group(), quoted)
            variable.bare = match.re is _NAME
            parts.append(variable)
            self.pos = match.end()

    def _dollar_quote(self, following: str, parts: list[Part]) -> None:
        if following == '"':
            self.pos += 2
            self.double(parts)
            return
        match = _ANSI.match(self.text, self.pos + 1)
        if match is None:
            self.fail("A `$'…'` is not closed or holds a line break escape.", HINT_SIMPLER)
        text = decode(match.group(1))
        if text is None:
            self.fail("An escape in `$'…'` is not understood.", "Use printf, or plain quotes.")
        parts.append(Literal(text, True))
        self.pos = match.end()

    def _dollar_paren(self, parts: list[Part], quoted: bool) -> None:
        self.pos += 2
        if self.text.startswith("\\\n", self.pos):
            self.fail("A continuation line follows `$(`.", "Keep the start on one line.")
        if self.char() == "(":
            self.pos += 1
            parts.append(Arithmetic(self.arithmetic(), quoted))
        else:
            parts.append(Substitution("$", self.substituted(), quoted))

    def arithmetic(self, *, semicolons: bool = False) -> WordNode:
        """Read an expression up to `))` and move over that."""
        start = self.pos
        self.budget.enter()
        parts: list[Part] = []
        depth = 0
        while True:
            match = _ARITHMETIC.match(self.text, self.pos)
            if match is not None:
                parts.append(Literal(match.group(), False))
                self.pos = match.end()
            char = self.char()
            if char in ("$", "`", '"'):
                self._quoting_in_arithmetic(char, parts)
            elif char == "(" or (char == ")" and depth):
                depth += 1 if char == "(" else -1
                parts.append(Literal(char, False))
                self.pos += 1
            elif char == ")" and self.char(1) == ")":
                break
            elif char == ";" and semicolons:
                parts.append(Literal(";", False))
                self.pos += 1
            else:
                self.unexpected(
                    "the end of an arithmetic expression (for a subshell write `$( (` or `( (`)"
                )
        source = self.text[start : self.pos]
        self.pos += 2
        self.budget.leave()
        return WordNode(parts, source)

    def _quoting_in_arithmetic(self, char: str, parts: list[Part]) -> None:
        if char == "$":
            self.dollar(parts, quoted=True)
        elif char == "`":
            parts.append(self.backquote(quoted=True))
        else:
            self.pos += 1
            self.double(parts)

    def parameter(self, quoted: bool) -> Variable:
        """Read `${…}` after the brace and move over the closing one."""
        self.budget.enter()
        prefix = ""
        if self.char() in ("#", "!") and self.char(1) not in ("}", "-", ":", "%", "=", "+", "/"):
            prefix = self.char()
            self.pos += 1
        match = _NAME.match(self.text, self.pos) or _SPECIALS.match(self.text, self.pos)
        if match is None:
            self.unexpected("a variable name after `${`")
        name = match.group()
        self.pos = match.end()
        subscript = self._subscript(quoted) if self.char() == "[" else None
        part = Variable(name, quoted, subscript)
        if prefix:
            self._prefixed(part, prefix)
        elif self.char() != "}":
            self._operation(part)
        if self.char() != "}":
            self.unexpected("`}`")
        self.pos += 1
        self.budget.leave()
        return part

    def _prefixed(self, part: Variable, prefix: str) -> None:
        whole = part.subscript is not None and part.subscript.source in ("@", "*")
        if prefix == "#":
            part.operator = "len"
        elif self.char() in ("@", "*") and part.subscript is None:
            part.operator = "names"
            self.pos += 1
        else:
            part.operator = "keys" if whole else "!"

    def _subscript(self, quoted: bool) -> WordNode:
        """Read `[…]`; quotes inside are allowed, blanks and nested brackets are not."""
        self.pos += 1
        return self._operand(_SUBSCRIPT, "]", quoted)

    def subscript(self) -> WordNode:
        return self._subscript(quoted=False)

    def _operation(self, part: Variable) -> None:
        match = _OPERATORS.match(self.text, self.pos)
        if match is None:
            self.unexpected("an operator of `${…}`")
        part.operator = match.group()
        self.pos = match.end()
        if part.operator[0] == "@":
            return
        first = self._operand(_OPERAND, "}", part.quoted)
        self.pos -= 1
        part.operands = (first,)

    def _operand(self, plain: re.Pattern[str], closing: str, quoted: bool) -> WordNode:
        """Read text with expansions up to `closing`, and move over that."""
        start = self.pos
        parts: list[Part] = []
        while self.char() != closing:
            match = plain.match(self.text, self.pos)
            if match is not None:
                parts.append(Literal(match.group(), quoted))
                self.pos = match.end()
                continue
            self._operand_special(self.char(), parts, quoted)
        source = self.text[start : self.pos]
        self.pos += 1
        return WordNode(parts, source)

    def _operand_special(self, char: str, parts: list[Part], quoted: bool) -> None:
        if char == "$":
            self.dollar(parts, quoted=quoted)
        elif char == "`":
            parts.append(self.backquote(quoted=quoted))
        elif char == '"':
            self.pos += 1
            self.double(parts)
        elif char == "'" and (not quoted or _QUOTES_IN_OPERAND.match(self.text, self.pos)):
            self.single(parts)
        elif char == "\\" and self.char(1) not in ("", "\n"):
            parts.append(Literal(self.char(1), True))
            self.pos += 2
        elif char in ("<", ">") and self.char(1) != "(":
            parts.append(Literal(char, quoted))
            self.pos += 1
        else:
            self.unexpected("the end of `${…}` (quotes and braces inside are hard to read)")
