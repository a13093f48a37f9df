"""env and its like: variables first, then a command that is judged in turn."""

import re

from runner.shell_policy import environment
from runner.shell_policy.context import CommandCall
from runner.shell_policy.shell.facts import ShellAssignment, ShellWord

_SETS = re.compile(r"[A-Za-z_]\w*=")


def _env(call: CommandCall) -> None:
    words = list(call.args)
    while words:
        word = words[0]
        text = word.text if word.text is not None else word.prefix
        if text in ("-i", "-", "--ignore-environment") or text == "--":
            words.pop(0)
        elif text in ("-u", "--unset") and len(words) > 1:
            words.pop(0)
            call.literal(words.pop(0), "the name")
        elif re.fullmatch(r"--unset=\w+|-u\w+", text):
            words.pop(0)
        elif _SETS.match(text):
            _set(call, words.pop(0), text)
        elif text.startswith("-"):
            raise call.refuse(
                f"the option {text} is not allowed. Use env [-u NAME] NAME=value command."
            )
        else:
            break
    if not words:
        raise call.refuse("printing all variables would show credentials. Use printenv NAME.")
    call.judge_inner(tuple(words))


def _set(call: CommandCall, word: ShellWord, text: str) -> None:
    if word.splits and not word.numeric:
        raise call.refuse(f"quote {word.source}.")
    name, _, value = text.partition("=")
    known = (
        ShellWord.literal(value)
        if word.text is not None
        else ShellWord(None, prefix=value, source=word.source)
    )
    environment.check_assignment(call.context, ShellAssignment(name, known), call.cwd)


def _printenv(call: CommandCall) -> None:
    if not call.parsed.operands:
        raise call.refuse("printing all variables would show credentials. Name the ones you need.")
    for word in call.parsed.operands:
        name = call.literal(word, "the name")
        if environment.is_secret_name(name):
            raise call.refuse(f"{name} may hold a credential.")


VALIDATORS = {"env": _env, "printenv": _printenv}
