"""Archives: looking inside, packing and unpacking in the project or under /tmp."""

import posixpath
import re
from dataclasses import dataclass, field, replace

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


@dataclass(slots=True)
class _State:
    """What the options read so far say.

    Attributes:
        folders: where each `-C` leads, in order; a relative one starts from the one before.
        operands: the files, each with the folder that it is named from.
    """

    mode: str = ""
    file: str = ""
    stdout: bool = False
    folders: list[str] = field(default_factory=list)
    operands: list[tuple[ShellWord, str]] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return self.folders[-1] if self.folders else ""

    def enter(self, folder: str) -> None:
        absolute = folder.startswith(("/", "~"))
        self.folders.append(folder if absolute else posixpath.join(self.folder, folder))


def _tar(call: CommandCall) -> None:
    words = list(call.args)
    state = _State()
    first = True
    while words:
        word = words.pop(0)
        text = word.text
        if text is None:
            if word.splits or not word.prefix or word.prefix.startswith("-"):
                raise call.refuse(f"{word.source} could turn into options. Write it out.")
            state.operands.append((word, state.folder))
        elif text.startswith("--"):
            _long(call, text, words, state)
        elif text.startswith("-") or first:
            _letters(call, text.lstrip("-"), words, state)
        else:
            state.operands.append((word, state.folder))
        first = False
    _judge(call, state)


def _letters(call: CommandCall, letters: str, words: list[ShellWord], state: _State) -> None:
    for index, letter in enumerate(letters):
        if letter in "fC":
            rest = letters[index + 1 :] if call.args and f"-{letters}" in _texts(call) else ""
            value = rest or (call.literal(words.pop(0), f"-{letter}") if words else "")
            if letter == "f":
                state.file = value
            else:
                state.enter(value)
            if rest:
                return
        elif letter not in _LETTERS:
            raise call.refuse(
                f"the option -{letter} is not allowed. Use t, c or x with z, j, J, v, f, C."
            )
        elif letter in "ctx":
            state.mode = letter
        elif letter == "O":
            state.stdout = True


def _texts(call: CommandCall) -> set[str]:
    return {word.text for word in call.args if word.text is not None}


def _long(call: CommandCall, text: str, words: list[ShellWord], state: _State) -> None:
    name, equals, value = text.partition("=")
    if name in ("--file", "--directory"):
        value = value if equals else call.literal(words.pop(0), name) if words else ""
        if name == "--file":
            state.file = value
        else:
            state.enter(value)
    elif text in _LONG_FLAGS:
        modes = {"--list": "t", "--create": "c", "--extract": "x"}
        state.mode = modes.get(text, state.mode)
    elif not _LONG_TEXT.fullmatch(text):
        raise call.refuse(f"the option {name} is not allowed.")
    elif not equals and words and name != "--wildcards":
        words.pop(0)


def _judge(call: CommandCall, state: _State) -> None:
    if not state.mode:
        raise call.refuse("needs one of t, c or x.")
    if ":" in state.file:
        raise call.refuse("remote archives are not allowed.")
    for folder in state.folders:
        check(call, "write" if state.mode == "x" else "read", ShellWord.literal(folder), "-C")
    has_file = state.file not in ("", "-")
    if state.mode == "c":
        if has_file:
            check(call, "write", ShellWord.literal(state.file), "the archive")
        for word, folder in state.operands:
            check(_below(call, folder), "tree", word, "the file")
        return
    if has_file:
        check(call, "read", ShellWord.literal(state.file), "the archive")
    if state.mode == "x" and not state.stdout:
        for folder in state.folders or ["."]:
            _check_folder(call, folder)


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
    if call.rule.name == "gzip" and call.parsed.has("-k", "--keep") and not call.parsed.has("-c"):
        if call.parsed.has("-r", "--recursive"):
            raise call.refuse("-r changes whole folders. Name the files.")
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
