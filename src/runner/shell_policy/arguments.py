"""Read a command's arguments by its option table: exact names, exact clusters, no guessing.

What is not in the table is refused. A word whose value is not known may stand where the
table makes it harmless: as an operand that can't be an option, or anywhere for commands
marked `unknown = "any"` in the profiles.
"""

import re
from dataclasses import dataclass, field, replace

from runner.shell_policy.context import Arguments, Context
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.table import CommandOption, CommandRule

# `--include=*.py`: a pattern in an option's value, which expands to nothing but such a name.
_NAMED_PATTERN = re.compile(r"--[\w-]+=")
_GLOB_START = re.compile(r"[*?\[]")


# How many allowed options a denial lists.
_MANY = 14


@dataclass(slots=True)
class _Reader:
    """Walks over the words of one command."""

    rule: CommandRule
    words: tuple[ShellWord, ...]
    context: Context
    cwd: str | None
    position: int = 0
    options: list[tuple[str, ShellWord | None]] = field(default_factory=list)
    operands: list[ShellWord] = field(default_factory=list)

    def read(self) -> Arguments:
        while self.position < len(self.words):
            word = self.words[self.position]
            self.position += 1
            if word.text == "--" and self.rule.style != "raw":
                self.operands.extend(self.words[self.position :])
                break
            word = self._settled(word)
            if self._operand(word):
                self.operands.append(word)
                if self.rule.stop:
                    self.operands.extend(self.words[self.position :])
                    break
        return Arguments(tuple(self.options), tuple(self.operands))

    def _settled(self, word: ShellWord) -> ShellWord:
        """A commit that git printed, for the commands of git that only look at commits."""
        if not any(shapes.COMMIT in shape for shape in word.shapes) or len(word.shapes) != 1:
            return word
        empty = shapes.HOLE.sub("", word.shapes[0])
        if self.rule.data.get("commits") != "read" or empty.startswith("-"):
            return word
        if word.shapes[0].startswith(shapes.COMMIT) and (
            self.context.paths.facts.has_option_like_refs()
        ):
            return word
        text = shapes.pattern(word.shapes[0].replace(shapes.COMMIT, "0badc0de"))
        return ShellWord((text,), prefix=text, source=word.source)

    def _shaped(self, word: ShellWord) -> bool:
        """Take in a word with holes; return whether it is an operand."""
        for shape in word.shapes:
            first = shapes.HOLE.match(shape)
            if shape.startswith("-") and len(word.shapes) == 1 and self._certain(word):
                self._shaped_option(shape, word)
                return False
            if shape.startswith("-") or (first and not self._no_option(shape, first[0])):
                raise self._ambiguous(word)
            if first and first[0] in shapes.NAME + shapes.LISTED:
                pattern = shapes.pattern(shape)
                for folder in {self.cwd, "."}:
                    refuse_dash_names(self.rule, pattern, self.context, folder)
        return True

    def _no_option(self, shape: str, first: str) -> bool:
        """Whether a text that begins with a hole can't begin with a dash."""
        if first in shapes.SIGNED + shapes.COMMIT + shapes.PLACE + shapes.REST:
            return False
        return not shapes.HOLE.sub("", shape).startswith("-")

    def _certain(self, word: ShellWord) -> bool:
        """Whether it is one word: digits may be quoted or not."""
        return not word.splits or shapes.only(word.shapes, shapes.DIGITS)

    def _shaped_option(self, shape: str, word: ShellWord) -> None:
        """An option that is written out, with a value that has holes (`-j$(nproc)`)."""
        name, equals, value = shape.partition("=")
        if equals and (name.startswith("--") or self.rule.style == "long"):
            option = self._option(name)
            if option.arity != "flag":
                self._add(name, _with_holes(value, word))
                return
        elif self.rule.number_option and shape == "-" + shapes.DIGITS:
            self._add("-NUMBER", _with_holes(shapes.DIGITS, word))
            return
        elif self.rule.style != "long" and not shape.startswith("--"):
            option = self._option(shape[:2])
            if option.arity == "may_take" or (option.arity == "takes" and option.kind == "number"):
                self._add(shape[:2], _with_holes(shape[2:], word))
                return
        raise self._ambiguous(word)

    def _ambiguous(self, word: ShellWord) -> PolicyRefusalError:
        return _refuse(
            self.rule,
            f"{word.source or 'a computed word'} could turn into an option. Write the value "
            "out, or put a fixed beginning such as ./ before it.",
        )

    def _operand(self, word: ShellWord) -> bool:
        """Take in one word; return whether it is an operand."""
        text = word.choices[0] if word.choices else None
        if text is None:
            return self._unknown(word)
        if word.glob and (_GLOB_START.match(text) or text.startswith("-")):
            name = text.partition("=")[0]
            if _NAMED_PATTERN.match(text) and self._option(name).kind != "write":
                refuse_dash_names(self.rule, text, self.context, self.cwd)
                self._long(text, replace(word, glob=False))
                return False
            refuse_dash_glob(self.rule, word, self.context, self.cwd)
            return True
        if text == "-" or not text.startswith("-") or self._signed_number(word, text):
            return True
        if self.rule.style == "long" or text.startswith("--"):
            self._long(text, word)
        else:
            self._cluster(text, word)
        return False

    def _signed_number(self, word: ShellWord, text: str) -> bool:
        if self.rule.number_option and re.fullmatch(r"-\d+", text):
            self.options.append(("-NUMBER", word))
            return False
        return False

    def _unknown(self, word: ShellWord) -> bool:
        if self.rule.unknown == "any" and re.match(r"--\w[\w-]*=", word.prefix):
            self._option(word.prefix.partition("=")[0])
        if word.numeric or self.rule.unknown == "any":
            return True
        if word.shapes:
            return self._shaped(word)
        if word.prefix.startswith("--") and "=" in word.prefix and not word.splits:
            name, _, start = word.prefix.partition("=")
            option = self._option(name)
            if option.arity == "flag":
                raise _refuse(self.rule, f"{name} takes no value.")
            self.options.append((name, ShellWord(None, prefix=start, source=word.source)))
            return False
        if word.splits or not word.prefix or word.prefix.startswith("-"):
            raise self._ambiguous(word)
        return True

    def _option(self, name: str) -> CommandOption:
        option = self.rule.options.get(name)
        if option is None:
            raise _refuse(self.rule, _unknown_option(self.rule, name))
        if option.run_only and self.context.mode == "sync":
            raise _refuse(self.rule, f"{name} changes files, and this session is read-only.")
        return option

    def _long(self, text: str, word: ShellWord) -> None:
        name, equals, value = text.partition("=")
        if self.rule.number_option and re.fullmatch(r"-\d+", text):
            self.options.append(("-NUMBER", word))
            return
        if equals and self._add_switch(text):
            return
        listed = self.rule.options.get(name)
        flag = listed is not None and listed.arity == "flag"
        if equals and flag and value in ("false", "0") and _takes_booleans(self.rule):
            # What is switched off is as good as not there: `-check=false` checks nothing.
            return
        option = self._option(name)
        if equals and option.arity == "flag":
            if not (value in _BOOLEANS and _takes_booleans(self.rule)):
                raise _refuse(self.rule, f"{name} takes no value.")
            self._add(name, None)
        elif equals:
            self._add(name, ShellWord((value,), prefix=value, glob=word.glob, source=word.source))
        elif option.arity == "takes_two":
            self._next(name)
            self._add(name, self._next(name))
        elif option.arity == "takes":
            self._add(name, self._next(name))
        elif self._switched_off():
            return
        else:
            self._add(name, None)

    def _add_switch(self, text: str) -> bool:
        """Take in `--persistent=n`, where a table lists one value of an option as a switch."""
        option = self.rule.options.get(text)
        if option is None or option.arity != "flag":
            return False
        self._add(self._option(text).name, None)
        return True

    def _switched_off(self) -> bool:
        """`--clearScreen false`, as tools written for node take it; at worst it is a file's name."""
        here = self.words[self.position : self.position + 1]
        plain = not self.rule.sub and self.rule.wrapper is None
        text = here[0].text if here and plain and _is_for_node(self.rule) else None
        self.position += text in ("true", "false")
        return text == "false"

    def _cluster(self, text: str, word: ShellWord) -> None:
        if self.rule.number_option and re.fullmatch(r"-\d+", text):
            self._add("-NUMBER", word)
            return
        if text in self.rule.options and len(text) > 2:
            option = self._option(text)
            self._add(text, self._next(text) if option.arity == "takes" else None)
            return
        if len(text) > 2 and "=" in text and text.partition("=")[0] in self.rule.options:
            name = text.partition("=")[0]
            if len(name) > 2:
                self._long(text, word)
                return
        rest = text[1:]
        while rest:
            name, rest = "-" + rest[0], rest[1:]
            option = self._option(name)
            if option.arity == "flag":
                self._add(name, None)
            elif rest or option.arity == "may_take":
                attached = ShellWord((rest,), prefix=rest, glob=word.glob, source=word.source)
                self._add(name, attached if rest else None)
                return
            else:
                self._add(name, self._next(name))

    def _next(self, name: str) -> ShellWord:
        if self.position >= len(self.words):
            raise _refuse(self.rule, f"{name} needs a value.")
        word = self.words[self.position]
        self.position += 1
        counted = word.numeric or shapes.only(word.shapes, shapes.DIGITS + shapes.SIGNED)
        # The first piece keeps the fixed beginning, and names do not split into options.
        counted = counted or (bool(word.shapes) and not any(map(shapes.HOLE.match, word.shapes)))
        if word.splits and not counted and self.rule.unknown != "any":
            raise _refuse(
                self.rule,
                f"{word.source}, the value of {name}, could split into options. Quote it.",
            )
        if word.glob and word.choices is not None:
            raise _refuse(self.rule, f"the value of {name} can't be a pattern. Quote it.")
        return word

    def _add(self, name: str, value: ShellWord | None) -> None:
        self.options.append((name, value))


def _with_holes(text: str, word: ShellWord) -> ShellWord:
    """The value of an option, of which the whole word is `word`."""
    if not shapes.HOLE.search(text):
        return ShellWord((text,), prefix=text, source=word.source)
    if text == shapes.DIGITS:
        return ShellWord(None, numeric=True, source=word.source)
    return ShellWord(None, prefix=shapes.beginning(text), source=word.source, shapes=(text,))


_BOOLEANS = frozenset({"true", "false", "0", "1"})


def _takes_booleans(rule: CommandRule) -> bool:
    """Go's and Java's options, and those of tools written for node."""
    return rule.style == "long" or rule.profile == "go" or _is_for_node(rule)


def _is_for_node(rule: CommandRule) -> bool:
    return rule.profile in ("node", "bun")


def read_arguments(
    rule: CommandRule, words: tuple[ShellWord, ...], context: Context, cwd: str | None
) -> Arguments:
    """Split words into options and operands. Raises RefusedError for what is not in the table."""
    if rule.style == "raw":
        return Arguments((), words)
    return _Reader(rule, words, context, cwd).read()


def refuse_dash_glob(rule: CommandRule, word: ShellWord, context: Context, cwd: str | None) -> None:
    """Refuse a pattern that matches an existing name beginning with '-' (an option to be)."""
    pattern = word.choices[0] if word.choices else ""
    if pattern.startswith("-"):
        raise _refuse(rule, f"{pattern} would be taken for an option. Begin it with ./ instead.")
    refuse_dash_names(rule, pattern, context, cwd)


def refuse_dash_names(rule: CommandRule, pattern: str, context: Context, cwd: str | None) -> None:
    """Refuse while a name beginning with '-' lies in the working directory."""
    folder = context.paths.absolute(".", cwd)
    if folder is None:
        return
    if any(entry.name.startswith("-") for entry in context.paths.facts.entries(folder)):
        raise _refuse(rule, f"{pattern} matches a name that begins with '-'. Use ./{pattern}.")


def _unknown_option(rule: CommandRule, name: str) -> str:
    if rule.instead:
        return f"the option {name} is not allowed. {rule.instead}"
    names = sorted(rule.options)
    known = ", ".join(names[:_MANY]) + (" and more" if len(names) > _MANY else "")
    return f"the option {name} is not allowed. Allowed: {known or 'none'}."


def _refuse(rule: CommandRule, reason: str) -> PolicyRefusalError:
    return PolicyRefusalError(rule.rule, f"{rule.name}: {reason}")
