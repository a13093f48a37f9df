"""Judge one simple command: its variables, its redirections, its name, its arguments."""

import itertools
import re
from dataclasses import replace
from posixpath import commonpath

from runner.shell_policy import environment
from runner.shell_policy.arguments import read_arguments
from runner.shell_policy.context import CommandCall, Context
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.kinds import check, refuse_embedded
from runner.shell_policy.programs import OwnProgram, OwnScript, check_own_script, find_program
from runner.shell_policy.redirections import check_redirection
from runner.shell_policy.shell.facts import ShellWord, SimpleCommand
from runner.shell_policy.table import CommandRule
from runner.shell_policy.validators import VALIDATORS, Validator

_MAX_VARIANTS = 48
# `find . >&--delete` closes a descriptor and deletes: what looks like one word is two.
_GLUED = re.compile(r"[<>]&-[^\s;|&)}]")


def judge_simple(context: Context, command: SimpleCommand) -> str:
    """Return the rule that allows the command. Raises RefusedError when none does."""
    where = command.cwds or (command.cwd,)
    rule = ""
    for cwd in where:
        rule = _judge_in(context, replace(command, cwd=cwd, cwds=(cwd,) if cwd else None))
    return rule


def _judge_in(context: Context, command: SimpleCommand) -> str:
    """Judge the command for one working directory that it may run in."""
    for assignment in command.assignments:
        environment.refuse_secret_expansion(context, assignment.value)
        environment.check_assignment(context, assignment, command.cwd, exported=bool(command.words))
    for redirection in command.redirections:
        check_redirection(context, redirection, command.cwd)
    if not command.words:
        return "shell:assignment" if command.assignments else "shell:redirection"
    if _GLUED.search(command.source):
        raise PolicyRefusalError(
            "redirection:glued", "Write a blank after a closed descriptor (>&-)."
        )
    for word in command.words:
        environment.refuse_secret_expansion(context, word)
        _refuse_listing(context, word, command.cwd)
    rule = ""
    for words in variants(command.words):
        rule = _judge_words(context, replace(command, words=words))
    return rule


def _refuse_listing(context: Context, word: ShellWord, cwd: str | None) -> None:
    """The shell itself lists what a pattern matches: `echo ~/.ssh/*`."""
    for text in word.choices or () if word.glob else ():
        if text.startswith(("/", "~", "..")):
            context.paths.read(text, cwd)


def variants(words: tuple[ShellWord, ...]) -> list[tuple[ShellWord, ...]]:
    """Return the command once for each value its words can have, while these are few."""
    count = 1
    for word in words:
        count *= len(word.choices or (1,)) or 1
    if count == 1:
        return [words]
    if count > _MAX_VARIANTS:
        return [tuple(_blurred(word) for word in words)]
    return [tuple(combination) for combination in itertools.product(*map(_each, words))]


def _each(word: ShellWord) -> list[ShellWord]:
    if word.choices is None or len(word.choices) < 2:
        return [word]
    return [replace(word, choices=(text,), prefix=text) for text in word.choices]


def _blurred(word: ShellWord) -> ShellWord:
    if word.choices is None or len(word.choices) < 2:
        return word
    return replace(word, choices=None, prefix=commonpath(list(word.choices)))


def _judge_words(context: Context, command: SimpleCommand) -> str:
    name = command.words[0].text
    if name is None:
        raise PolicyRefusalError(
            "command:dynamic",
            f"The command name {command.words[0].source or 'here'} is computed. Write it out.",
        )
    if name in context.functions and "/" not in name:
        return "shell:function"
    found = find_program(context, name, command.cwd)
    if found is None:
        return _extra_command(context, command)
    if isinstance(found, OwnProgram):
        require_project(context, command, name)
        _protect_operands(context, command)
        return "program:compiled"
    if isinstance(found, OwnScript):
        require_project(context, command, name)
        check_own_script(context, found.path, command.cwd)
        _protect_operands(context, command)
        return "script:project"
    return judge_by_rule(context, found, command, command.words[1:])


def judge_by_rule(
    context: Context, rule: CommandRule, command: SimpleCommand, args: tuple[ShellWord, ...]
) -> str:
    """Judge arguments by a command's or sub-command's rule; return the deciding rule."""
    if len(args) == 1 and (args[0].text in rule.alone or _asks(rule, args[0])):
        return rule.rule
    call = CommandCall(context, rule, command, args)
    if context.mode not in rule.modes:
        raise call.refuse(rule.instead or f"not available in a {context.mode} session.")
    if rule.destructive and not (context.settings.allow_destructive and context.mode == "run"):
        raise call.refuse(rule.instead)
    if rule.workplace == "project":
        require_project(context, command, rule.name)
    call = replace(call, parsed=read_arguments(rule, args, context, command.cwd))
    _refuse_option_patterns(call)
    for name, value in call.parsed.options:
        if value is not None and name != "-NUMBER":
            check(call, rule.options[name].kind, value, name)
    if rule.sub:
        return _judge_sub(call)
    if rule.style != "raw" or not rule.validator:
        _check_operands(call)
    if rule.validator:
        _validator(rule)(call)
    asks = rule.data.get("asks", "").split()
    if rule.wrapper is not None and not call.parsed.has(*asks):
        inner = call.parsed.operands[rule.wrapper :]
        if rule.inner_profiles:
            _require_profile(call, inner)
        call.judge_inner(inner)
    refuse_embedded(call)
    return rule.rule


def _refuse_option_patterns(call: CommandCall) -> None:
    """`-i.git/hooks/*` stays as it is written where nothing matches: an option nobody has read."""
    if call.rule.style != "raw" or not call.rule.validator or call.rule.unknown == "any":
        return
    for word in call.args:
        if word.glob and any(text.startswith("-") for text in word.choices or (word.prefix,)):
            raise call.refuse(f"quote {word.source}, or begin it with ./ if it is a file.")


def _asks(rule: CommandRule, word: ShellWord) -> bool:
    """Whether a tool is only asked for its version or how it is used."""
    if not rule.modes or rule.name.startswith("git "):
        return False  # `git log --help` opens the manual in a pager, or what is set up instead
    if word.text == "--help":
        return rule.style != "raw" or " " not in rule.name
    tool = rule.profile != "base" and " " not in rule.name
    return tool and word.text == "--version"


def _require_profile(call: CommandCall, inner: tuple[ShellWord, ...]) -> None:
    """Refuse what a package manager would run besides the tools of its language."""
    if not inner:
        return
    name = call.literal(inner[0], "the tool")
    found = call.context.rules.commands.get(name)
    if (found is None or found.profile not in call.rule.inner_profiles) and "/" not in name:
        raise call.refuse(f"{name} is not a tool of this language. {call.rule.instead}".rstrip())


def require_project(context: Context, command: SimpleCommand, name: str) -> None:
    """Refuse tools of the project in a directory that is not the project's.

    An unknown directory is one that a judged `cd` led to, so it is the project's.
    """
    if command.cwd is None:
        return
    real = context.paths.absolute(".", command.cwd)
    if real is None or not context.paths.inside(real):
        raise PolicyRefusalError(
            "path:workplace", f"{name} runs in the project directory only, not in {command.cwd}."
        )


def _judge_sub(call: CommandCall) -> str:
    rule, operands = call.rule, call.parsed.operands
    if rule.validator:
        _validator(rule)(call)
    if not operands:
        bare = rule.data.get("bare", "")
        if bare == "ok" or (bare == "run" and call.context.mode == "run"):
            return rule.rule
        raise call.refuse(f"needs one of: {', '.join(rule.sub)}.")
    name = call.literal(operands[0], "the sub-command")
    sub = rule.sub.get(name) or rule.sub.get("*")
    if sub is None:
        known = ", ".join(key for key in rule.sub if key != "*")
        raise call.refuse(f"{name} is not allowed. {rule.instead or f'Allowed: {known}.'}")
    rest = operands if name not in rule.sub else operands[1:]
    return judge_by_rule(call.context, sub, call.command, rest)


def _check_operands(call: CommandCall) -> None:
    rule = call.rule
    operands = call.parsed.operands
    if rule.wrapper is not None:
        operands = operands[: rule.wrapper]
    kinds = list(rule.operands)
    if rule.pattern_options and any(n in rule.pattern_options for n, _ in call.parsed.options):
        kinds = kinds[1:]
    recursive = any(name in rule.recursive for name, _ in call.parsed.options)
    _check_searched(call, kinds, recursive=recursive)
    for index, word in enumerate(operands):
        if index < len(kinds):
            kind = kinds[index]
        elif kinds and kinds[-1].endswith("..."):
            kind = kinds[-1]
        else:
            reason = f"there is one argument too many: {word.source or word.prefix}. "
            raise call.refuse((reason + call.rule.instead).rstrip())
        kind = kind.removesuffix("...")
        check(call, "tree" if recursive and kind == "read" else kind, word, "the argument")


def _check_searched(call: CommandCall, kinds: list[str], *, recursive: bool) -> None:
    """Check the working directory where a search is not told where to look (`cd ~; rg KEY`)."""
    last = kinds[-1].removesuffix("...") if kinds else ""
    searches = last == "tree" or (recursive and last == "read")
    reads_input = last == "tree" and (call.command.piped or call.command.stdin is not None)
    if searches and not reads_input and len(call.parsed.operands) < len(kinds):
        if call.cwd is None:
            raise call.refuse("name the folder to search; the working directory is not known.")
        check(call, "tree", ShellWord.literal("."), "the working directory")


def _validator(rule: CommandRule) -> Validator:
    validator = VALIDATORS.get(rule.validator)
    if validator is None:
        raise PolicyRefusalError(rule.rule, f"There is no validator {rule.validator}.")
    return validator


def _extra_command(context: Context, command: SimpleCommand) -> str:
    """Allow a command that agent.json adds; the path policy still protects what it names."""
    _protect_operands(context, command)
    return "agent.json:allowCommands"


def _protect_operands(context: Context, command: SimpleCommand) -> None:
    for word in command.words[1:]:
        for text in word.choices or (word.prefix,):
            value = text.partition("=")[2] if text.startswith("-") else text
            if value:
                context.paths.refuse_guarded(value.rstrip("/"), value)
                context.paths.read(value, command.cwd)
