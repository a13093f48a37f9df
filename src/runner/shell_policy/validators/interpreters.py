"""Interpreters of languages without a profile: a script of the project, or literal inline code."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.programs import check_own_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.inline import check_inline, check_stdin, require_literal
from runner.shell_policy.validators.python import protect


def _interpreter(call: CommandCall) -> None:
    """Judge by the table's data.

    `language` names the checks of inline code, `code` the options that hold some, `endings` how a
    script's name ends, `stdin = "yes"` that a here-document may be the program, and `loads` the
    options that name a further script.
    """
    data = call.rule.data
    code = [value for name, value in call.parsed.options if name in data.get("code", "").split()]
    for word in code:
        check_inline(call, data["language"], require_literal(call, word))
    for word in call.parsed.values(*data.get("loads", "").split()):
        _script(call, word)
    rest = list(call.parsed.operands)
    if code:
        protect(call, rest)
    elif rest and rest[0].text != "-":
        _script(call, rest[0])
        protect(call, rest[1:])
    elif call.parsed.values(*data.get("loads", "").split()):
        return
    elif data.get("stdin") == "yes":
        check_stdin(call, data["language"])
    else:
        raise call.refuse(f"needs a script of the project. {call.rule.instead}".rstrip())


def _script(call: CommandCall, word: ShellWord) -> None:
    endings = tuple(call.rule.data["endings"].split())
    for text in word.choices or (None,):
        if text is None:
            raise call.refuse(f"{word.source}: write the script out.")
        if not text.endswith(endings):
            raise call.refuse(f"{text} is not a script of the project ending in {endings[0]}.")
        check(call, "project", word, "the script")
        check_own_script(call.context, text, call.cwd)


def _protect(call: CommandCall) -> None:
    """The project's own program gets any arguments, but none that names a protected file."""
    protect(call, list(call.parsed.operands))


def _configure(call: CommandCall) -> None:
    """`./configure`: features by name, and a prefix in the project or under /tmp."""
    call.context.paths.project_file("./configure", call.cwd)
    for word in call.args:
        text = call.literal(word, "the option")
        prefix = re.fullmatch(r"--prefix=(.+)", text)
        if prefix:
            check(call, "write", ShellWord.literal(prefix[1]), "--prefix")
        elif not re.fullmatch(
            r"--(?:enable|disable|with|without)-[\w-]+(?:=(?:[\w.+-]*|\./[\w./-]+))?"
            r"|-q|--quiet|--silent|--help|--version|-C|--host=[\w-]+|--build=[\w-]+"
            r"|C(?:XX)?FLAGS=(?:\s*-(?:[Oog]\w*|W[\w-]+|std=[\w+]+|D\w+(?:=\w+)?))*\s*",
            text,
        ):
            raise call.refuse(f"{text} could change what runs.")


VALIDATORS = {"interpreter": _interpreter, "protect": _protect, "configure": _configure}
