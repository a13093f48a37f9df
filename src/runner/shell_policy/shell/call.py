"""One call of a command, as the shell itself sees it: its name, its words, its options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from runner.shell_policy.shell.facts import ShellAssignment
from runner.shell_policy.shell.limits import ShellParseError
from runner.shell_policy.shell.names import check_target
from runner.shell_policy.shell.values import EMPTY, Value, any_item, join, literal

if TYPE_CHECKING:
    from runner.shell_policy.shell.nodes import Simple
    from runner.shell_policy.shell.ports import ShellPort

_KEEPING = frozenset(
    {"eval", "source", ".", "exec", "trap", "declare", "typeset", "local", "export", "readonly"}
)
_ATTACHED = re.compile(r"-[A-Za-z]")


def text_of(value: Value) -> str | None:
    """The one text a word certainly is."""
    if value.choices is None or len(value.choices) != 1 or value.glob or value.splits:
        return None
    return value.choices[0]


class ShellCall:
    """One call of a command, as far as it concerns the shell itself."""

    def __init__(
        self,
        walk: ShellPort,
        command: Simple,
        words: list[Value],
        assignments: list[ShellAssignment],
    ) -> None:
        self.walk = walk
        self.command = command
        self.assignments = assignments
        self.prefixed = 0
        self.words = self._unwrapped(words)
        self.name = text_of(self.words[0]) if self.words else None
        self.args = self.words[1:]

    def _unwrapped(self, words: list[Value]) -> list[Value]:
        """The words after `command`, `builtin` and their harmless options."""
        while words and text_of(words[0]) in ("command", "builtin"):
            rest = 1
            while rest < len(words) and text_of(words[rest]) in ("--", "-p"):
                rest += 1
            if rest >= len(words) or (text_of(words[rest]) or "-").startswith("-"):
                return []
            words = words[rest:]
            self.prefixed += rest
        return words

    @property
    def is_function(self) -> bool:
        return self.name in self.walk.functions and not self.prefixed

    @property
    def keeps_assignments(self) -> bool:
        """Whether assignments before the command are seen by code of this same shell."""
        return self.is_function or self.name in _KEEPING

    def set(self, name: str, value: Value) -> None:
        """Assign, and report it with the command."""
        value = self.walk.environment.assign(name, value)
        self.assignments.append(ShellAssignment(name, any_item(value).word(self.command.source)))

    def set_all(self, target: Value, value: Value) -> None:
        names = check_target(target, self.command.source)
        for name in names:
            old = self.walk.environment.lookup(name)
            keep = len(names) > 1 or old.many
            self.set(name, join(old, value) if keep else value)

    def refuse(self, what: str, hint: str) -> NoReturn:
        raise ShellParseError(f"`{self.name}`: {what}.", hint=hint)

    def options(self, with_value: str) -> tuple[list[tuple[str, Value]], list[Value]]:
        """Short options (each with its value) and operands; every option must be certain."""
        found: list[tuple[str, Value]] = []
        position = 0
        while position < len(self.args):
            text = text_of(self.args[position])
            if text is None:
                self.check_operand(self.args[position])
                break
            if text == "--":
                position += 1
                break
            if not _ATTACHED.match(text):
                break
            position = self._cluster(text, position, with_value, found)
        return found, self.args[position:]

    def check_operand(self, value: Value) -> None:
        texts = value.choices if not value.glob else None
        if texts is None and (value.prefix[:1] not in ("", "-") or _plain_number(value)):
            return
        if texts is None or any(text.startswith("-") for text in texts):
            self.refuse("an argument may be an option", "Write options and names literally.")

    def _cluster(
        self, text: str, position: int, with_value: str, found: list[tuple[str, Value]]
    ) -> int:
        for index, letter in enumerate(text[1:], 1):
            if letter not in with_value:
                found.append((letter, EMPTY))
                continue
            if text[index + 1 :]:
                found.append((letter, literal(text[index + 1 :])))
                return position + 1
            if position + 1 >= len(self.args):
                self.refuse("an option lacks its value", "Add it.")
            found.append((letter, self.args[position + 1]))
            return position + 2
        return position + 1


def _plain_number(value: Value) -> bool:
    return value.numeric and not value.signed
