"""Compound commands, function definitions, `[[ … ]]`: the top layer of the parser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from runner.shell_policy.shell.limits import MAX_REDIRECTIONS
from runner.shell_policy.shell.nodes import (
    ArithmeticCommand,
    Case,
    CommandNode,
    Condition,
    Coproc,
    For,
    ForArithmetic,
    Function,
    GroupNode,
    If,
    Literal,
    Part,
    Sequence,
    Simple,
    While,
    WordNode,
)
from runner.shell_policy.shell.parser import RESERVED_WORDS, ListParser, function_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell.limits import AnalysisBudget

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;])")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_FUNCTION_WORD = re.compile(r"([A-Za-z_][A-Za-z0-9_.:-]*)(?:[ \t]*\([ \t]*\)|(?=[ \t\n]))")
_COPROC_NAME = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+(?=(?:\{|\[\[|if|while|until|for|case|select)[ \t\n]|\()"
)
_CONDITION_END = re.compile(r"\]\](?=[ \t\n;&|<>()]|\Z)")
# Plain characters and at least one group of plain alternatives, up to a blank.
_EXTENDED = re.compile(r"[\w.*?/-]*(?:[@?*+!]\([\w.*?/|-]+\)[\w.*?/-]*)+(?=[ \t\n])", re.ASCII)
_UNARY = re.compile(r"-[a-hknoprstuvwxzGLNORS](?=[ \t])")
_UNARY_ALONE = re.compile(r"-[a-hknoprstuvwxzGLNORS](?=[<>&|()])")
_BINARY = re.compile(r"(?:==|=~|=|!=|-(?:eq|ne|lt|le|gt|ge|ef|nt|ot))(?=[ \t])|[<>](?!\()")
_REGEX_PLAIN = re.compile(r"[^\x00-\x20|&;()<>$`\"'\\\x7f-\xa0]+")


class Parser(ListParser):
    """Reads every kind of command. `Parser(text, Budget(), set()).script()` is the entry."""

    __slots__ = ()

    def compound(self, word: str, operator: str) -> CommandNode | None:
        self.compounds += 1
        command = self._bare_compound(word, operator)
        self.compounds -= 1
        if command is None:
            return None
        self.redirections(command)
        if len(command.redirections) > MAX_REDIRECTIONS:
            self.fail("There are too many redirections.", "Use fewer.")
        return command

    def _bare_compound(self, word: str, operator: str) -> CommandNode | None:
        if operator == "(":
            return self._parenthesis()
        if not word:
            return self._function_by_parens()
        reader = self._readers.get(word)
        if reader is None:
            self.unexpected("a command")
        self.budget.enter()
        start = self.pos
        self.take_reserved(word)
        command = reader(self, word)
        self.budget.leave()
        if self.pos == start:
            self.unexpected("a command")
        return command

    def _parenthesis(self) -> CommandNode:
        self.pos += 1
        if self.text.startswith("\\\n", self.pos):
            self.fail("A continuation line follows `(`.", "Keep the start on one line.")
        if self.char() == "(":
            self.pos += 1
            return ArithmeticCommand(self.arithmetic())
        body = self.commands_until_paren()
        if not body.chains:
            self.unexpected("a command")
        return GroupNode(body, subshell=True)

    def _group(self, _word: str) -> CommandNode:
        body = self.sequence()
        self._close("}")
        return GroupNode(body, subshell=False)

    def _close(self, word: str) -> None:
        if self.reserved() != word:
            self.unexpected(f"`{word}`")
        self.pos += len(word)

    def _if(self, _word: str) -> CommandNode:
        command = If()
        while True:
            condition = self.sequence()
            self.take_reserved("then")
            command.clauses.append((condition, self.sequence()))
            if self.reserved() != "elif":
                break
            self.take_reserved("elif")
        if self.reserved() == "else":
            self.take_reserved("else")
            command.otherwise = self.sequence()
        self._close("fi")
        return command

    def _body(self) -> Sequence:
        self.take_reserved("do")
        body = self.sequence()
        self._close("done")
        return body

    def _while(self, word: str) -> CommandNode:
        condition = self.sequence()
        return While(condition, self._body(), until=word == "until")

    def _for(self, word: str) -> CommandNode:
        if word == "for" and self.text.startswith("((", self.pos):
            return self._for_arithmetic()
        match = _NAME.match(self.text, self.pos)
        if match is None:
            self.unexpected("a variable name")
        self.pos = match.end()
        self.skip_blanks()
        words: list[WordNode] | None = None
        if self.operator() != ";":
            self.skip_newlines()
        if self.reserved() == "in":
            self.take_reserved("in")
            words = []
            while not self.operator() and self.pos < len(self.text):
                words.append(self.word())
                self.skip_blanks()
        self._separator(required=words is not None)
        return For(match.group(), words, self._body(), select=word == "select")

    def _separator(self, *, required: bool) -> None:
        operator = self.operator()
        if operator in (";", "\n"):
            self.take(operator)
        elif required:
            self.unexpected("`;` or a line feed")
        self.skip_newlines()

    def _for_arithmetic(self) -> CommandNode:
        self.pos += 2
        expression = self.arithmetic(semicolons=True)
        if sum(isinstance(part, Literal) and part.text == ";" for part in expression.parts) != 2:
            self.unexpected("three expressions in `for ((…))`")
        self.skip_blanks()
        self._separator(required=False)
        return ForArithmetic(expression, self._body())

    def _case(self, _word: str) -> CommandNode:
        command = Case(self.word())
        self.skip_newlines()
        self.take_reserved("in")
        self.skip_newlines()
        while self.reserved() != "esac":
            patterns = self._patterns()
            body = self.sequence(empty=True)
            operator = self.operator()
            command.clauses.append((patterns, body, operator))
            if operator not in (";;", ";&", ";;&"):
                break
            self.take(operator)
            self.skip_newlines()
        self._close("esac")
        return command

    def _patterns(self) -> list[WordNode]:
        self.budget.node()
        if self.operator() == "(":
            self.take("(")
        patterns: list[WordNode] = []
        while True:
            if self.operator():
                self.unexpected("a pattern")
            patterns.append(self.word())
            self.skip_blanks()
            operator = self.operator()
            if operator not in ("|", ")"):
                self.unexpected("`)` after the pattern")
            self.take(operator)
            if operator == ")":
                return patterns

    def _function(self, _word: str) -> CommandNode:
        match = _FUNCTION_WORD.match(self.text, self.pos)
        if match is None:
            self.unexpected("a function name")
        return self._function_body(match)

    def _function_by_parens(self) -> CommandNode | None:
        match = function_head(self.text, self.pos)
        if match is None:
            return None
        if _FUNCTION_NAME.fullmatch(match[1]) is None or match[1] in RESERVED_WORDS:
            self.unexpected("a plain function name")
        self.budget.enter()
        function = self._function_body(match)
        self.budget.leave()
        return function

    def _function_body(self, match: re.Match[str]) -> CommandNode:
        self.pos = match.end()
        self.skip_newlines()
        self.functions.add(match[1])
        word, operator = self.reserved(), self.operator()
        if operator != "(" and word not in self._bodies:
            self.unexpected("the function's body in braces")
        body = self.compound(word, operator)
        if body is None:
            self.unexpected("the function's body in braces")
        return Function(match[1], body)

    def _coproc(self, _word: str) -> CommandNode:
        match = _COPROC_NAME.match(self.text, self.pos)
        name = "COPROC"
        if match is not None and match[1] not in RESERVED_WORDS:
            name = match[1]
            self.pos = match.end()
        body = self.command()
        if isinstance(body, Function | Coproc):
            self.unexpected("a command")
        if isinstance(body, Simple):
            name = "COPROC"
            if any(
                isinstance(one, WordNode) and one.plain() in RESERVED_WORDS for one in body.words
            ):
                self.unexpected("a plain command after `coproc`")
        return Coproc(name, body)

    def _condition(self, _word: str) -> CommandNode:
        command = Condition()
        self._condition_list(command)
        if _CONDITION_END.match(self.text, self.pos) is None:
            self.unexpected("`]]`")
        self.pos += 2
        return command

    def _condition_list(self, command: Condition) -> None:
        """Read tests joined by `&&` and `||`, up to `)` or `]]`."""
        self.budget.enter()
        while True:
            self.skip_newlines()
            while self.char() == "!" and self.char(1) in (" ", "\t"):
                self.pos += 1
                self.skip_blanks()
            self._test(command)
            self.skip_newlines()
            operator = self.operator()
            if operator not in ("&&", "||"):
                break
            self.take(operator)
        self.budget.leave()

    def _test(self, command: Condition) -> None:
        self.budget.node()
        if self.operator() == "(":
            self.take("(")
            self._condition_list(command)
            if self.operator() != ")":
                self.unexpected("`)`")
            self.take(")")
            return
        unary = _UNARY.match(self.text, self.pos)
        if unary is not None:
            self.pos = unary.end()
            self.skip_blanks()
            command.tests.append((unary.group(), [self._operand_word()]))
            return
        if _UNARY_ALONE.match(self.text, self.pos):
            self.unexpected("a blank and an operand")
        left = self._operand_word()
        self.skip_blanks()
        binary = _BINARY.match(self.text, self.pos)
        if binary is None:
            command.tests.append(("", [left]))
            return
        self.pos = binary.end()
        self.skip_blanks()
        right = self._regex() if binary.group() == "=~" else self._pattern_word(binary.group())
        command.tests.append((binary.group(), [left, right]))

    def _operand_word(self) -> WordNode:
        if self.operator() or _CONDITION_END.match(self.text, self.pos):
            self.unexpected("an operand")
        return self.word()

    def _pattern_word(self, operator: str) -> WordNode:
        """The right side of `==`, where bash always knows extended patterns: `@(a|b)*`."""
        pattern = _EXTENDED.match(self.text, self.pos) if operator in ("=", "==", "!=") else None
        if pattern is None:
            return self._operand_word()
        self.pos = pattern.end()
        return WordNode([Literal(pattern.group(), True)], pattern.group())

    def _regex(self) -> WordNode:
        """Read the right side of `=~`, where parentheses and `|` are ordinary."""
        start = self.pos
        parts: list[Part] = []
        depth = 0
        while True:
            match = _REGEX_PLAIN.match(self.text, self.pos)
            char = self.char()
            if match is not None:
                parts.append(Literal(match.group(), False))
                self.pos = match.end()
            elif char in ("(", ")", "|") or (depth and char in (" ", "\t", "<", ">", ";", "&")):
                depth += (char == "(") - (char == ")")
                parts.append(Literal(char, False))
                self.pos += 1
            elif char in ("'", '"', "\\", "$", "`") and char:
                self._quoting(char, parts)
            else:
                break
            if depth < 0:
                self.unexpected("a balanced regular expression")
        if self.pos == start or depth:
            self.unexpected("a balanced regular expression")
        return WordNode(parts, self.text[start : self.pos])

    _readers: ClassVar[dict[str, Callable[[Parser, str], CommandNode]]] = {
        "{": _group,
        "if": _if,
        "while": _while,
        "until": _while,
        "for": _for,
        "select": _for,
        "case": _case,
        "function": _function,
        "coproc": _coproc,
        "[[": _condition,
    }
    _bodies = frozenset(_readers) - {"function", "coproc"}


def parse(text: str, budget: AnalysisBudget, functions: set[str]) -> Sequence:
    """Parse a complete text.

    Args:
        text: what bash would be given.
        budget: the bounds, shared by everything nested.
        functions: receives the names of the functions that the text defines.

    Raises:
        ShellParseError: it is not positively understood.
    """
    return Parser(text, budget, functions).script()
