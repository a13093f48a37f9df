"""Words to values: braces, tilde, parameters, substitutions, splitting and globs, in order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell import outputs, parameters, shapes
from runner.shell_policy.shell.arithmetic import check as check_arithmetic
from runner.shell_policy.shell.braces import expand as expand_braces
from runner.shell_policy.shell.nodes import (
    Arithmetic,
    Literal,
    Part,
    Sequence,
    Simple,
    Substitution,
    WordNode,
)
from runner.shell_policy.shell.nodes import Variable as VariablePart
from runner.shell_policy.shell.printed import printed
from runner.shell_policy.shell.values import (
    EMPTY,
    SIGNED,
    UNKNOWN,
    Value,
    any_item,
    concat,
    join,
    literal,
    one_of,
    shaped,
)

if TYPE_CHECKING:
    from runner.shell_policy.shell.ports import Host

_GLOB = re.compile(r"[*?\[]|[@+!]\(")
_TILDE = re.compile(r"~([A-Za-z0-9_.+-]*)(?=/|:|\Z)")
_LATER_TILDE = re.compile(r"[=:]~")
_FIELD = re.compile(r"[^ \t\n]+")
_NUMBERS = Value(numeric=True, safe=True)


class Expander:
    """Expands words in the host's current state; visits what is nested in them."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def fields(self, word: WordNode) -> list[Value]:
        """The words that one word of a command becomes."""
        parts = word.parts
        if len(parts) == 1:
            part = parts[0]
            if isinstance(part, Literal) and (
                part.quoted or part.text == "[" or not _special(part.text)
            ):
                return [literal(part.text)]
        fields: list[Value] = []
        for expanded in expand_braces(parts):
            fields.extend(self._split(expanded))
        self.host.budget.expanded(len(fields))
        return fields

    def single(self, word: WordNode) -> Value:
        """The value where bash neither splits nor globs: assignments, `case`, `[[`."""
        return concat(list(map(_joined, self._values(word.parts, assignment=True))) or [EMPTY])

    def target(self, word: WordNode) -> Value:
        """A redirection's target: expanded like a word, and refused by bash unless it is one."""
        fields = self.fields(word)
        return fields[0] if len(fields) == 1 else Value(splits=True)

    def body(self, word: WordNode) -> Value:
        """A here-document's body, where a tilde means nothing."""
        return concat([_joined(self._value(part)) for part in word.parts] or [EMPTY])

    def arithmetic(self, word: WordNode) -> None:
        """Visit an expression.

        Raises:
            ShellParseError: something in it may not be a number.
        """
        check_arithmetic(word, self.host, self._value)

    def _values(self, parts: list[Part], *, assignment: bool) -> list[Value]:
        values: list[Value] = []
        for index in range(len(parts)):
            values.extend(self._values_at(parts, index, assignment=assignment))
        return values

    def _tilde(self, text: str, first: bool, last: bool, assignment: bool) -> list[Value]:
        """Literal text that holds a tilde, expanded where bash would, unknown if in doubt."""
        match = _TILDE.match(text) if first else None
        if match is not None and (last or match.end() < len(text)):
            home = self.host.environment.lookup("HOME") if not match[1] else UNKNOWN
            rest = text[match.end() :]
            if rest[:1] == ":" and not assignment:
                return [UNKNOWN]
            if _LATER_TILDE.search(rest):
                return [UNKNOWN]
            return [any_item(home), literal(rest)] if rest else [any_item(home)]
        if (first and text.startswith("~")) or _LATER_TILDE.search(text):
            return [UNKNOWN]
        return [literal(text)]

    def _value(self, part: Part) -> Value:
        if isinstance(part, Literal):
            return literal(part.text)
        if isinstance(part, VariablePart):
            return parameters.evaluate(part, self.host, self)
        if isinstance(part, Arithmetic):
            self.arithmetic(part.expression)
            return SIGNED
        return self._substitution(part)

    def _substitution(self, part: Substitution) -> Value:
        self.host.substitution(part.body)
        if part.kind != "$":
            return Value(prefix="/dev/fd/", nospace=True, nonempty=True)
        if outputs.numeric(part.body):
            return _NUMBERS
        if outputs.is_pwd(part.body):
            return self.host.environment.lookup("PWD")
        temporary = outputs.temporary(part.body)
        if temporary is not None:
            return literal(temporary)
        redirect = outputs.here_document(part.body)
        if redirect is not None:
            value = self.body(redirect.target)
            if value.choices is not None and len(value.choices) == 1:
                return literal(value.choices[0].rstrip("\n"))
        return self._output(part.body)

    def _output(self, body: Sequence) -> Value:
        """What is known of the lines that a list prints, of which `||` tries each in turn."""
        found: Value | None = None
        for pipeline in outputs.alternatives(body):
            value = self.printed(pipeline)
            if value is None:
                return UNKNOWN
            found = value if found is None else join(found, value)
        return found or UNKNOWN

    def printed(self, pipeline: list[Simple]) -> Value | None:
        """What is known of each line that a pipeline prints."""
        commands: list[list[Value]] = []
        found = len(self.host.commands)
        for command in pipeline:
            words = [word for word in command.words if isinstance(word, WordNode)]
            name = words[0].plain() if len(words) == len(command.words) else None
            if name not in outputs.MODELLED:
                return None
            commands.append([field for word in words for field in self._again(word)])
        # These words are visited where the pipeline runs as well.
        del self.host.commands[found:]
        return printed(commands)

    def _again(self, word: WordNode) -> list[Value]:
        """The fields of a word that is visited elsewhere, unless looking again would assign."""
        simple = all(isinstance(p, Literal) or _only_reads(p) for p in word.parts)
        return self.fields(word) if simple else [Value(splits=True)]

    def _split(self, parts: list[Part]) -> list[Value]:
        """The fields of one word after brace expansion."""
        if len(parts) == 1 and not isinstance(parts[0], Literal):
            return self._alone(parts[0])
        values: list[Value] = []
        unquoted: list[bool] = []
        glob = False
        for index, part in enumerate(parts):
            found = self._values_at(parts, index, assignment=False)
            values.extend(found)
            open_part = not (isinstance(part, Literal) or part.quoted or _is_process(part))
            unquoted.extend([open_part] * len(found))
            if isinstance(part, Literal) and not part.quoted:
                glob = glob or _GLOB.search(part.text) is not None
        return self._join_fields(values, unquoted, glob)

    def _values_at(self, parts: list[Part], index: int, *, assignment: bool) -> list[Value]:
        part = parts[index]
        if isinstance(part, Literal) and not part.quoted and "~" in part.text:
            return self._tilde(part.text, index == 0, index == len(parts) - 1, assignment)
        return [self._value(part)]

    def _alone(self, part: Part) -> list[Value]:
        """A word that is one expansion and nothing else."""
        value = self._value(part)
        if isinstance(part, Literal) or part.quoted or _is_process(part):
            if not value.many:
                return [value]
            return self._elements(value)
        if value.items is not None and not self._ifs_changed():
            return [field for item in value.items for field in self._unquoted(item)]
        if value.many:
            return [_several(any_item(value))]
        return self._unquoted(value)

    def _elements(self, value: Value) -> list[Value]:
        if value.items is not None:
            return list(value.items)
        return [_several(any_item(value))]

    def _ifs_changed(self) -> bool:
        return "ifs" in self.host.environment.knowledge.flags

    def _unquoted(self, value: Value) -> list[Value]:
        """What an unquoted expansion of one value becomes."""
        if self._ifs_changed():
            return [Value(splits=True, glob=True)]
        if value.choices is None:
            return [_unknown_field(value)]
        if len(value.choices) == 1:
            return [_globbed(literal(text)) for text in _FIELD.findall(value.choices[0])]
        if value.nospace and value.nonempty:
            return [_globbed(value)]
        texts = [field for choice in value.choices for field in _FIELD.findall(choice)]
        return [_several(_globbed(one_of(texts or [""])))]

    def _join_fields(self, values: list[Value], unquoted: list[bool], glob: bool) -> list[Value]:
        splits = False
        for value, is_open in zip(values, unquoted, strict=True):
            if value.many and value.items != ():
                return [Value(splits=True, glob=True)]
            if is_open:
                exact = value.nospace and not self._ifs_changed()
                splits = splits or not exact
                texts = value.choices
                glob = glob or (
                    not value.numeric if texts is None else any(map(_GLOB.search, texts))
                )
        if splits:
            return self._split_exactly(values, unquoted, glob)
        joined = concat(values)
        if glob and joined.choices is None and joined.shapes is not None:
            return [_several(shaped(shapes.of_matches(joined.shapes), nonempty=True))]
        joined = _with_glob(joined) if glob else joined
        vanishing = all(unquoted) and not any(value.nonempty for value in values)
        return [_several(joined) if vanishing else joined]

    def _split_exactly(self, values: list[Value], unquoted: list[bool], glob: bool) -> list[Value]:
        known = all(value.choices is not None and len(value.choices) == 1 for value in values)
        if not known or self._ifs_changed():
            forms = concat(values).shapes
            if self._ifs_changed() or forms is None:
                return [Value(splits=True, glob=True)]
            matched = shapes.of_matches(forms) if glob else forms
            return [_several(shaped(matched, nonempty=True))]
        fields: list[str] = [""]
        for value, is_open in zip(values, unquoted, strict=True):
            text = (value.choices or ("",))[0]
            if not is_open:
                fields[-1] += text
                continue
            pieces = re.split(r"[ \t\n]+", text)
            fields[-1] += pieces[0]
            fields.extend(pieces[1:])
        found = [literal(field) for field in fields if field]
        return [_with_glob(field) for field in found] if glob else found


def _joined(value: Value) -> Value:
    """A list where bash does not split: its elements with something between them."""
    if not value.many:
        return value
    if value.items is not None and len(value.items) == 1:
        return value.items[0]
    return EMPTY if value.items == () else UNKNOWN


def _only_reads(part: Part) -> bool:
    if isinstance(part, Substitution):
        pipeline = outputs.only_pipeline(part.body) or []
        words = [w for command in pipeline for w in command.words]
        return bool(words) and all(isinstance(w, WordNode) and w.plain() is not None for w in words)
    return isinstance(part, VariablePart) and not part.operator


def _is_process(part: Part) -> bool:
    return isinstance(part, Substitution) and part.kind != "$"


def _special(text: str) -> bool:
    return any(char in text for char in "{~*?[(")


def _unknown_field(value: Value) -> Value:
    certain = value.nospace and value.nonempty
    if value.shapes is not None:
        return _several(value, nonempty=True)
    if value.numeric:
        several = not certain
        return Value(numeric=True, signed=value.signed, safe=True, splits=several,
                     nospace=True, nonempty=True)  # fmt: skip
    if certain:
        return Value(prefix=value.prefix, safe=value.safe, nospace=True, nonempty=True, glob=True)
    return Value(safe=value.safe, splits=True, glob=True, nospace=True, nonempty=True)


def _globbed(value: Value) -> Value:
    texts = value.choices or ()
    return _with_glob(value) if any(map(_GLOB.search, texts)) else value


def _with_glob(value: Value) -> Value:
    prefix = _GLOB.split(value.prefix)[0]
    return Value(value.choices, prefix=prefix, glob=True, splits=value.splits, nonempty=True)


def _several(value: Value, *, nonempty: bool = False) -> Value:
    """Any number of words; they are `nonempty` where bash drops empty ones."""
    return Value(
        value.choices,
        numeric=value.numeric,
        signed=value.signed,
        safe=value.safe,
        glob=value.glob,
        splits=True,
        nospace=value.nospace,
        nonempty=value.nonempty or nonempty,
        shapes=value.shapes,
    )
