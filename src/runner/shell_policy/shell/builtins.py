"""Built-ins that change the shell's own state: directory, variables, control flow, code to run."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.arithmetic import check_text
from runner.shell_policy.shell.call import ShellCall, text_of
from runner.shell_policy.shell.declarations import declare
from runner.shell_policy.shell.names import check_target, check_tested
from runner.shell_policy.shell.values import (
    EMPTY,
    NUMBER,
    UNKNOWN,
    UNKNOWN_LIST,
    Value,
    any_item,
    as_list,
    is_number,
    list_of,
    literal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell.state import Outcome

_SET_LETTERS = re.compile(r"[-+][euxvfCabhET]*o?")
_SET_NAMES = frozenset(
    {"errexit", "nounset", "pipefail", "xtrace", "verbose", "noglob", "noclobber", "errtrace"}
    | {"functrace", "allexport", "notify", "monitor"}
)
_SHOPTS = re.compile(
    r"-[supq]+|globstar|nullglob|dotglob|failglob|nocaseglob|nocasematch|extglob|globasciiranges"
    r"|inherit_errexit|checkwinsize|huponexit|patsub_replacement|checkjobs|direxpand|xpg_echo"
)


def run(call: ShellCall) -> Outcome:
    """Follow what the call does to the state."""
    environment = call.walk.environment
    if call.is_function:
        call.walk.calls.call(call.name or "", inside=bool(environment.functions))
        environment.knowledge.note_call(call.name or "", list_of(call.args))
        if call.walk.inside:
            beside = call.walk.beside > 0
            call.walk.calls.nest(call.walk.inside[-1], call.name or "", beside=beside)
        if "cd in function" in environment.knowledge.flags:
            environment.state = environment.state.at(None)
        return environment.state, environment.state
    _refuse_ambiguous(call)
    handler = _HANDLERS.get(call.name or "")
    outcome = handler(call) if handler is not None else None
    return (environment.state, environment.state) if outcome is None else outcome


def _refuse_ambiguous(call: ShellCall) -> None:
    choices = call.words[0].choices if call.words and call.name is None else None
    if any(text in _HANDLERS or text in call.walk.functions for text in choices or ()):
        call.name = call.command.source[:40]
        call.refuse("one of several built-ins may be meant", "Name the command literally.")


def _cd(call: ShellCall) -> Outcome:
    environment = call.walk.environment
    before = environment.state
    operands = list(call.args)
    followed = True
    while operands and text_of(operands[0]) in ("-L", "-P", "-e", "--", "-n"):
        option = text_of(operands.pop(0))
        followed = followed and option in ("-L", "--")
        if option == "--":
            break
    target = operands[0] if operands else any_item(environment.lookup("HOME"))
    cwds: tuple[str, ...] | None = ()
    if len(operands) > 1 or target.glob or target.splits or target.choices is None or not followed:
        cwds = None
    for text in target.choices or ():
        there = environment.resolve(text) if text not in ("", "-") else None
        cwds = None if cwds is None or there is None else tuple(dict.fromkeys(cwds + there))
    environment.move(cwds)
    return environment.state, before


def _popd(call: ShellCall) -> Outcome:
    call.walk.environment.move(None)
    return call.walk.environment.state, call.walk.environment.state


def _pushd(call: ShellCall) -> Outcome:
    text = text_of(call.args[0]) if len(call.args) == 1 else None
    return _popd(call) if text is None or text[:1] in "+-" else _cd(call)


def _stop(call: ShellCall) -> Outcome | None:
    """`exit`, `return`, `break`, `continue`, where they certainly end what they are in."""
    environment = call.walk.environment
    certain = not call.args or (
        len(call.args) == 1 and not call.args[0].splits and is_number(call.args[0])
    )
    if call.name == "return":
        certain = certain and bool(environment.functions) and not environment.trapping
    elif call.name != "exit":
        inside = bool(environment.loops) and environment.loops[-1][1] == environment.subshells
        certain = certain and inside
    return (None, None) if certain else None


def _exec(call: ShellCall) -> Outcome | None:
    text = text_of(call.args[0]) if call.args else None
    return None if text is None or text.startswith("-") else (None, None)


def _read(call: ShellCall) -> None:
    options, names = call.options("adinNptu")
    line = UNKNOWN
    if len(names) == 1 and all(letter in "rd" for letter, _ in options):
        line = call.walk.fed(call.command.redirections) or UNKNOWN
    arrays = [value for letter, value in options if letter == "a"]
    for array in arrays:
        for name in check_target(array, call.command.source):
            call.set(name, as_list(UNKNOWN, None))
    for name_value in names:
        call.set_all(name_value, line)
    if not names and not arrays:
        call.set("REPLY", UNKNOWN)


def _mapfile(call: ShellCall) -> None:
    options, names = call.options("dnOsucC")
    if any(letter == "C" for letter, _ in options):
        call.refuse("a callback is code", "Use a `while read` loop.")
    _index_options(call, options, "nOsuc")
    for target in names or [literal("MAPFILE")]:
        line = call.walk.fed(call.command.redirections) or UNKNOWN
        for name in check_target(target, call.command.source):
            call.set(name, as_list(line, None))


def _index_options(call: ShellCall, options: list[tuple[str, Value]], letters: str) -> None:
    if any(letter in letters and not value.safe for letter, value in options):
        call.refuse("a number is expected", "Write the number literally.")


def _getopts(call: ShellCall) -> None:
    if len(call.args) >= 2:
        call.set_all(call.args[1], UNKNOWN)
    call.set("OPTARG", UNKNOWN)
    call.set("OPTIND", NUMBER)


def _printf(call: ShellCall) -> None:
    if not call.args:
        return
    first = call.args[0]
    text = text_of(first)
    alone = len(call.args) == 1 and not first.splits and not first.glob
    if text is None and not alone and not _certainly_operand(first):
        call.refuse("the format may be an option", "Write the format literally.")
    if text is None or not text.startswith("-v"):
        return
    target = literal(text[2:]) if text[2:] else (call.args[1] if len(call.args) > 1 else UNKNOWN)
    call.set_all(target, UNKNOWN)


def _certainly_operand(value: Value) -> bool:
    if value.splits:
        return False
    if value.choices is not None and not value.glob:
        return not any(text.startswith("-v") for text in value.choices)
    return value.numeric or value.prefix[:1] not in ("", "-")


def _unset(call: ShellCall) -> None:
    options, names = call.options("")
    for value in names:
        for name in check_target(value, call.command.source):
            if name in call.walk.functions:
                call.refuse("functions are not unset", "Leave the function defined.")
            subscripted = any("[" in text for text in value.choices or ())
            old = call.walk.environment.lookup(name)
            if not any(letter == "f" for letter, _ in options):
                rest = as_list(any_item(old), None, assoc=old.assoc) if old.many else old
                call.set(name, rest if subscripted else EMPTY)


def _let(call: ShellCall) -> None:
    for value in call.args:
        if value.choices is None or value.splits:
            call.refuse("an argument is not known", "Use `$((…))`.")
        for text in value.choices:
            check_text(text, call.walk)


def _wait(call: ShellCall) -> None:
    options, _ = call.options("p")
    for letter, value in options:
        if letter == "p":
            call.set_all(value, NUMBER)


def _set(call: ShellCall) -> None:
    environment = call.walk.environment
    position = 0
    while position < len(call.args):
        text = text_of(call.args[position])
        if text is None:
            call.check_operand(call.args[position])
            break
        position += 1
        if text in ("--", "-"):
            environment.assign("@", list_of(call.args[position:]))
            return
        if text[:1] not in ("-", "+") or len(text) < 2:
            position -= 1
            break
        if _SET_LETTERS.fullmatch(text) is None:
            _refuse_option(call)
        if text.endswith("o") and position < len(call.args):
            _set_option(call, text, text_of(call.args[position]))
            position += 1
        if "e" in text[1:]:
            _errexit(call, on=text[0] == "-")
    if call.args[position:]:
        environment.assign("@", list_of(call.args[position:]))


def _errexit(call: ShellCall, *, on: bool) -> None:
    environment = call.walk.environment
    if environment.functions:
        environment.knowledge.add(environment.knowledge.flags, "errexit")
    state = environment.state
    environment.state = type(state)(state.variables, state.cwds, on)


def _refuse_option(call: ShellCall) -> NoReturn:
    call.refuse("this option may change how commands are read", "Leave it as it is.")


def _set_option(call: ShellCall, text: str, option: str | None) -> None:
    if option not in _SET_NAMES:
        _refuse_option(call)
    if option == "errexit":
        _errexit(call, on=text[0] == "-")


def _shift(call: ShellCall) -> None:
    environment = call.walk.environment
    text = text_of(call.args[0]) if call.args else "1"
    positional = environment.lookup("@")
    if call.args and not call.args[0].safe:
        call.refuse("a number is expected", "Write the number literally.")
    if positional.items is None or text is None or not text.isdigit():
        environment.assign("@", as_list(any_item(positional), None))
    elif int(text) <= len(positional.items):
        environment.assign("@", list_of(list(positional.items[int(text) :])))


def _shopt(call: ShellCall) -> None:
    for value in call.args:
        text = text_of(value)
        if text is None or _SHOPTS.fullmatch(text) is None:
            _refuse_option(call)


def _eval(call: ShellCall) -> Outcome | None:
    texts = [text_of(value) for value in call.args]
    if texts and texts[0] == "--":
        texts = texts[1:]
    known = [text for text in texts if text is not None]
    if len(known) != len(texts):
        call.walk.environment.forget_all()
        call.walk.environment.move(None)
        return None
    return call.walk.sequence(call.walk.parse_again(" ".join(known)))


def _source(call: ShellCall) -> None:
    environment = call.walk.environment
    environment.forget_all()
    environment.state = type(environment.state)(
        environment.state.variables, environment.state.cwds, errexit=False
    )


def _actions(value: Value) -> tuple[str, ...]:
    """What a trap may do; `"kill $pid"` with a number that nobody knows is as good as `$!`."""
    if value.choices is not None:
        return value.choices
    if value.splits or not value.shapes or not all(map(shapes.counted, value.shapes)):
        return ()
    return tuple(text.replace(shapes.DIGITS, "${!}") for text in value.shapes)


def _trap(call: ShellCall) -> None:
    args = call.args[1:] if call.args and text_of(call.args[0]) == "--" else call.args
    if len(args) < 2:
        return
    for text in _actions(args[0]):
        if not text.startswith("-"):
            body = call.walk.parse_again(text)
            environment = call.walk.environment
            environment.trapping += 1
            call.walk.calls.may_run_bodies()
            environment.knowledge.add(environment.knowledge.flags, "trap")
            since = environment.state.variables
            given = {"@": UNKNOWN_LIST}
            call.walk.later(partial(call.walk.sequence, body), given, since=since)
            environment.trapping -= 1


def _test(call: ShellCall) -> None:
    args = call.args
    for position, value in enumerate(args):
        if text_of(value) in ("-v", "-R") and position + 1 < len(args):
            check_tested(args[position + 1], call.command.source)
        elif _may_be(value, "-v") and _may_hold_code(args[position:]):
            call.refuse(
                "an unquoted or unknown operand may be read as an operator",
                'Quote the expansions, and compare with a literal: `[ "$x" = y ]`.',
            )


def _may_be(value: Value, text: str) -> bool:
    if value.choices is not None and not value.glob:
        return text in value.choices
    unsafe = not value.safe and not value.numeric
    return unsafe and (value.splits or text.startswith(value.prefix))


def _may_hold_code(args: list[Value]) -> bool:
    """Whether the operand after (or, when it splits, within) the first word may be evaluated."""
    following = args[1] if len(args) > 1 else EMPTY
    if args[0].splits and args[0].choices is None:
        return True
    if following.choices is not None:
        return any("[" in text for text in following.choices)
    return not following.safe and not following.numeric and following.prefix[:1] in ("", "-")


_HANDLERS: dict[str, Callable[[ShellCall], Outcome | None]] = {
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "exit": _stop,
    "return": _stop,
    "break": _stop,
    "continue": _stop,
    "exec": _exec,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
    "printf": _printf,
    "unset": _unset,
    "let": _let,
    "wait": _wait,
    "set": _set,
    "shift": _shift,
    "shopt": _shopt,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "test": _test,
    "[": _test,
    "declare": declare,
    "typeset": declare,
    "local": declare,
    "export": declare,
    "readonly": declare,
}
