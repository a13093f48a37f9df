"""C compilers: flags by shape, folders and outputs by path; nothing that loads code into them."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord

_READS = ("-include", "-isystem", "-iquote", "-idirafter", "-I", "-L")
_WRITES = ("-MF", "-o")
_TEXTS = ("-MT", "-MQ", "-x", "-D", "-U", "-framework", "-arch", "-target", "-u")
# What is installed says where its headers are; such a command is judged by itself.
_SYSTEM_FLAGS = re.compile(
    r"[\"']?[$][(](?:pkg-config|pkgconf|python3?(?:[.]\d+)?-config|llvm-config|sdl2-config)(?: --?[\w=.-]+| [\w.+-]+)*(?: 2>/dev/null)?[)][\"']?"
)


def _compiler(call: CommandCall) -> None:
    words = list(call.args)
    while words:
        word = words.pop(0)
        text = word.choices[0] if word.choices else word.prefix
        if text == "-" or not text.startswith("-"):
            if _SYSTEM_FLAGS.fullmatch(word.source) and not call.context.functions:
                continue
            if text.startswith("@") or (word.choices is None and not word.shapes):
                raise call.refuse(f"{word.source}: write the files out; no response files.")
            check(call, "read", word, "the file")
            continue
        counted = shapes.only(word.shapes, shapes.DIGITS)
        text = shapes.filled(word.shapes[0]) if counted else call.literal(word, "the option")
        name = next((n for n in (*_READS, *_WRITES, *_TEXTS) if text == n), "")
        if name:
            if not words:
                raise call.refuse(f"{name} needs a value.")
            _value(call, name, words.pop(0))
            continue
        attached = next((n for n in ("-I", "-L", "-o", "-D", "-U", "-x") if text.startswith(n)), "")
        if attached:
            _value(call, attached, ShellWord.literal(text[len(attached) :]))
        elif not re.fullmatch(call.context.rules.lists["c-flag"], text, re.VERBOSE):
            raise call.refuse(f"the option {text} is not allowed.")


def _value(call: CommandCall, name: str, word: ShellWord) -> None:
    if name in _READS:
        check(call, "read", word, name)
    elif name in _WRITES:
        check(call, "write", word, name)
    elif name == "-x" and not re.fullmatch(r"[\w+-]+", call.literal(word, name)):
        raise call.refuse(f"{word.source} is no language.")
    elif word.splits and not word.numeric:
        raise call.refuse(f"quote {word.source}.")


VALIDATORS = {"c-compiler": _compiler}
