"""Shell built-ins: names that are assigned, options of the shell, directories, traps."""

import re

from runner.shell_policy import environment
from runner.shell_policy.context import CommandCall
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.kinds import check
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellAssignment, ShellWord

_NAME = re.compile(r"[A-Za-z_]\w*")
_TARGET = re.compile(r"([A-Za-z_]\w*)(\[[\w\"'$@*-]*\])?")
_ROOTED = re.compile(r"[\"']?\$\{?([A-Za-z_]\w*)\}?(?P<rest>.*)", re.DOTALL)
_ROOT_COMMAND = re.compile(
    r"[\"']?\$\((?:git rev-parse --show-toplevel|pwd(?: -P)?|dirname (?:-- )?\"?\$(?:0|\{BASH_SOURCE(?:\[0\])?(?::-\$0)?\})\"?)"
    r"(?: 2>/dev/null)?\)(?P<rest>.*)",
    re.DOTALL,
)
_SET = re.compile(r"[-+](?:[euxfvnCETBmbhkHPp]*)")
_ALLEXPORT = re.compile(r"[-+]\w*a")
_SIGNALS = re.compile(
    r"(?:SIG)?(?:EXIT|INT|TERM|HUP|QUIT|ERR|RETURN|USR1|USR2|PIPE|CHLD|TSTP|0|1|2|3|15)"
)


def _noop(call: CommandCall) -> None:
    """`:` and `true` do nothing; started in the background they only burn a processor."""
    if call.command.background:
        raise call.refuse("doing nothing in the background never ends well. Leave it out.")


def _printf(call: CommandCall) -> None:
    if not call.args:
        return
    first = call.args[0]
    if first.text is not None and first.text.startswith("-v"):
        name = first.text[2:]
        if not name and call.args[1:]:
            name = call.literal(call.args[1], "the variable")
        _assignable(call, name)
    elif first.choices is None and first.prefix in ("", "-") and first.splits:
        raise call.refuse("the format must be written out.")


def _assignable(call: CommandCall, name: str, value: ShellWord | None = None) -> None:
    match = _TARGET.fullmatch(name)
    if match is None:
        raise call.refuse(f"{name} is not a plain variable name.")
    assignment = ShellAssignment(match[1], value or ShellWord(None, source=""))
    environment.check_assignment(call.context, assignment, call.cwd)


def _names(call: CommandCall) -> None:
    """Names set by read, mapfile, getopts, export, declare, unset …."""
    words = call.parsed.operands
    flags = call.rule.data.get("flags", "").split()
    if call.rule.style == "raw" and call.rule.name in _DECLARING and not _has_names(call):
        raise call.refuse("printing all variables would show credentials. Print the one you need.")
    if call.rule.name == "getopts":
        words = words[1:2]
    for word in words:
        text = word.text
        if text is None:
            _computed_name(call, word)
        elif call.rule.style == "raw" and text.startswith(("-", "+")) and call.rule.name != "let":
            if text not in flags and text != "--":
                raise call.refuse(f"the option {text} is not allowed.")
        elif call.rule.name == "let":
            continue
        else:
            name, equals, value = text.partition("=")
            _assignable(call, name.removesuffix("+"), ShellWord.literal(value) if equals else None)
    for array in call.parsed.values("-a"):
        _assignable(call, call.literal(array, "the array"))


_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly", "unset"})


def _has_names(call: CommandCall) -> bool:
    if call.rule.name == "local":
        return True
    return any(not (word.text or "x").startswith(("-", "+")) for word in call.args)


def _computed_name(call: CommandCall, word: ShellWord) -> None:
    """`export X=$y`: the name is in the certain beginning, or in each of the choices."""
    array = re.match(r"([A-Za-z_]\w*)\+?=\(", word.source)
    if array:
        _assignable(call, array[1])
        return
    for text in word.choices or (word.prefix,):
        name, equals, value = text.partition("=")
        if not equals:
            if call.rule.name == "let":
                continue
            raise call.refuse(f"the name in {word.source} must be written out.")
        known = (
            ShellWord.literal(value)
            if word.choices
            else ShellWord(None, prefix=value, source=word.source)
        )
        _assignable(call, name.removesuffix("+"), known)


def _set(call: CommandCall) -> None:
    words = list(call.args)
    if len(words) == 1 and words[0].text in ("-o", "+o"):
        return  # lists the shell's options
    while words:
        word = words.pop(0)
        text = word.text
        if text is None or text in ("--", "-"):
            if text is None and not word.prefix and word.choices is None:
                raise call.refuse("write set -- before computed words.")
            return
        if not text.startswith(("-", "+")):
            return
        if _ALLEXPORT.fullmatch(text):
            raise call.refuse("-a exports every variable. Use export NAME=value.")
        if text[1:].endswith("o"):
            option = call.literal(words.pop(0), "the option") if words else ""
            if option not in _SET_OPTIONS or not _SET.fullmatch(text[:-1] or "-"):
                raise call.refuse(f"the option {option or text} is not allowed.")
        elif not _SET.fullmatch(text) or len(text) == 1:
            raise call.refuse(f"the option {text} is not allowed.")
    if not call.args:
        raise call.refuse("printing all variables would show credentials.")


_SET_OPTIONS = frozenset(
    [
        "errexit",
        "nounset",
        "pipefail",
        "xtrace",
        "noglob",
        "verbose",
        "noclobber",
        "errtrace",
        "functrace",
        "monitor",
        "noexec",
        "posix",
        "braceexpand",
        "emacs",
        "vi",
        "physical",
    ]
)


def _cd(call: CommandCall) -> None:
    """Allow directories that are certain, or certainly in the project."""
    for word in call.parsed.operands:
        if word.choices is not None:
            for text in word.choices:
                _directory(call, text)
        elif word.shapes and not word.splits and not any(shapes.PLACE in s for s in word.shapes):
            for shape in word.shapes:
                _computed_directory(call, word, shape)
        elif word.prefix.startswith("-") or not (_is_rooted(call, word) or _is_below(call, word)):
            raise call.refuse(
                f"where {word.source} leads is not known. Write the directory out, relative to the "
                "project."
            )


def _computed_directory(call: CommandCall, word: ShellWord, shape: str) -> None:
    """`for d in packages/*/; do (cd "$d" && …)`: every one must be in the project."""
    if shape and not shapes.HOLE.search(shape):
        _directory(call, shape)
    elif shape:
        first = shapes.HOLE.match(shape)
        if first and first[0] not in shapes.NAME + shapes.LISTED:
            raise call.refuse(f"where {word.source} leads is not known. Write the directory out.")
        check(
            call, "project", ShellWord(None, shapes=(shape,), source=word.source), "the directory"
        )


def _directory(call: CommandCall, text: str) -> None:
    if text == "-":
        _back(call)
        return
    if text == "":
        return
    if text.startswith(("+", "-")):
        raise call.refuse("rotating the directory stack is not allowed.")
    call.context.paths.read(text, call.cwd)


def _back(call: CommandCall) -> None:
    """`cd -` is certain only where every directory of the script is in the project."""
    for command in call.context.script:
        name, words = command.words[0].text if command.words else None, command.words[1:]
        if name not in ("cd", "pushd"):
            continue
        named = [text for word in words for text in word.choices or () if text not in ("-", "--")]
        places = [call.context.paths.absolute(text, command.cwd) for text in named or ["~"]]
        back = bool(words) and words[-1].text == "-"
        if not back and any(p is None or not call.context.paths.inside(p) for p in places):
            raise call.refuse("where - leads is not certain. Name the directory.")


def _is_below(call: CommandCall, word: ShellWord) -> bool:
    """Whether a computed directory has a fixed beginning inside the project."""
    if "/" not in word.prefix or ".." in word.prefix.split("/"):
        return False
    real = call.context.paths.absolute(word.prefix.rpartition("/")[0] or "/", call.cwd)
    return real is not None and call.context.paths.inside(real)


def _is_rooted(call: CommandCall, word: ShellWord) -> bool:
    match = _ROOT_COMMAND.fullmatch(word.source) or _ROOTED.fullmatch(word.source)
    if match is None:
        return False
    name = match[1] if match.re is _ROOTED else None
    if name is not None and name != "PWD" and name not in call.context.rooted:
        return False
    rest = match["rest"].strip("\"'")
    return ".." not in rest.split("/") and (rest in ("", ")") or rest.startswith("/"))


def _trap(call: CommandCall) -> None:
    words = call.args
    if words and words[0].text == "--":
        words = words[1:]
    if not words or words[0].text in ("-l", "-p"):
        return
    # What it does is followed with the script: its commands are judged like all others.
    if words[0].splits or not (words[0].shapes and all(map(shapes.counted, words[0].shapes))):
        call.literal(words[0], "the action")
    for word in words[1:]:
        signal = call.literal(word, "the signal")
        if not _SIGNALS.fullmatch(signal):
            raise call.refuse(f"trapping {signal} is not allowed.")


def _source(call: CommandCall) -> None:
    """Only what a tool made for sourcing: a virtual environment, the environment of a shell tool."""
    if len(call.args) != 1:
        raise call.refuse("source takes one file, such as .venv/bin/activate.")
    path = call.literal(call.args[0], "the file")
    usual = re.fullmatch(r"(?:.*/)?\.?v?env[\w.-]*/bin/activate(?:\.sh)?", path)
    if not usual and not _is_environment(call, path):
        raise call.refuse("only the activate script of a virtual environment may be sourced.")
    call.context.paths.project_file(path, call.cwd)


def _is_environment(call: CommandCall, path: str) -> bool:
    """Whether it is the activate script of an environment that the project holds."""
    folder = path.removesuffix("/bin/activate")
    if folder == path:
        return False
    mark = call.context.paths.absolute(f"{folder}/pyvenv.cfg", call.cwd)
    return mark is not None and call.context.paths.facts.exists(mark)


def _test(call: CommandCall) -> None:
    """Refuse what bash evaluates behind our back in `test -v` and in arithmetic operands."""
    texts = [word.text for word in call.args]
    for word in call.args:
        for choice in word.choices or ():
            if re.search(r"\w\[[^\]]*[$`]", choice):
                raise call.refuse(f"{choice}: subscripts with expansions are not allowed.")
    for index, text in enumerate(texts):
        if text == "-v" and index + 1 < len(texts):
            name = texts[index + 1]
            if name is None or not _TARGET.fullmatch(name):
                raise call.refuse("-v needs a plain variable name.")
        if text in _FILE_TESTS and index + 1 < len(texts) and texts[index + 1] is not None:
            _tested_path(call, str(texts[index + 1]))


_FILE_TESTS = frozenset(["-e", "-f", "-d", "-r", "-s", "-x", "-L", "-h", "-w"])


def _tested_path(call: CommandCall, path: str) -> None:
    """Asking whether a credential file exists is refused like reading it."""
    if path.startswith(("/proc", "~", "/etc")):
        try:
            call.context.paths.read(path, call.cwd)
        except PolicyRefusalError as error:
            raise call.refuse(error.reason) from error


VALIDATORS = {
    "noop": _noop,
    "printf": _printf,
    "names": _names,
    "set": _set,
    "cd": _cd,
    "trap": _trap,
    "source": _source,
    "test": _test,
}
