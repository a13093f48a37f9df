"""Small tools whose harm is not in one option: endless output, packing in place, copies elsewhere."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.paths import is_endless
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.copying import VALIDATORS as COPYING

# Formats of pandoc whose documents can name others to read.
_INCLUDES = re.compile(
    r"(?!markdown|gfm|commonmark|html|docx|ipynb|json|csv|tsv|epub|odt|mediawiki|textile)"
)

_DD_ITEM = re.compile(
    r"(?:bs|ibs|obs|count|skip|seek)=\d+(?:[kKMG]i?B?|[cwb])?|status=\w+"
    r"|conv=(?:notrunc|fsync|fdatasync|sync|ucase|lcase|noerror)(?:,\w+)*|[io]flag=[\w,]+"
)
_DD_UNITS = {
    "": 1,
    "c": 1,
    "w": 2,
    "b": 512,
    "k": 1 << 10,
    "K": 1 << 10,
    "M": 1 << 20,
    "G": 1 << 30,
}
_DD_LIMIT = 2 << 30


def _yes(call: CommandCall) -> None:
    """`yes | head -3` ends; with any other reader it may not."""
    elsewhere = [r for r in call.command.redirections if r.fd != 2]
    if call.command.feeds != "head" or elsewhere or "head" in call.context.functions:
        raise call.refuse(call.rule.instead)


def _dd(call: CommandCall) -> None:
    """Files by their paths, and an end: no more than two gigabytes from an endless source."""
    sizes = {"bs": 512, "count": -1}
    endless = False
    for word in call.args:
        text = call.literal(word, "the operand")
        name, _, value = text.partition("=")
        if name == "of":
            check(call, "write", ShellWord.literal(value), "of=")
        elif name == "if":
            endless = is_endless(value)
            if not endless:
                check(call, "read", ShellWord.literal(value), "if=")
        elif not _DD_ITEM.fullmatch(text):
            raise call.refuse(f"{text} is not allowed. {call.rule.instead}")
        elif name in sizes:
            number = re.match(r"\d+", value)
            unit = value[len(number[0]) :][:1] if number else ""
            sizes[name] = int(number[0]) * _DD_UNITS[unit] if number else 0
    if sizes["bs"] * sizes["count"] > _DD_LIMIT or (endless and sizes["count"] < 0):
        raise call.refuse(f"say how much, and not more than 2 GB. {call.rule.instead}")


def _ar(call: CommandCall) -> None:
    """`t`, `p` look into an archive; `r` and `q` write it; `x` unpacks where it stands."""
    if len(call.args) < 2:
        raise call.refuse("needs a verb and an archive: ar t lib.a.")
    verb = call.literal(call.args[0], "the verb")
    if not re.fullmatch(r"-?(?:[tp]v?|[rq][csuvDU]*)", verb):
        raise call.refuse(f"{verb} is not allowed. Use t, p or rcs.")
    writes = verb.lstrip("-")[0] in "rq"
    check(call, "write" if writes else "read", call.args[1], "the archive")
    for word in call.args[2:]:
        text = word.text or word.prefix
        if text.startswith(("-", "@")):
            raise call.refuse(f"{word.source} is not allowed here.")
        if writes:
            check(call, "read", word, "the file")


def _pandoc(call: CommandCall) -> None:
    """No addresses; what can include other files must be a document of the project."""
    formats = [word.text or "" for word in call.parsed.values("-f", "--from", "-r", "--read")]
    includes = any(_INCLUDES.match(text) for text in formats)
    read = {word.text for word in call.parsed.operands}
    if includes and (not read or "-" in read):
        raise call.refuse("this format can include other files. Name a document of the project.")
    for word in call.parsed.operands:
        if any("://" in text for text in word.choices or (word.prefix,)):
            raise call.refuse("only files are allowed, no addresses.")
        if includes or not (word.text or "").endswith((".md", ".html", ".txt", ".ipynb", ".docx")):
            check(call, "project", word, "the document")


def _packed(call: CommandCall) -> None:
    """Compressing in place replaces the file, unless -k keeps it or -c prints."""
    if (
        call.parsed.has("-l", "-t", "-c", "--list", "--test", "--stdout")
        or not call.parsed.operands
    ):
        return
    if not call.parsed.has("-k", "--keep") and call.rule.data.get("keeps") != "yes":
        raise call.refuse("add -k to keep the file, or -c and redirect the output.")
    ending = call.rule.data["ending"]
    for word in call.parsed.operands:
        text = call.literal(word, "the file")
        check(call, "write", ShellWord.literal(text.removesuffix(ending)), "the file")
        check(call, "write", ShellWord.literal(text + ending), "the output")


def _rsync(call: CommandCall) -> None:
    """Copies on this machine: no host, no daemon."""
    for word in call.parsed.operands:
        for text in word.choices or word.shapes or (word.prefix,):
            if ":" in text or not text:
                raise call.refuse(f"{word.source}: only files of this machine are copied.")
    _refuse_whole_folder(call)
    COPYING["copy"](call)


def _refuse_whole_folder(call: CommandCall) -> None:
    """`rsync -a x/ .` brings what is in x, a .git included, into the project's own folder."""
    if not call.parsed.operands:
        return
    *sources, target = call.parsed.operands
    paths = call.context.paths
    if paths.absolute(target.text or "", call.cwd) != paths.project:
        return
    for word in sources:
        if any(text.endswith(("/", ".")) or not text for text in word.choices or ("",)):
            raise call.refuse(
                "copying a whole folder over the project could replace protected files. Name what "
                "is copied."
            )


def _counted(call: CommandCall) -> None:
    if len(call.parsed.operands) == 1:
        raise call.refuse("with an interval alone it never ends. Add a count: vmstat 1 3.")


def _needs_output(call: CommandCall) -> None:
    names = call.rule.data["output"].split()
    if not call.parsed.has(*names):
        raise call.refuse(f"needs {names[0]}. {call.rule.instead}".rstrip())


def _perf_report(call: CommandCall) -> None:
    if not call.parsed.has("--stdio"):
        raise call.refuse("add --stdio; a viewer waits for keys.")


VALIDATORS = {
    "yes": _yes,
    "dd": _dd,
    "ar": _ar,
    "pandoc": _pandoc,
    "packed": _packed,
    "rsync": _rsync,
    "counted": _counted,
    "needs-output": _needs_output,
    "perf-report": _perf_report,
}
