"""Brace expansion, exactly as bash does it, or not at all."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NoReturn

from runner.shell_policy.shell.limits import MAX_WORDS, ShellParseError
from runner.shell_policy.shell.nodes import Literal, Part, Variable

_NUMBERS = re.compile(r"([-+]?[0-9]{1,9})\.\.([-+]?[0-9]{1,9})(?:\.\.([-+]?[0-9]{1,9}))?")
_LETTERS = re.compile(r"(?:([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z]))(?:\.\.(-?[0-9]{1,3}))?")
_STRANGE = re.compile(r"[^,{}]*\.\.[^,{}]*")
_SPECIAL = re.compile(r"[{},]")

_MAX_WORK = 100_000

Parts = list[Part]


def expand(parts: Parts) -> list[Parts]:
    """All words that the braces of one word make; the word itself when there are none.

    Raises:
        ShellParseError: the braces are not balanced, or make too many words.
    """
    texts = [part.text for part in parts if isinstance(part, Literal) and not part.quoted]
    if not any("{" in text for text in texts):
        return [parts]
    if not any("," in text or ".." in text for text in texts):
        return [parts]
    tokens = _tokens(parts)
    if any(_could_merge(token, after) for token, after in pairwise([*tokens, None])):
        raise ShellParseError(
            "A `$` stands next to a brace expansion.", hint="Write the variable as `${name}`."
        )
    return _Expansion(tokens).run()


def _could_merge(token: Part | None, after: Part | None) -> bool:
    """Whether the text that braces put after a token could become part of a variable's name."""
    if isinstance(token, Literal):
        return not token.quoted and token.text.endswith("$")
    if not isinstance(token, Variable) or token.quoted or not token.bare or after is None:
        return False
    return isinstance(after, Literal) and not after.quoted and after.text[0] in "{,}"


def _tokens(parts: Parts) -> Parts:
    """The parts with every unquoted `{`, `,`, `}` standing alone."""
    tokens: Parts = []
    for part in parts:
        if not isinstance(part, Literal) or part.quoted:
            tokens.append(part)
            continue
        last = 0
        for match in _SPECIAL.finditer(part.text):
            if match.start() > last:
                tokens.append(Literal(part.text[last : match.start()], False))
            tokens.append(Literal(match.group(), False))
            last = match.end()
        if last < len(part.text):
            tokens.append(Literal(part.text[last:], False))
    return tokens


def _is(part: Part, text: str) -> bool:
    return isinstance(part, Literal) and not part.quoted and part.text == text


def _refuse() -> NoReturn:
    raise ShellParseError(
        "A brace expansion was not understood.",
        hint="Write the words out, or quote the braces if they are meant literally.",
    )


def _too_many() -> NoReturn:
    raise ShellParseError("Braces make too many words.", hint="Use a smaller range.")


class _Expansion:
    """One recursive-descent pass over the tokens; nesting is bounded by their number."""

    def __init__(self, tokens: Parts) -> None:
        self.tokens = tokens
        self.pos = 0
        self.depth = 0
        self.work = 0

    def run(self) -> list[Parts]:
        result = self._run(nested=False)
        if self.pos < len(self.tokens):
            _refuse()
        return result

    def _run(self, *, nested: bool) -> list[Parts]:
        """Words up to an unquoted `,` or `}` when nested, else up to the end."""
        results: list[Parts] = [[]]
        while self.pos < len(self.tokens):
            token = self.tokens[self.pos]
            if nested and (_is(token, ",") or _is(token, "}")):
                break
            if _is(token, "}"):
                _refuse()
            self.pos += 1
            choices = self._group() if _is(token, "{") else [[token]]
            if len(choices) == 1:
                for result in results:
                    result.extend(choices[0])
            else:
                if len(results) * len(choices) > MAX_WORDS:
                    _too_many()
                results = [left + right for left in results for right in choices]
            self._bound(results)
        return results

    def _bound(self, results: list[Parts]) -> None:
        self.work += len(results)
        if len(results) > MAX_WORDS or self.work > _MAX_WORK:
            _too_many()

    def _group(self) -> list[Parts]:
        self.depth += 1
        if self.depth > 8:
            _refuse()
        items: list[list[Parts]] = []
        start = self.pos
        while True:
            items.append(self._run(nested=True))
            if self.pos >= len(self.tokens):
                _refuse()
            self.pos += 1
            if _is(self.tokens[self.pos - 1], "}"):
                break
        self.depth -= 1
        if len(items) > 1:
            return [word for item in items for word in item]
        return self._single(items[0], self.tokens[start : self.pos - 1])

    def _single(self, item: list[Parts], inner: Parts) -> list[Parts]:
        """`{…}` without a comma: a sequence, or literal braces."""
        if inner and all(isinstance(part, Literal) and not part.quoted for part in inner):
            text = "".join(part.text for part in inner if isinstance(part, Literal))
            sequence = _sequence(text)
            if sequence is not None:
                return [[Literal(word, True)] for word in sequence]
            if len(inner) == 1 and _STRANGE.fullmatch(text):
                _refuse()
        opening, closing = Literal("{", False), Literal("}", False)
        return [[opening, *word, closing] for word in item]


def _sequence(text: str) -> list[str] | None:
    match = _NUMBERS.fullmatch(text)
    if match is not None:
        return _numbers(match[1], match[2], match[3])
    match = _LETTERS.fullmatch(text)
    if match is None:
        return None
    first, last = ord(match[1] or match[3]), ord(match[2] or match[4])
    return [chr(code) for code in _range(first, last, match[5])]


def _numbers(first: str, last: str, step: str | None) -> list[str]:
    width = 0
    if any(re.fullmatch(r"-?0[0-9]+", end) for end in (first, last)):
        width = max(len(first), len(last))
    if "+" in first + last:
        _refuse()
    return [f"{number:0{width}d}" for number in _range(int(first), int(last), step)]


def _range(first: int, last: int, step: str | None) -> range:
    size = abs(int(step)) if step else 1
    size = size or 1
    if abs(last - first) // size >= MAX_WORDS:
        _too_many()
    return range(first, last + 1, size) if last >= first else range(first, last - 1, -size)
