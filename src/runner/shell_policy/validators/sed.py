"""sed: its script is read completely; nothing that runs commands or names files to write."""

import re
from dataclasses import dataclass

from runner.shell_policy.context import CommandCall
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.kinds import check
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord

_FLAGS = frozenset("nrEszu")
_LONG_FLAGS = frozenset(
    [
        "--quiet",
        "--silent",
        "--regexp-extended",
        "--separate",
        "--null-data",
        "--unbuffered",
        "--posix",
        "--debug",
        "--sandbox",
    ]
)
_SUBSTITUTE_FLAGS = re.compile(r"[gpiIm0-9]*")


@dataclass(slots=True)
class _Invocation:
    scripts: list[ShellWord]
    files: list[ShellWord]
    in_place: bool = False
    suffix: str = ""


def _sed(call: CommandCall) -> None:
    found = _read(call)
    if not found.scripts:
        if not found.files:
            raise call.refuse("needs a script.")
        found.scripts.append(found.files.pop(0))
    for word in found.scripts:
        if _has_numbers(word):
            for shape in word.shapes:
                _check_numbered(call, shape)
            continue
        if word.choices is None or word.glob:
            raise call.refuse(
                f"the script {word.source} must be written out; put variables aside, or use a "
                "quoted script without them."
            )
        for text in word.choices:
            check_script(call, text)
    kind = "write" if found.in_place else "read"
    if found.in_place and not found.files:
        raise call.refuse("-i needs the files to change.")
    for word in found.files:
        _file(call, kind, word)


def _has_numbers(word: ShellWord) -> bool:
    """Whether the script is known but for line numbers (`"${n},+5p"`)."""
    return shapes.only(word.shapes, shapes.DIGITS + shapes.SIGNED)


def _check_numbered(call: CommandCall, shape: str) -> None:
    """Check the script with numbers put in; without one, sed may find it wrong and run nothing."""
    texts = [text for text in shapes.samples(shape) if "-7" not in text]
    if not texts:
        raise call.refuse("there are too many variables in the script. Use two at most.")
    check_script(call, texts[0])
    for text in texts[1:]:
        try:
            check_script(call, text)
        except _SyntaxRefusedError:
            continue


def _file(call: CommandCall, kind: str, word: ShellWord) -> None:
    if word.shapes and any(shape.startswith("-") for shape in word.shapes):
        raise call.refuse(f"{word.source} could turn into options. Name the files.")
    if word.splits and not word.numeric and not word.choices and not word.shapes:
        raise call.refuse(f"{word.source} could turn into options. Name the files.")
    if kind == "write":
        for text in word.choices or map(shapes.pattern, word.shapes):
            call.context.paths.read(text, call.cwd)
    elif _is_computed(word) and not call.context.private:
        return
    check(call, kind, word, "the file")


def _is_computed(word: ShellWord) -> bool:
    return word.choices is None and not word.prefix and not word.numeric


def _read(call: CommandCall) -> _Invocation:
    found = _Invocation([], [])
    words = list(call.args)
    while words:
        word = words.pop(0)
        text = word.choices[0] if word.choices else None
        if text is None or not text.startswith("-") or text == "-":
            odd = word.splits and not word.shapes
            if text is None and (odd or word.prefix.startswith("-")) and not word.numeric:
                raise call.refuse(f"{word.source} could turn into options. Write it out.")
            found.files.append(word)
        elif word.glob:
            raise call.refuse(f"{text} could turn into options.")
        elif text == "--":
            found.files.extend(words)
            break
        elif text.startswith("--"):
            _long(call, text, words, found)
        else:
            _cluster(call, text, words, found)
    return found


def _long(call: CommandCall, text: str, words: list[ShellWord], found: _Invocation) -> None:
    name, equals, value = text.partition("=")
    if name == "--expression":
        found.scripts.append(ShellWord.literal(value) if equals else _next(call, words, name))
    elif name == "--in-place":
        _in_place(call, found, value)
    elif name == "--line-length" and value.isdecimal():
        return
    elif text not in _LONG_FLAGS:
        raise call.refuse(f"the option {name} is not allowed.")


def _cluster(call: CommandCall, text: str, words: list[ShellWord], found: _Invocation) -> None:
    rest = text[1:]
    while rest:
        letter, rest = rest[0], rest[1:]
        if letter in _FLAGS:
            continue
        if letter == "e":
            found.scripts.append(ShellWord.literal(rest) if rest else _next(call, words, "-e"))
            return
        if letter == "i":
            _in_place(call, found, rest)
            # BSD takes the suffix as a word of its own: sed -i '' …
            if not rest and words and words[0].text == "":
                words.pop(0)
            return
        if letter == "l" and (rest.isdecimal() or (not rest and words)):
            if not rest:
                words.pop(0)
            return
        raise call.refuse(f"the option -{letter} is not allowed.")


def _in_place(call: CommandCall, found: _Invocation, suffix: str) -> None:
    call.run_only("-i")
    if not re.fullmatch(r"[\w.~-]{0,12}", suffix):
        raise call.refuse(f"the backup suffix {suffix} is not allowed.")
    found.in_place, found.suffix = True, suffix


def _next(call: CommandCall, words: list[ShellWord], name: str) -> ShellWord:
    if not words:
        raise call.refuse(f"{name} needs a value.")
    return words.pop(0)


def check_script(call: CommandCall, script: str) -> None:
    """Refuse a sed script with commands that run programs or read and write files.

    Seds disagree whether a delimiter inside brackets ends the expression, so it is read both
    ways. A syntax error in the second way is harmless: sed then runs nothing.
    """
    _Script(call, script).read()
    if "[" in script:
        try:
            _Script(call, script, brackets=False).read()
        except _SyntaxRefusedError:
            return


class _SyntaxRefusedError(PolicyRefusalError):
    """The script is not one that we, or sed, can read."""


@dataclass(slots=True)
class _Script:
    """A recursive-descent reader of sed's language; unknown means refused."""

    call: CommandCall
    text: str
    at: int = 0
    depth: int = 0
    brackets: bool = True

    def read(self) -> None:
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.text):
                break
            self._one()
        if self.depth:
            raise self._refuse("a { is not closed")

    def _one(self) -> None:
        self._addresses()
        self._skip(" \t")
        while self._peek() == "!":
            self.at += 1
            self._skip(" \t")
        letter = self._take()
        if letter == "{":
            self.depth += 1
        elif letter == "}":
            if not self.depth:
                raise self._refuse("an unexpected }")
            self.depth -= 1
        elif letter == "#":
            self._line()
        elif letter in "dDgGhHnNpPxz=F" and letter:
            self._end()
        elif letter in "qQlL" and letter:
            self._number()
            self._end()
        elif letter == "s":
            self._substitute()
        elif letter == "y":
            delimiter = self._delimiter()
            self._until(delimiter)
            self._until(delimiter)
            self._end()
        elif letter in "btT" and letter:
            self._skip(" \t")
            self._match(r"\w*")
            self._end()
        elif letter == ":":
            self._skip(" \t")
            if not self._match(r"[\w-]+"):
                raise self._refuse("a label is missing")
        elif letter in "aic" and letter:
            self._text_block()
        else:
            raise self._refuse(
                f"the command {letter or '?'}", forbidden=letter in "ewWrRvF" and letter
            )

    def _addresses(self) -> None:
        if not self._address():
            return
        self._skip(" \t")
        if self._peek() == ",":
            self.at += 1
            self._skip(" \t")
            if not (self._match(r"[+~]\d+") or self._address()):
                raise self._refuse("an address is missing")

    def _address(self) -> bool:
        if self._match(r"\d+(?:~\d+)?|\$"):
            return True
        if self._peek() == "/":
            self.at += 1
            self._until("/", in_pattern=True)
        elif self._peek() == "\\" and self.at + 1 < len(self.text):
            self.at += 1
            self._until(self._delimiter(), in_pattern=True)
        else:
            return False
        self._match(r"[IM]*")
        return True

    def _substitute(self) -> None:
        delimiter = self._delimiter()
        self._until(delimiter, in_pattern=True)
        self._until(delimiter)
        flags = self._match(r"[A-Za-z0-9]*")
        if not _SUBSTITUTE_FLAGS.fullmatch(flags):
            raise self._refuse(f"the flag in s///{flags}", forbidden=set(flags) & set("ew"))
        self._end()

    def _text_block(self) -> None:
        """`a`, `i` and `c` take the rest of the line; a backslash carries it on."""
        while True:
            line = self._line()
            if not line.endswith("\\") or self.at >= len(self.text):
                if line.endswith("\\"):
                    raise self._refuse("text that the next -e would continue")
                return

    def _line(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line, self.at = self.text[self.at : end], min(end + 1, len(self.text))
        return line

    def _delimiter(self) -> str:
        delimiter = self._take()
        if not delimiter or delimiter in "\\\n":
            raise self._refuse("the delimiter")
        return delimiter

    def _until(self, delimiter: str, *, in_pattern: bool = False) -> None:
        """Skip to the delimiter. A bracket does not hide it: GNU sed ends there as well."""
        while self.at < len(self.text):
            char = self._take()
            if char == "\\":
                self.at += 1
            elif char == delimiter:
                return
            elif in_pattern and char == "[" and self.brackets:
                self._bracket()
            elif in_pattern and char == "\n":
                break
        raise self._refuse("an unfinished expression")

    def _bracket(self) -> None:
        """Skip a bracket expression; the delimiter inside it does not count."""
        match = re.compile(r"\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]\n])*\]").match(self.text, self.at)
        if match is None:
            return
        self.at = match.end()

    def _number(self) -> None:
        self._skip(" \t")
        self._match(r"\d*")

    def _end(self) -> None:
        self._skip(" \t")
        if self._peek() not in ("", ";", "\n", "}", "#"):
            raise self._refuse(f"what follows at {self.text[self.at : self.at + 10]!r}")

    def _match(self, pattern: str) -> str:
        match = re.compile(pattern).match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def _skip(self, chars: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in chars:
            self.at += 1

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        char = self._peek()
        self.at += 1
        return char

    def _refuse(self, what: str, *, forbidden: object = False) -> PolicyRefusalError:
        refusal = self.call.refuse(
            f"{what} is not allowed in a script: {self.text[:60]}. Use s, p, d, q, n, a, i, c, y "
            "with addresses; write files by redirection."
        )
        return refusal if forbidden else _SyntaxRefusedError(refusal.rule, refusal.reason)


VALIDATORS = {"sed": _sed}
