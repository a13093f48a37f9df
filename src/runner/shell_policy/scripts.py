"""Judge all commands of a script, the outermost and those inside `bash -c`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from runner.shell_policy.context import Context
from runner.shell_policy.decision import Decision, PolicyRefusalError
from runner.shell_policy.environment import refuse_secret_expansion
from runner.shell_policy.shell.facts import ShellAssignment, ShellScript, ShellWord, SimpleCommand

MAX_COMMANDS = 400
_ROOT_VALUE = re.compile(
    r"\"?\$\((?:git rev-parse --show-toplevel|pwd(?: -P)?)(?: 2>/dev/null)?\)\"?|\"?\$\{?PWD\}?\"?"
)
_HOOK_FUNCTIONS = frozenset({"command_not_found_handle", "eval", "source", "exec", "alias"})


@dataclass(frozen=True, slots=True)
class JudgedCommand:
    """One command of a script and what was decided about it."""

    source: str
    words: tuple[str, ...]
    decision: Decision


def judge_script(script: ShellScript, context: Context) -> Iterator[JudgedCommand]:
    """Decide about every command of a script, nested ones included."""
    context = _enrich(script, context)
    if len(script.commands) > MAX_COMMANDS:
        raise PolicyRefusalError(
            "limit:commands", "There are too many commands. Use a script file."
        )
    for command in script.commands:
        try:
            decision = Decision.allow(context.judge(context, command))
        except PolicyRefusalError as refusal:
            decision = refusal.decision()
        words = tuple(word.source or word.text or "" for word in command.words)
        yield JudgedCommand(command.source, words, decision)
    yield from _judge_compared(script, context)


def _judge_compared(script: ShellScript, context: Context) -> Iterator[JudgedCommand]:
    """Refuse to find out a credential by comparing it (`case $TOKEN in a*) …`)."""
    for word in dict.fromkeys(script.compared):
        try:
            refuse_secret_expansion(context, word)
        except PolicyRefusalError as refusal:
            yield JudgedCommand(word.source, (word.source,), refusal.decision())


def require_script(
    text: str,
    context: Context,
    command: SimpleCommand,
    arguments: tuple[ShellWord, ...] | None = None,
) -> None:
    """Judge a nested script (`bash -c TEXT NAME ARGUMENT…`). Raises RefusedError when denied."""
    deeper = context.deeper().outside_shell()
    for judged in judge_script(context.analyse(text, command, arguments), deeper):
        if not judged.decision.allowed:
            raise PolicyRefusalError(judged.decision.rule, judged.decision.reason)


def _enrich(script: ShellScript, context: Context) -> Context:
    """Add what a script's commands tell about each other: functions and variables."""
    for name in script.functions:
        if name in _HOOK_FUNCTIONS or "/" in name:
            raise PolicyRefusalError(
                "function:shadow", f"A function must not be named {name}. Choose another name."
            )
    assignments = [a for c in script.commands for a in c.assignments]
    return replace(
        context,
        script=script.commands,
        functions=context.functions | script.functions,
        assigned=context.assigned | {a.name for a in assignments},
        rooted=context.rooted | _rooted(assignments),
    )


def _rooted(assignments: list[ShellAssignment]) -> set[str]:
    """Return the variables that only ever hold a directory of the project."""
    good: set[str] = set()
    bad: set[str] = set()
    for assignment in assignments:
        value = assignment.value.source.removeprefix(f"{assignment.name}=")
        (good if _ROOT_VALUE.fullmatch(value) else bad).add(assignment.name)
    return good - bad
