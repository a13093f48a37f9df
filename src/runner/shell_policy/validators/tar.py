"""Archives: looking inside, packing and unpacking in the project or under /tmp."""

import re
from dataclasses import replace

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.shell.facts import ShellWord

_LETTERS = frozenset("ctxvzjJafpkmhzOZ")
_LONG_FLAGS = frozenset(
    [
        "--list",
        "--create",
        "--extract",
        "--verbose",
        "--gzip",
        "--xz",
        "--bzip2",
        "--zstd",
        "--auto-compress",
        "--keep-old-files",
        "--no-same-owner",
        "--no-same-permissions",
        "--dereference",
        "--sort=name",
        "--totals",
        "--numeric-owner",
        "--to-stdout",
    ]
)
_LONG_TEXT = re.compile(
    r"--(?:exclude|strip-components|mtime|owner|group|wildcards)(?:=.*)?", re.DOTALL
)


def _tar(call: CommandCall) -> None:
    words = list(call.args)
    state = {"mode": "", "file": "", "folder": ""}
    operands: list[ShellWord] = []
    first = True
    while words:
        word = words.pop(0)
        text = word.text
        if text is None:
            if word.splits or not word.prefix or word.prefix.startswith("-"):
                raise call.refuse(f"{word.source} could turn into options. Write it out.")
            operands.append(word)
        elif text.startswith("--"):
            _long(call, text, words, state)
        elif text.startswith("-") or first:
            _letters(call, text.lstrip("-"), words, state)
        else:
            operands.append(word)
        first = False
    _judge(call, state, operands)


def _letters(
    call: CommandCall, letters: str, words: list[ShellWord], state: dict[str, str]
) -> None:
    for index, letter in enumerate(letters):
        if letter in "fC":
            rest = letters[index + 1 :] if call.args and f"-{letters}" in _texts(call) else ""
            value = rest or (call.literal(words.pop(0), f"-{letter}") if words else "")
            state["file" if letter == "f" else "folder"] = value
            if rest:
                return
        elif letter not in _LETTERS:
            raise call.refuse(
                f"the option -{letter} is not allowed. Use t, c or x with z, j, J, v, f, C."
            )
        elif letter in "ctx":
            state["mode"] = letter
        elif letter == "O":
            state["stdout"] = "yes"


def _texts(call: CommandCall) -> set[str]:
    return {word.text for word in call.args if word.text is not None}


def _long(call: CommandCall, text: str, words: list[ShellWord], state: dict[str, str]) -> None:
    name, equals, value = text.partition("=")
    if name in ("--file", "--directory"):
        value = value if equals else call.literal(words.pop(0), name) if words else ""
        state["file" if name == "--file" else "folder"] = value
    elif text in _LONG_FLAGS:
        modes = {"--list": "t", "--create": "c", "--extract": "x"}
        state["mode"] = modes.get(text, state["mode"])
    elif not _LONG_TEXT.fullmatch(text):
        raise call.refuse(f"the option {name} is not allowed.")
    elif not equals and words and name != "--wildcards":
        words.pop(0)


def _judge(call: CommandCall, state: dict[str, str], operands: list[ShellWord]) -> None:
    if not state["mode"]:
        raise call.refuse("needs one of t, c or x.")
    archive = state["file"]
    if ":" in archive:
        raise call.refuse("remote archives are not allowed.")
    if state["folder"]:
        check(
            call,
            "write" if state["mode"] == "x" else "read",
            ShellWord.literal(state["folder"]),
            "-C",
        )
    if state["mode"] == "c":
        if archive and archive != "-":
            check(call, "write", ShellWord.literal(archive), "the archive")
        for word in operands:
            check(_below(call, state["folder"]), "tree", word, "the file")
        return
    if archive and archive != "-":
        check(call, "read", ShellWord.literal(archive), "the archive")
    if state["mode"] == "x" and "stdout" not in state:
        _check_folder(call, state["folder"] or ".")


def _below(call: CommandCall, folder: str) -> CommandCall:
    """The call as it is after -C: the files are named from that folder."""
    if not folder:
        return call
    cwd = call.context.paths.absolute(folder, call.cwd)
    return replace(call, command=replace(call.command, cwd=cwd))


def _check_folder(call: CommandCall, folder: str) -> None:
    """An archive may hold anything, so it is not unpacked where protected files lie."""
    check(call, "write", ShellWord.literal(f"{folder.rstrip('/')}/unpacked"), "the folder")
    if call.context.paths.absolute(folder, call.cwd) == call.context.paths.project:
        raise call.refuse(
            "unpack into a folder of its own (tar -C, unzip -d), not over the project."
        )


def _unzip(call: CommandCall) -> None:
    """Looking inside always; unpacking in run, below a folder that may be written."""
    if call.parsed.has("-l", "-v", "-t", "-Z", "-p", "-c"):
        return
    for folder in call.parsed.values("-d") or [ShellWord.literal(".")]:
        _check_folder(call, call.literal(folder, "the folder"))


def _zip(call: CommandCall) -> None:
    """The archive is written; `-x` turns what follows into patterns, which only leave files out."""
    if not call.parsed.operands:
        raise call.refuse("name the archive, then what goes into it.")
    target = call.literal(call.parsed.operands[0], "the archive")
    if target != "-" and "." not in target.rpartition("/")[2]:
        check(call, "write", ShellWord.literal(target + ".zip"), "the archive")


def _gzip(call: CommandCall) -> None:
    if call.rule.name == "gzip" and call.parsed.has("-k") and not call.parsed.has("-c"):
        for word in call.parsed.operands:
            text = call.literal(word, "the file")
            check(call, "write", ShellWord.literal(text.removesuffix(".gz")), "the file")
            check(call, "write", ShellWord.literal(text + ".gz"), "the output")
        return
    if (
        not call.parsed.has("-l", "-t", "-c", "--list", "--test", "--stdout")
        and call.parsed.operands
    ):
        raise call.refuse("only -c, -l and -t are allowed; redirect the output.")


def _split(call: CommandCall) -> None:
    if len(call.parsed.operands) < 2:
        check(call, "write", ShellWord.literal("./xaa"), "the output")


VALIDATORS = {"tar": _tar, "unzip": _unzip, "zip": _zip, "gzip": _gzip, "split": _split}
