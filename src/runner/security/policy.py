"""What the policy decides about a piece of shell, and why (CONTRACT §1 `check`, §8)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from runner.errors import RunnerError
from runner.security.analysis import analyse
from runner.security.commands import judge_simple
from runner.security.context import Context
from runner.security.decision import Decision
from runner.security.paths import PathPolicy
from runner.security.profiles import load_rules
from runner.security.refusal import RefusedError
from runner.security.settings import Mode, PolicySettings
from runner.security.shell.facts import Assignment, Script, SimpleCommand

MAX_TEXT = 200_000
MAX_COMMANDS = 400
_ROOT_VALUE = re.compile(
    r"\"?\$\((?:git rev-parse --show-toplevel|pwd(?: -P)?)(?: 2>/dev/null)?\)\"?|\"?\$\{?PWD\}?\"?"
)


@dataclass(frozen=True, slots=True)
class JudgedCommand:
    """One command of a script and what was decided about it."""

    source: str
    words: tuple[str, ...]
    decision: Decision


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer for `runner check`: each command, and the decision over all."""

    commands: tuple[JudgedCommand, ...]
    decision: Decision


def judge_command(
    text: str,
    *,
    command: Mode = "run",
    project_dir: str | Path,
    settings: PolicySettings | None = None,
) -> Decision:
    """Decide whether the agent may run `text` in bash. Never raises; what is unclear is denied.

    Args:
        command: `run` (implementing) or `sync` (read-only).
        project_dir: where it would run, and what it may write.
        settings: profiles and extensions; the defaults when left out.
    """
    return explain(text, command=command, project_dir=project_dir, settings=settings).decision


def explain(
    text: str,
    *,
    command: Mode = "run",
    project_dir: str | Path,
    settings: PolicySettings | None = None,
) -> Explanation:
    """Decide as `judge_command` does, and tell what was decided about every command."""
    try:
        context = make_context(command, project_dir, settings or PolicySettings())
        if len(text) > MAX_TEXT:
            raise RefusedError("limit:length", "The command is too long. Put it into a file.")
        script = analyse(text)
        judged = tuple(judge_script(script, context))
    except RefusedError as refusal:
        return Explanation((), refusal.decision())
    except RunnerError as error:
        return Explanation((), Decision.deny("policy:configuration", str(error)))
    except Exception as error:  # noqa: BLE001 - the guard must answer, and the answer is no
        return Explanation((), Decision.deny("policy:internal", f"It could not be judged: {error!r}."))
    return Explanation(judged, overall(judged))


def make_context(mode: Mode, project_dir: str | Path, settings: PolicySettings) -> Context:
    """Return the context for the outermost commands of a script. Raises ConfigError."""
    return Context(
        mode=mode,
        settings=settings,
        paths=PathPolicy.of(project_dir, mode, settings.scratch),
        rules=load_rules(settings.profiles),
        judge=judge_simple,
        analyse=analyse,
    )


def overall(judged: tuple[JudgedCommand, ...]) -> Decision:
    """Return the first denial, or an allowance naming the last rule."""
    for item in judged:
        if not item.decision.allowed:
            return item.decision
    return judged[-1].decision if judged else Decision.allow("shell:empty")


def judge_script(script: Script, context: Context) -> Iterator[JudgedCommand]:
    """Decide about every command of a script, nested ones included."""
    context = enrich(script, context)
    if len(script.commands) > MAX_COMMANDS:
        raise RefusedError("limit:commands", "There are too many commands. Use a script file.")
    for command in script.commands:
        try:
            decision = Decision.allow(judge_simple(context, command))
        except RefusedError as refusal:
            decision = refusal.decision()
        words = tuple(word.source or word.text or "" for word in command.words)
        yield JudgedCommand(command.source, words, decision)


def require_script(text: str, context: Context) -> None:
    """Judge a nested script (`bash -c`, `trap`). Raises RefusedError at the first denial."""
    deeper = context.deeper()
    for judged in judge_script(context.analyse(text), deeper):
        if not judged.decision.allowed:
            raise RefusedError(judged.decision.rule, judged.decision.reason)


def enrich(script: Script, context: Context) -> Context:
    """Add what a script's commands tell about each other: functions and variables."""
    for name in script.functions:
        if name in context.rules.commands or name in _HOOK_FUNCTIONS or "/" in name:
            raise RefusedError(
                "function:shadow", f"A function must not be named {name}. Choose another name."
            )
    assignments = [a for c in script.commands for a in c.assignments]
    return replace(
        context,
        functions=context.functions | script.functions,
        assigned=context.assigned | {a.name for a in assignments},
        rooted=context.rooted | _rooted(assignments),
    )


_HOOK_FUNCTIONS = frozenset({"command_not_found_handle", "eval", "source", "exec", "alias"})


def _rooted(assignments: list[Assignment]) -> set[str]:
    """Return the variables that only ever hold a directory of the project."""
    good = {a.name for a in assignments if _ROOT_VALUE.fullmatch(a.value.source)}
    return good - {a.name for a in assignments if not _ROOT_VALUE.fullmatch(a.value.source)}


def commands_of(script: Script) -> tuple[SimpleCommand, ...]:
    """Return the commands of a script in source order."""
    return script.commands
