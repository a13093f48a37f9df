"""Which variables a script may set: nothing that changes what runs, or from where."""

import re

from runner.shell_policy.context import Context
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.paths import outside_in, protected_in
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellAssignment, ShellWord
from runner.shell_policy.table import EnvironmentRule

_NAME = re.compile(r"[A-Za-z_]\w*")
_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH|PRIVATE)(?:_|$|S$)"
    r"|^(?:AWS|ANTHROPIC|OPENAI|AZURE|GOOGLE|GITHUB|GH|CLAUDE|NPM|SSH)_\w*"
    r"(?:KEY|TOKEN|SECRET|AUTH|CREDENTIAL|PASS)\w*$|^AWS$|^ANTHROPIC|^SSH_AUTH_SOCK$",
    re.IGNORECASE,
)
_TRANSFORMED = re.compile(r"\$\{!\d|\$\{!?[\w@*]+(?:\[[^]]*\])?@[^QaUuLkK]\}")
_INDIRECT = re.compile(r"\$\{!([A-Za-z_]\w*)")
_EXPANSION = re.compile(r"\$\{?[!#]?([A-Za-z_]\w*)")


def check_assignment(
    context: Context, assignment: ShellAssignment, cwd: str | None, *, exported: bool = True
) -> None:
    """Refuse an assignment that could change what later commands run, or write.

    Args:
        context: mode and rules in force.
        assignment: name and value, as far as it is known.
        cwd: where the command runs; relative path values are taken from there.
        exported: whether programs get it; a variable of the shell alone is not.
    """
    name = assignment.name
    if not _NAME.fullmatch(name):
        raise PolicyRefusalError("environment", f"{name} can't be set here.")
    for rule in context.rules.environment:
        if rule.regex.match(name):
            if context.mode not in rule.modes:
                continue
            if _value_allowed(context, rule, assignment.value, cwd) and not _breaks_mktemp(
                assignment
            ):
                return
            raise PolicyRefusalError(
                rule.rule,
                f"Setting {name} could change what runs. Leave it out, or use a value that the "
                "profiles allow.",
            )
    if exported:
        _check_unlisted(context, assignment)


def _check_unlisted(context: Context, assignment: ShellAssignment) -> None:
    """Refuse a path in a variable that no profile knows: what reads it may write there."""
    values = [assignment.value]
    if not assignment.value.source and assignment.value.choices is None:  # `export NAME`
        values = [
            one.value
            for command in context.script
            for one in command.assignments
            if one.name == assignment.name
        ]
    for text in (text for value in values for text in value.choices or _known_parts(value)):
        found = protected_in(text) or outside_in(text, context.paths)
        if found is not None:
            raise PolicyRefusalError(
                "environment:path",
                f"{assignment.name}: a program could write {found}. Use a path in the project or "
                "under /tmp.",
            )


def _known_parts(value: ShellWord) -> tuple[str, ...]:
    """What is written out of a value that is not known: `$X/.git/config` names a folder."""
    written = () if re.search(r"\$\(|`|<\(", value.source) else (value.source,)
    return (value.prefix, *written, *map(shapes.pattern, value.shapes))


def _breaks_mktemp(assignment: ShellAssignment) -> bool:
    """Whether `mktemp` may fail or print another place than /tmp, which the analysis counts on."""
    return assignment.name == "TMPDIR" and assignment.value.choices not in (("/tmp",), ("/tmp/",))  # noqa: S108


def _value_allowed(
    context: Context, rule: EnvironmentRule, value: ShellWord, cwd: str | None
) -> bool:
    if rule.values is None:
        return False
    if rule.values == ".*" and rule.kind == "text":
        return True
    if value.choices is None:
        return bool(value.numeric and re.fullmatch(rule.values, "1"))
    if not all(re.fullmatch(rule.values, text, re.DOTALL) for text in value.choices):
        return False
    return all(_paths_allowed(context, rule.kind, text, cwd) for text in value.choices)


def _paths_allowed(context: Context, kind: str, text: str, cwd: str | None) -> bool:
    if kind == "text":
        return True
    for entry in text.split(":"):
        if not entry:
            continue
        try:
            if kind == "project":
                context.paths.project_file(entry, cwd)
            else:
                context.paths.write(entry, cwd)
        except PolicyRefusalError:
            return False
    return True


def refuse_secret_expansion(context: Context, word: ShellWord) -> None:
    """Refuse to print or pass on a variable of the environment that holds a credential."""
    if _TRANSFORMED.search(word.source):
        raise PolicyRefusalError("word:transform", f"{word.source}: this expansion is not allowed.")
    for variable in _INDIRECT.findall(word.source):
        for name in _names_held(context, variable):
            if is_secret_name(name):
                raise PolicyRefusalError(
                    "environment:secret", f"${name} may hold a credential; it must not be read."
                )
    if word.choices is not None or "$" not in word.source:
        return
    for name in _EXPANSION.findall(word.source):
        if name not in context.assigned and is_secret_name(name):
            raise PolicyRefusalError(
                "environment:secret", f"${name} may hold a credential; it must not be read."
            )


def _names_held(context: Context, variable: str) -> list[str]:
    """The values that the script itself gives a variable, as far as they are known."""
    given = [
        one.value
        for command in context.script
        for one in command.assignments
        if one.name == variable
    ]
    return [text for value in given for text in value.choices or ()]


def is_secret_name(name: str) -> bool:
    """Whether a variable's name says that it holds a credential."""
    return _SECRET.search(name) is not None
