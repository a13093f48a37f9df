"""jq and yq: a literal filter that does not read the environment or load modules."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord

_ENVIRONMENT = re.compile(r"\$ENV\b|\benv\b|\bimport\b|\binclude\b|\bmodulemeta\b")
_STRINGS = re.compile(r'"(?:[^"\\]|\\(?!\().)*"')
_YQ = re.compile(r"\b(?:load\w*|env|strenv|envsubst|eval)\b|\$ENV|\bsystem\b")


_YQ_VERBS = frozenset({"eval", "e"})


def _filter(call: CommandCall) -> ShellWord | None:
    operands = call.parsed.operands
    if call.rule.name == "yq" and operands and operands[0].text in _YQ_VERBS:
        operands = operands[1:]
    return operands[0] if operands else None


def _jq(call: CommandCall) -> None:
    _check(call, _ENVIRONMENT)


def _yq(call: CommandCall) -> None:
    _check(call, _YQ)


def _check(call: CommandCall, pattern: re.Pattern[str]) -> None:
    word = _filter(call)
    if word is None:
        return
    if any(map(shapes.HOLE.match, word.shapes)):
        raise call.refuse(f"the filter must be written out, not {word.source}.")
    if word.choices is None:
        # Values put in by the shell can only become text inside a quoted string of the filter.
        _check_text(call, pattern, word.source)
        return
    for text in word.choices:
        _check_text(call, pattern, text)


def _check_text(call: CommandCall, pattern: re.Pattern[str], text: str) -> None:
    # A string with an interpolation holds code, so then nothing is taken for a mere string.
    bare = text if r"\(" in text else _STRINGS.sub('""', text)
    bare = re.sub(r"\.[A-Za-z_]\w*|\b[A-Za-z_]\w*\s*:(?!:)", ".x", bare)
    found = pattern.search(bare)
    if found:
        raise call.refuse(f"{found[0]} is not allowed in a filter; it reads more than the input.")


VALIDATORS = {"jq": _jq, "yq": _yq}
