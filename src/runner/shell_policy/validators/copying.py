"""cp, mv, ln, chmod, mktemp: what is written is the last operand or the -t folder."""

import itertools
import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.paths import GUARDED, NOTE
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.shell.values import FRESH


def _copy(call: CommandCall) -> None:
    sources, target = _ends(call)
    if target is not None:
        check(call, "write", target, "the target")
        for word in sources:
            _lands(call, target, word)
    recursive = call.parsed.has("-r", "-R", "-a", "--recursive", "--archive")
    if call.parsed.has("-T", "--no-target-directory") and recursive:
        raise call.refuse("-T with a whole folder could replace protected files. Leave it out.")
    for word in sources:
        check(call, "tree" if recursive else "read", word, "the source")
        for text in word.choices or ():
            _readable_only(call, text)
    if call.rule.name == "install" and call.parsed.has("-d"):
        for word in call.parsed.operands:
            check(call, "write", word, "the folder")


def _ends(call: CommandCall) -> tuple[list[ShellWord], ShellWord | None]:
    operands = list(call.parsed.operands)
    folders = call.parsed.values("-t", "--target-directory")
    if folders:
        return operands, folders[-1]
    if call.rule.name == "install" and call.parsed.has("-d"):
        return operands, None
    if len(operands) < 2:
        raise call.refuse("needs a source and a target.")
    return operands[:-1], operands[-1]


def _lands(call: CommandCall, target: ShellWord, source: ShellWord) -> None:
    """Check where a source ends up below the target: the name it keeps must be allowed too."""
    forms = source.choices or source.shapes
    if not forms and not source.prefix.startswith("/dev/fd/"):
        raise call.refuse(f"name what is copied; {source.source} is not known.")
    for text, folder in itertools.product(
        forms, target.choices or target.shapes or (target.prefix,)
    ):
        name = text.strip("/") if call.parsed.has("--parents") else _last(text)
        if name in (".", "..", "") or (
            not source.glob and text.rstrip("/").endswith(("/.", "/.."))
        ):
            if _is_root(call, folder):
                raise call.refuse(
                    "copying a whole folder over the project could replace protected files. "
                    "Name what is copied."
                )
            continue
        # Had mktemp failed, an empty target would take no copy: no need to look at `/name`.
        if name == shapes.LISTED and not call.context.paths.inside(_real(call, folder)):
            raise call.refuse(
                "what was listed may be any file, credentials and links among them, and all of it "
                "would be copied out of the project. Name a folder, such as src."
            )
        below = folder.replace(FRESH, "x") if folder.endswith(FRESH) else folder
        landed = f"{below.rstrip('/') or below}/{name}"
        if shapes.HOLE.search(landed):
            word = ShellWord(None, shapes=(landed,), source=source.source)
        else:
            word = ShellWord((landed,), glob=source.glob, source=text)
        check(call, "write", word, "the target")


def _last(text: str) -> str:
    return text.rstrip("/").rpartition("/")[2]


def _real(call: CommandCall, folder: str) -> str:
    return call.context.paths.absolute(folder, call.cwd) or ""


def _is_root(call: CommandCall, folder: str) -> bool:
    return call.context.paths.absolute(folder, call.cwd) == call.context.paths.project


def _readable_only(call: CommandCall, text: str) -> None:
    real = call.context.paths.absolute(text, call.cwd)
    if real is not None and real.startswith("/dev/"):
        raise call.refuse(f"{text} is a device.")


def _move(call: CommandCall) -> None:
    sources, target = _ends(call)
    for word in sources:
        check(call, "remove", word, "the file")
    if target is not None:
        check(call, "write", target, "the target")
        for word in sources:
            _lands(call, target, word)


def _link(call: CommandCall) -> None:
    """The link is written; what it points to must stay in the project or /tmp as well."""
    if not call.parsed.has("-s", "--symbolic"):
        for word in call.parsed.operands:
            check(call, "write", word, "the file")
        return
    operands = list(call.parsed.operands)
    if not operands:
        raise call.refuse("needs a target.")
    link = operands.pop() if len(operands) > 1 else ShellWord.literal("./link")
    check(call, "write", link, "the link")
    folder, _, name = call.literal(link, "the link").rpartition("/")
    if call.parsed.has("-r", "--relative"):
        folder = ""  # targets are named from the working directory
    folder = folder or "."
    if name == NOTE:
        raise call.refuse("the note must be a file of its own.")
    for word in operands:
        text = call.literal(word, "the target")
        pointed = text if text.startswith(("/", "~")) else f"{folder}/{text}"
        call.context.paths.refuse_guarded(pointed, text)
        check(call, "project", ShellWord.literal(pointed), "the target")


def _chmod(call: CommandCall) -> None:
    if call.parsed.has("-R", "--recursive"):
        for word in call.parsed.operands[1:]:
            for text in word.choices or (word.prefix,):
                if _holds_protected(call, text):
                    raise call.refuse(
                        f"-R on {text or 'this'} reaches .git and .runner. Name a folder such as src."
                    )
    for word in call.parsed.operands[:1]:
        mode = call.literal(word, "the mode")
        if re.search(r"[2367]$", mode) and mode.isdecimal():
            raise call.refuse(f"{mode} lets everyone write.")
        if re.search(r"(?:^|,)[ga]*o[go]*[+=][rx]*w|(?:^|,)a[+=][rx]*w", mode):
            raise call.refuse(f"{mode} lets everyone write.")


def _holds_protected(call: CommandCall, text: str) -> bool:
    """Whether a folder has a protected one directly in it."""
    real = call.context.paths.absolute(text.rstrip("/") or text, call.cwd)
    if real is None or real == call.context.paths.project:
        return True
    return any(entry.name in GUARDED for entry in call.context.paths.facts.entries(real))


def _mktemp(call: CommandCall) -> None:
    if not call.parsed.operands or call.parsed.has("-t", "--tmpdir", "-p"):
        for word in call.parsed.operands:
            if "/" in (word.text or "/"):
                raise call.refuse("name a template without a folder.")


VALIDATORS = {"copy": _copy, "move": _move, "link": _link, "chmod": _chmod, "mktemp": _mktemp}
