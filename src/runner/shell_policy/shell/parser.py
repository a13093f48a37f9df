"""The grammar: lists, pipelines, simple commands. Compound commands are in `compound`."""

from __future__ import annotations

import re

from runner.shell_policy.shell.nodes import (
    Assign,
    Chain,
    CommandNode,
    Literal,
    Part,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    WordNode,
)
from runner.shell_policy.shell.words import WordScanner

_RESERVED = re.compile(
    r"(?:if|then|else|elif|fi|do|done|case|esac|while|until|for|select|in|function|time|coproc"
    r"|\{|\}|!|\[\[|\]\])(?=[ \t\n;&|<>()]|\Z)"
)
RESERVED_WORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "do",
        "done",
        "case",
        "esac",
        "while",
        "until",
        "for",
        "select",
        "in",
        "function",
        "time",
        "coproc",
        "{",
        "}",
        "!",
        "[[",
        "]]",
    ]
)
CLOSERS = frozenset(["then", "else", "elif", "fi", "do", "done", "esac", "}"])
DECLARATIONS = frozenset(["declare", "typeset", "local", "export", "readonly"])
_ASSIGN_SENSITIVE = DECLARATIONS | {"alias", "eval", "let"}
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?=)|(\[))")
_WORD_ENDS = ("", " ", "\t", "\n", ";", "&", "|", "<", ">", ")")
_SPLIT_NAME = re.compile(r"(?:[A-Za-z0-9_]*\\\n)+[A-Za-z0-9_]*[\[=+]")
_FD = re.compile(r"([0-9]{1,9})(?=[<>](?!\())")
_FD_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}(?=[<>](?!\())")
_LONG_FD = re.compile(r"(?:[0-9]|\\\n)+(?=[<>](?!\())|\{[^ \t\n;&|<>()}]*\}(?=[<>](?!\())")
_DELIMITER = re.compile(
    r"(?:[^\x00-\x20|&;()<>$`\"'\\\x7f-\xa0]|'[^'\n]*'|\"[^\"\n$`\\]*\"|\\[!-~])+"
)
_DELIMITER_QUOTES = re.compile(r"'([^']*)'|\"([^\"]*)\"|\\(.)")
_FUNCTION = re.compile(r"([^ \t\n;&|<>()$`\"'\\=]+)[ \t]*\([ \t]*\)")
_REDIRECTIONS = frozenset(
    ["<", ">", ">>", ">|", "<>", "&>", "&>>", ">&", "<&", ">&-", "<&-", "<<", "<<-", "<<<"]
)


class ListParser(WordScanner):
    """Reads lists of commands."""

    __slots__ = ()

    def reserved(self) -> str:
        """The reserved word at the position (a command position), or ""."""
        match = _RESERVED.match(self.text, self.pos)
        return match.group() if match is not None else ""

    def take_reserved(self, word: str) -> None:
        """Move over a reserved word that must come now."""
        if self.reserved() != word:
            self.unexpected(f"`{word}`")
        self.pos += len(word)
        self.skip_blanks()

    def script(self) -> Sequence:
        """Read the whole text."""
        self.budget.enter()
        sequence = self.sequence(empty=True)
        if self.pos < len(self.text):
            self.unexpected("a command")
        self._no_pending()
        self.budget.leave()
        return sequence

    def nested(self, text: str) -> Sequence:
        inner = type(self)(text, self.budget, self.functions)
        return inner.script()

    def commands_until_paren(self) -> Sequence:
        self.budget.enter()
        outer, self.pending = self.pending, []
        sequence = self.sequence(empty=True)
        if self.char() != ")":
            self.unexpected("`)`")
        self._no_pending()
        self.pending = outer
        self.pos += 1
        self.budget.leave()
        return sequence

    def _no_pending(self) -> None:
        if self.pending:
            self.fail(
                "A here-document has no body.",
                "Put the body on the lines after the one that holds `<<`.",
            )

    def sequence(self, *, empty: bool = False) -> Sequence:
        """Read commands up to a closing word or operator, which is left for the caller."""
        sequence = Sequence()
        self.skip_newlines()
        while not self._at_end():
            chain = self._chain()
            sequence.chains.append(chain)
            operator = self.operator()
            if operator == "&":
                chain.background = True
            elif operator not in (";", "\n"):
                break
            self.take(operator)
            self.skip_newlines()
        if not sequence.chains and not empty:
            self.unexpected("a command")
        return sequence

    def _at_end(self) -> bool:
        return (
            self.pos >= len(self.text)
            or self.operator() in (")", ";;", ";&", ";;&")
            or self.reserved() in CLOSERS
        )

    def _chain(self) -> Chain:
        chain = Chain()
        chain.links.append(("", self._pipeline()))
        while (operator := self.operator()) in ("&&", "||"):
            self.take(operator)
            self.skip_newlines()
            chain.links.append((operator, self._pipeline()))
        return chain

    def _pipeline(self) -> Pipeline:
        negated = False
        prefixed = False
        while (word := self.reserved()) in ("!", "time"):
            self.budget.node()
            prefixed = True
            if word == "!" and self.char(1) == "(":
                self.fail("`!(` can be read in two ways.", "Put a blank after the `!`.")
            negated = negated ^ (word == "!")
            self.take_reserved(word)
            if word == "time":
                self._time_options()
        ended = self.pos >= len(self.text) or self.operator() in (";", "\n")
        if prefixed and ended:
            return Pipeline([], negated)
        commands = [self.command()]
        while (operator := self.operator()) in ("|", "|&"):
            if operator == "|&":
                both = Redirect(">&", 2, None)
                both.target = WordNode([Literal("1", False)], "1")
                commands[-1].redirections.append(both)
            self.take(operator)
            self.skip_newlines()
            commands.append(self.command())
        return Pipeline(commands, negated)

    def _time_options(self) -> None:
        for option in ("-p", "--"):
            after = self.text[self.pos + 2 : self.pos + 3]
            if self.text.startswith(option, self.pos) and after in ("", " ", "\t", "\n", ";"):
                self.pos += 2
                self.skip_blanks()

    def command(self) -> CommandNode:
        """Read one command with its redirections."""
        self.budget.node()
        operator = self.operator()
        if operator and operator not in _REDIRECTIONS and operator != "(":
            self.unexpected("a command")
        compound = self.compound(self.reserved(), operator)
        if compound is not None:
            return compound
        return self._simple()

    def compound(self, word: str, operator: str) -> CommandNode | None:
        """Read a compound command if one begins here; given by the layer above."""
        raise NotImplementedError

    def _simple(self) -> Simple:
        command = Simple()
        start = end = self.pos
        sensitive = False
        while True:
            operator = self.operator()
            if operator in _REDIRECTIONS or self._fd_ahead():
                self.redirection(command.redirections)
            elif operator or self.pos >= len(self.text):
                break
            elif not command.words and (assign := self.assign(compound=True)) is not None:
                command.assigns.append(assign)
            else:
                sensitive = self._add_word(command, sensitive)
            end = self.pos
            self.skip_blanks()
        if end == start:
            self.unexpected("a command")
        command.source = self.text[start:end]
        return command

    def _add_word(self, command: Simple, sensitive: bool) -> bool:
        if command.words and sensitive:
            self._split_subscript()
            name = command.words[0]
            declares = isinstance(name, WordNode) and name.plain() in DECLARATIONS
            declares = declares and not command.redirections
            assign = self.assign(compound=declares)
            command.words.append(self.word() if assign is None else assign)
            return True
        first = not command.words
        if first:
            self._split_subscript()
        word = self.word()
        command.words.append(word)
        if not first:
            return False
        text = word.plain()
        if word.continued and text in RESERVED_WORDS:
            self.fail("A continuation line splits a reserved word.", "Keep it on one line.")
        return text in _ASSIGN_SENSITIVE

    def _split_subscript(self) -> None:
        if _SPLIT_NAME.match(self.text, self.pos):
            self.fail("A continuation line splits a name.", "Keep it on one line.")

    def assign(self, *, compound: bool) -> Assign | None:
        """Read an assignment if one begins here; None, and nothing read, if not."""
        match = _ASSIGN.match(self.text, self.pos)
        if match is None:
            return None
        start = self.pos
        name, operator, bracket = match.groups()
        self.pos = match.end()
        subscript: WordNode | None = None
        if bracket:
            self.pos -= 1
            subscript = self.subscript()
            operator = self._assign_operator()
            if not operator:
                self.pos = start
                return None
        self.budget.node()
        value = WordNode([], "")
        items: list[WordNode | Assign] | None = None
        if self.char() == "(":
            if not compound or bracket:
                self.unexpected("a value")
            items = self._items()
            if self.char() not in _WORD_ENDS:
                self.unexpected("a blank after the array")
        else:
            value = self._value()
        source = self.text[start : self.pos]
        assign = Assign(name, source, value, append=operator == "+=")
        assign.subscript, assign.items = subscript, items
        return assign

    def _assign_operator(self) -> str:
        operator = "+=" if self.text.startswith("+=", self.pos) else self.char()
        if operator not in ("=", "+="):
            return ""
        self.pos += len(operator)
        return operator

    def _value(self) -> WordNode:
        start = self.pos
        parts: list[Part] = []
        continued = self._unquoted(parts)
        return WordNode(parts, self.text[start : self.pos], continued)

    def _items(self) -> list[WordNode | Assign]:
        """Read `(…)` of an array assignment."""
        self.budget.enter()
        self.pos += 1
        items: list[WordNode | Assign] = []
        self.skip_newlines()
        while self.char() != ")":
            if self.operator():
                self.unexpected("`)` or an array item")
            start = self.pos
            if self.char() == "[":
                subscript = self.subscript()
                operator = self._assign_operator()
                if operator:
                    source = self.text[start : self.pos]
                    item = Assign("", source, self._value(), append=operator == "+=")
                    item.subscript = subscript
                    items.append(item)
                    self.skip_newlines()
                    continue
                self.pos = start
            items.append(self.word())
            self.skip_newlines()
        self.pos += 1
        self.budget.leave()
        return items

    def _fd_ahead(self) -> bool:
        return _LONG_FD.match(self.text, self.pos) is not None

    def redirection(self, found: list[Redirect]) -> None:
        """Read one redirection and the blanks after it."""
        self.budget.node()
        fd, name = _FD.match(self.text, self.pos), _FD_NAME.match(self.text, self.pos)
        if fd is not None:
            self.pos = fd.end()
        elif name is not None:
            self.pos = name.end()
        operator = self.operator()
        if operator not in _REDIRECTIONS:
            self.unexpected("a redirection")
        redirect = Redirect(operator, int(fd[1]) if fd else None, name[1] if name else None)
        found.append(redirect)
        if operator in (">&-", "<&-"):
            redirect.operator = operator[:2]
            redirect.target = WordNode([Literal("-", False)], "-")
            self.pos += len(operator)
            return
        self.take(operator)
        if operator in ("<<", "<<-"):
            self._delimiter(redirect)
        elif self.operator() or self.pos >= len(self.text) or self._fd_ahead():
            self.unexpected(f"a file name after `{operator}`")
        else:
            redirect.target = self.word()

    def _delimiter(self, redirect: Redirect) -> None:
        if self.substituting and self.compounds:
            self.misprinted()
        match = _DELIMITER.match(self.text, self.pos)
        following = self.text[match.end() : match.end() + 1] if match is not None else ""
        if match is None or (following and following not in " \t\n;&|<>()"):
            self.unexpected("a simple here-document delimiter such as 'EOF'")
        raw = match.group()
        redirect.delimiter = _DELIMITER_QUOTES.sub(_delimiter_text, raw)
        redirect.quoted = redirect.delimiter != raw
        self.pos = match.end()
        self.pending.append(redirect)
        self.documents += 1

    def redirections(self, command: CommandNode) -> None:
        """Read the redirections after a compound command."""
        self.skip_blanks()
        while self.operator() in _REDIRECTIONS or self._fd_ahead():
            self.redirection(command.redirections)
            self.skip_blanks()


def _delimiter_text(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3] or ""


def function_head(text: str, pos: int) -> re.Match[str] | None:
    """`name ()` at the position."""
    return _FUNCTION.match(text, pos)
