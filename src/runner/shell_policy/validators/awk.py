"""awk: a literal program that neither runs commands nor opens files of its own."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.shell.facts import ShellWord

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.)*\])+/")
_FORBIDDEN = re.compile(
    r"\b(?:system|close|fflush|getline|include|load|ENVIRON|ARGV|PROCINFO|INCLUDE|namespace)\b|@|\|"
)
_READ_FILE = re.compile(r'\(\s*getline(?:\s+\w+)?\s*<\s*"(\d+)"\s*\)')
_OUTPUT = re.compile(r"\bprintf?\b(?P<rest>[^;}\n]*)")
_FLAGS = frozenset(
    [
        "--posix",
        "--traditional",
        "--re-interval",
        "--lint",
        "--sandbox",
        "--csv",
        "-P",
        "-c",
        "-r",
        "-S",
    ]
)


def _awk(call: CommandCall) -> None:
    words = list(call.args)
    program: ShellWord | None = None
    files: list[ShellWord] = []
    while words:
        word = words.pop(0)
        text = word.choices[0] if word.choices else None
        if program is not None:
            files.append(word)
        elif text is None or word.glob:
            raise call.refuse(f"the program must be written out, not {word.source}.")
        elif text == "--":
            continue
        elif text in ("-F", "-v") or re.fullmatch(r"-[Fv].+", text, re.DOTALL):
            value = words.pop(0) if len(text) == 2 and words else None
            _assignment(call, text, value)
        elif text.startswith("--field-separator=") or text in _FLAGS:
            continue
        elif text.startswith("-"):
            raise call.refuse(
                f"the option {text} is not allowed. Use -F, -v and a literal program."
            )
        else:
            program = word
    if program is None:
        raise call.refuse("needs a program.")
    for text in program.choices or ():
        check_program(call, text)
    for word in files:
        _file(call, word)


def _assignment(call: CommandCall, option: str, value: ShellWord | None) -> None:
    if option.startswith("-F"):
        if value is not None and value.splits and not value.choices:
            raise call.refuse("the separator must be quoted.")
        return
    text = option[2:] or ((value.text or value.prefix) if value else "")
    if value is not None and value.splits and not value.numeric:
        raise call.refuse(f"quote {value.source}.")
    if not re.match(r"[A-Za-z_]\w*=", text):
        raise call.refuse("-v needs NAME=value.")


def _file(call: CommandCall, word: ShellWord) -> None:
    text = word.choices[0] if word.choices else ""
    if re.match(r"[A-Za-z_]\w*=", text):
        return
    if text.startswith("-") and text != "-":
        return
    check(call, "read", word, "the file")


def check_program(call: CommandCall, program: str) -> None:
    """Refuse a program that runs commands, or reads or writes files by itself."""
    if "\\\n" in program:
        raise call.refuse("a line that goes on after a backslash is not allowed in a program.")
    bare, strings = _without_literals(program)
    for match in _READ_FILE.finditer(bare):
        call.context.paths.read(strings[int(match[1])], call.cwd)
    bare = _READ_FILE.sub("(1)", bare)
    found = _FORBIDDEN.search(bare.replace("||", " or "))
    if found:
        raise call.refuse(
            f"{found[0]} is not allowed in a program: it could run commands or open files. "
            "Pipe and redirect in the shell instead."
        )
    for match in _OUTPUT.finditer(re.sub(r"(,|&&|\bor\b|\|\|)\s*\n", r"\1 ", bare)):
        if ">" in _outside_parentheses(match["rest"]):
            raise call.refuse("print > file is not allowed in a program. Redirect in the shell.")


def _without_literals(program: str) -> tuple[str, list[str]]:
    """Replace strings by their number, and drop comments and regular expressions."""
    out: list[str] = []
    strings: list[str] = []
    at = 0
    while at < len(program):
        char = program[at]
        match = _STRING.match(program, at) if char == '"' else None
        if match:
            out.append(f'"{len(strings)}"')
            strings.append(match[0][1:-1])
        elif char == "#":
            match = _COMMENT.match(program, at)
        elif char == "/" and _regex_may_start("".join(out)):
            match = _REGEX.match(program, at)
            if match:
                out.append(" ")
        if match:
            at = match.end()
        else:
            out.append(char)
            at += 1
    return "".join(out), strings


def _regex_may_start(before: str) -> bool:
    """Whether a slash here begins a regular expression rather than a division."""
    stripped = before.rstrip(" \t")
    if not stripped:
        return True
    return stripped[-1] in "(,{};!~&|?:\n" or bool(
        re.search(r"\b(?:return|print|in|case)$", stripped)
    )


def _outside_parentheses(text: str) -> str:
    depth = 0
    kept: list[str] = []
    for char in text:
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif depth <= 0:
            kept.append(char)
    return "".join(kept)


VALIDATORS = {"awk": _awk}
