"""Which programs can't fail in a way that says something about what was built."""

from __future__ import annotations

import ast
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.shell_policy.shell.nodes import Sequence as Script
from runner.shell_policy.shell.nodes import Simple, Substitution, WordNode


@dataclass(frozen=True, slots=True)
class Harmless:
    """A command that can't fail, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class ShellCommandForm:
    """A command that has a shell run a text.

    Attributes:
        options: `e` for errexit, `p` for pipefail.
        is_ours: the text runs in the same shell (`eval`).
    """

    text: str
    options: str = ""
    is_ours: bool = False


Words = Sequence[str | None]
Judged = Harmless | ShellCommandForm | None

_QUIET = frozenset(
    {
        "true", ":", "echo", "printf", "pwd", "export", "unset", "set", "shopt", "umask", "alias",
        "unalias", "date", "whoami", "id", "hostname", "uname", "seq", "basename", "dirname", "sleep",
        "printenv", "clear", "yes", "tput", "trap", "local", "declare", "typeset", "readonly", "hash",
        "times", "jobs", "history", "logger", "arch", "nproc", "uptime", "tty", "groups", "shift",
    }
)  # fmt: skip
_LOOKING = frozenset(
    {
        "ls", "cat", "cd", "pushd", "popd", "stat", "file", "du", "df", "tree", "realpath",
        "readlink", "which", "type", "head", "tail", "wc", "less", "more", "nl", "tac", "md5sum",
        "sha256sum", "sha1sum", "cksum", "od", "xxd", "hexdump", "strings", "dir", "vdir",
    }
)  # fmt: skip
_MAKING = frozenset(
    {"mkdir", "touch", "cp", "mv", "rm", "ln", "chmod", "install", "mktemp", "truncate"}
)
_FILTERS = frozenset(
    {"tee", "sort", "uniq", "cut", "tr", "column", "fold", "rev", "paste", "fmt", "expand", "ts"}
)
_LOOKING_GIT = frozenset(
    {
        "status",
        "log",
        "show",
        "branch",
        "remote",
        "rev-parse",
        "describe",
        "tag",
        "blame",
        "shortlog",
    }
)
_FILE_TESTS = frozenset("-" + letter for letter in "abcdefghkprstuwxGLNOS")
_KNOWN_TOOLS = frozenset(
    {
        "python", "python3", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "go", "cargo", "rustc",
        "git", "make", "cmake", "ruby", "bundle", "rake", "rspec", "pytest", "java", "javac", "mvn",
        "gradle", "dotnet", "php", "composer", "pip", "pip3", "uv", "tsc", "gcc", "g++", "clang", "ruff",
        "mypy", "eslint", "jest", "vitest", "swift", "perl", "lua", "docker", "bash", "sh",
    }
)  # fmt: skip
_ABOUT_ITSELF = frozenset({"--version", "-V", "--help", "-h", "-v", "version", "help"})
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash"})

_IGNORING: Mapping[str, tuple[str, ...]] = {
    "pytest": ("--co", "--collect-only", "--collectonly", "--fixtures", "--markers", "--setup-plan"),
    "py.test": ("--co", "--collect-only", "--setup-plan"),
    "ruff": ("--exit-zero", "-e"),
    "flake8": ("--exit-zero",),
    "pylint": ("--exit-zero",),
    "bandit": ("--exit-zero",),
    "make": ("--dry-run", "--just-print", "--recon", "--ignore-errors", "--touch"),
    "gmake": ("--dry-run", "--just-print", "--recon", "--ignore-errors", "--touch"),
    "npm": ("--if-present", "--ignore-scripts", "--dry-run"),
    "pnpm": ("--if-present", "--ignore-scripts"),
    "yarn": ("--if-present", "--ignore-scripts"),
    "bun": ("--if-present",),
    "rspec": ("--dry-run",),
    "mocha": ("--dry-run",),
    "jest": ("--listTests", "--showConfig"),
    "playwright": ("--list",),
    "ctest": ("-N", "--show-only"),
    "tox": ("--notest", "-l", "--listenvs"),
    "nox": ("-l", "--list"),
    "gradle": ("--dry-run", "-m"),
    "gradlew": ("--dry-run", "-m"),
    "mvn": ("-fn", "--fail-never", "-DskipTests", "-Dmaven.test.skip=true", "-DskipTests=true",
            "-Dmaven.test.failure.ignore=true", "-Dmaven.test.failure.ignore"),
    "dotnet": ("--list-tests", "-t"),
    "phpunit": ("--list-tests", "--list-suites", "--list-groups"),
    "go": ("-list",),
}  # fmt: skip
"""Options with which a known tool runs nothing, or ignores what it finds."""

_NO_TESTS = re.compile(r"\^?\$|\^?(?:NONE|XXX|___|DONOTMATCH)\$?", re.IGNORECASE)
_ENDS_WELL = re.compile(r"(?:golangci-lint|rspec)")
_WRAPPERS: Mapping[str, int] = {
    "timeout": 1, "nohup": 0, "nice": 0, "time": 0, "command": 0, "exec": 0, "builtin": 0,
    "stdbuf": 0, "setsid": 0, "ionice": 0, "env": 0, "xargs": 0, "sudo": 0, "chronic": 0,
}  # fmt: skip
"""Programs that run the rest of their words, and how many operands come first."""
_TAKES_VALUE = frozenset(
    {"-k", "-s", "-n", "-u", "-I", "-P", "-L", "-c", "-o", "-e", "-i", "-C", "-S"}
)
_RUNNERS: Mapping[tuple[str, str], int] = {
    ("uv", "run"): 2, ("poetry", "run"): 2, ("pipenv", "run"): 2, ("pdm", "run"): 2,
    ("hatch", "run"): 2, ("rye", "run"): 2, ("npm", "exec"): 2, ("pnpm", "exec"): 2,
    ("bundle", "exec"): 2, ("yarn", "exec"): 2, ("mise", "exec"): 2,
}  # fmt: skip
_LITERAL = r"""(?:"[^"$`\\]*"|'[^'\\]*'|`[^`$\\]*`|-?\d+(?:\.\d+)?|true|null)"""
_IDLE_JAVASCRIPT = re.compile(
    rf"\s*(?:(?:console\.(?:log|info)\(\s*(?:{_LITERAL}(?:\s*,\s*{_LITERAL})*)?\s*\)|process\.exit\(0?\)"
    rf"|{_LITERAL})?\s*(?:;|\n|\Z)\s*)*"
)
_IDLE_TEXT = re.compile(
    rf"\s*(?:(?:(?:puts|print|p|echo|say)\s*\(?\s*{_LITERAL}?\s*\)?|exit(?:\s*\(?\s*0\s*\)?)?|{_LITERAL}|nil)?"
    r"\s*(?:;|\n|\Z)\s*)*"
)
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-lt": operator.lt,
    "-le": operator.le, "-gt": operator.gt, "-ge": operator.ge,
}  # fmt: skip
_ITS_OWN = "it prints or sets something"
_THERE = "it only shows that something is there, not that it works"


def judge_program(words: Words, command: Simple) -> Judged:
    """Return what is known of a simple command that can't fail by itself, None when it can.

    Args:
        words: its words; None for one that is not literal.
        command: as parsed.
    """
    fed = next((r for r in command.redirections if r.operator in _TEXT_OPERATORS), None)
    return _judged(words, command, fed.target.plain() if fed is not None else None)


_TEXT_OPERATORS = ("<<", "<<-", "<<<")


def _judged(words: Words, command: Simple, text: str | None) -> Judged:
    if not words or words[0] is None:
        return None
    name = PurePosixPath(words[0]).name if words[0].startswith("/") else words[0]
    rest = words[1:]
    inner = _wrapped(name, rest)
    if inner is not None:
        return _judged(inner, command, text) if inner else Harmless(f"`{name}` runs nothing")
    if name in _SHELLS:
        return _shell(rest, text)
    if name == "eval":
        return (
            ShellCommandForm(" ".join(w or "" for w in rest), is_ours=True)
            if None not in rest
            else None
        )
    if name in _KNOWN_TOOLS and rest and all(word in _ABOUT_ITSELF for word in rest):
        return Harmless(f"`{name} {rest[0]}` only tells about {name} itself")
    judge = _JUDGES.get(name) or _JUDGES.get(name.rstrip("0123456789."))
    if judge is not None:
        return judge(name, rest, command, text)
    return _plain(name, rest)


def _plain(name: str, rest: Words) -> Judged:
    if name in _QUIET:
        return Harmless(f"`{name}` can't fail; {_ITS_OWN}")
    if name in _LOOKING or name in _MAKING:
        return Harmless(f"`{name}`: {_THERE}")
    if name in _FILTERS:
        return Harmless(f"`{name}` passes on what it reads")
    for option in _IGNORING.get(PurePosixPath(name).name, ()):
        if option in rest:
            return Harmless(f"with `{option}` `{name}` runs nothing, or ignores what it finds")
    if _ENDS_WELL.fullmatch(name) and _has_zero(rest):
        return Harmless(f"`{name}` is told to end with 0")
    return None


def _has_zero(rest: Words) -> bool:
    options = ("--issues-exit-code", "--failure-exit-code")
    pairs = zip(rest, (*rest[1:], ""), strict=False)
    return any(
        (one in options and two == "0") or one in tuple(f"{option}=0" for option in options)
        for one, two in pairs
    )


def _wrapped(name: str, rest: Words) -> list[str | None] | None:
    """Return the words that a wrapper runs, None where `name` is none."""
    if rest and (name, rest[0] or "") in _RUNNERS:
        left = list(rest[1:])
        return left[1:] if left[:1] == ["--"] else left
    if name not in _WRAPPERS or (name == "command" and rest[:1] in (["-v"], ["-V"])):
        return None
    left, operands = list(rest), _WRAPPERS[name]
    while left and (
        left[0] is None or left[0].startswith("-") or (name == "env" and "=" in left[0])
    ):
        if left[0] is None:
            return None
        takes = left[0] in _TAKES_VALUE and name != "env"
        left = left[2:] if takes else left[1:]
    return left[operands:]


def _shell(rest: Words, text: str | None) -> Judged:
    options, left = "", list(rest)
    while left and left[0] is not None and left[0][:1] in ("-", "+") and left[0] != "-":
        word = left.pop(0) or ""
        if word == "-o" or (
            word.startswith("-") and not word.startswith("--") and word.endswith("o")
        ):
            named = left.pop(0) if left else ""
            options += {"pipefail": "p", "errexit": "e"}.get(named or "", "")
        if word.startswith("-") and not word.startswith("--") and "e" in word[1:]:
            options += "e"
        if word.startswith("-") and not word.startswith("--") and "n" in word[1:]:
            return None  # a syntax check can fail
        if word.startswith("-") and not word.startswith("--") and "c" in word[1:]:
            return ShellCommandForm(left[0], options) if left and left[0] is not None else None
    if text is not None and (not left or left == ["-"]):
        return ShellCommandForm(text, options)
    return None


def only_looks(operators: Sequence[str], words: Sequence[WordNode]) -> bool:
    """Whether tests only ask whether files are there, or compare constants."""
    if any(word.plain() is None for word in words):
        return False
    return all(op in _FILE_TESTS or op in ("-n", "-z", "", "=", "==", "!=") for op in operators)


def _test(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del text
    if _holds_for_every_status([word.source for word in command.words[-len(rest) :]]):
        return Harmless(f"`{name}` compares `$?` with what every exit code is")
    words = [word for word in rest if word != "]"]
    if None in words:
        return None
    if not words or any(word in _FILE_TESTS for word in words) or len(words) == 1:
        return Harmless(f"`{name}`: {_THERE}")
    return Harmless(f"`{name}` compares constants")


def _holds_for_every_status(sources: Sequence[str]) -> bool:
    match [source.strip("\"'") for source in sources if source != "]"]:
        case ["$?" | "${?}", sign, number] if sign in _COMPARISONS:
            compare = _COMPARISONS[sign]
            found = re.fullmatch(r"-?\d{1,18}", number, re.ASCII)
            return found is not None and all(compare(code, int(number)) for code in range(256))
    return False


def _make(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    """Options of one letter can stand together, up to one that takes the rest as its value."""
    del command, text
    for word in rest:
        letters = re.fullmatch(r"-([a-zA-Z]+)", word or "")
        flags = re.split("[CfIjlOoW]", letters[1])[0] if letters else ""
        idle = next((flag for flag in flags if flag in "nit"), None)
        if idle is not None:
            return Harmless(f"with `-{idle}` `{name}` runs nothing, or ignores what it finds")
    return _plain(name, rest)


def _python(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    words = list(rest)
    while words:
        word = words.pop(0)
        if word is None:
            return None
        if word == "-m":
            return _judged(words, command, text) if words else None
        if word == "-c" or (
            word.startswith("-") and not word.startswith("--") and word.endswith("c")
        ):
            code = words[0] if words else None
            return _idle_python(name, code)
        if word in ("-W", "-X"):
            words = words[1:]
        elif not word.startswith("-") or word == "-":
            return _idle_python(name, text) if word == "-" else None
    return _idle_python(name, text)


def _idle_python(name: str, code: str | None) -> Judged:
    if code is None:
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if all(_is_idle(statement) for statement in tree.body):
        return Harmless(f"the code given to `{name}` can't fail")
    return None


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Try(body=_, handlers=handlers, orelse=orelse, finalbody=finalbody):
            inside = [*orelse, *finalbody, *(one for handler in handlers for one in handler.body)]
            return any(_catches_all(h) for h in handlers) and all(map(_is_idle, inside))
        case ast.Import(names):
            return all(one.name.partition(".")[0] in sys.stdlib_module_names for one in names)
        case ast.ImportFrom(module=str(module), level=0):
            return module.partition(".")[0] in sys.stdlib_module_names
        case ast.Assert(test=ast.Constant(value)):
            return bool(value)
        case ast.Expr(ast.Call(func, arguments, [])):
            return _calls_nothing(func, arguments)
        case ast.Raise(exc=ast.Call(ast.Name("SystemExit"), arguments, [])):
            return _ends_well(arguments)
        case ast.Assign(value=value):
            return _is_constant(value)
    return False


def _calls_nothing(func: ast.expr, arguments: list[ast.expr]) -> bool:
    match func:
        case ast.Name("print"):
            return all(map(_is_constant, arguments))
        case ast.Name("exit" | "quit") | ast.Attribute(ast.Name("sys"), "exit"):
            return _ends_well(arguments)
        case ast.Attribute(ast.Name("os"), "_exit"):
            return _ends_well(arguments)
    return False


def _catches_all(handler: ast.ExceptHandler) -> bool:
    names = ("Exception", "BaseException")
    kind = handler.type
    return kind is None or (isinstance(kind, ast.Name) and kind.id in names)


def _is_constant(expression: ast.expr) -> bool:
    parts = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.JoinedStr)
    return all(isinstance(node, parts) for node in ast.walk(expression))


def _ends_well(arguments: list[ast.expr]) -> bool:
    return not arguments or (
        isinstance(arguments[0], ast.Constant) and arguments[0].value in (0, None, False)
    )


def _inline(pattern: re.Pattern[str], *options: str) -> Judge:
    def judge(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
        del command, text
        for one, code in zip(rest, (*rest[1:], None), strict=False):
            if one in options and code is not None and pattern.fullmatch(code):
                return Harmless(f"the code given to `{name}` can't fail")
        return None

    return judge


def _git(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del command, text
    words = [word for word in rest if word != "--no-pager"]
    if words and words[0] in _LOOKING_GIT:
        return Harmless(f"`{name} {words[0]}` only looks")
    checks = ("--exit-code", "--quiet", "--check")
    if words and words[0] == "diff" and not any(word in checks for word in words):
        return Harmless(f"`{name} diff` ends with 0 without `--exit-code`")
    return None


def _go(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del command, text
    for one, two in zip(rest, (*rest[1:], None), strict=False):
        given = two if one in ("-run", "--run") else (one or "").partition("-run=")[2] or None
        if given is not None and _NO_TESTS.fullmatch(given):
            return Harmless(f"`-run '{given}'` matches no test")
    return _plain(name, rest)


def _find(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del command, text
    runs = any(word in ("-exec", "-execdir") for word in rest) and "+" in rest
    return None if runs else Harmless(f"`{name}` ends with 0 whether it finds something or not")


def _awk(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del command, text
    if any(word is None or "exit" in word or word == "-f" for word in rest):
        return None
    return Harmless(f"`{name}` passes on what it reads")


def _sed(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del command, text
    if any(word is None or re.search(r"[qQ]\s*\d", word) or word == "-f" for word in rest):
        return None
    return Harmless(f"`{name}` passes on what it reads")


def _wait(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del command, text
    return None if rest else Harmless(f"`{name}` without a process ends with 0")


def _command_v(name: str, rest: Words, command: Simple, text: str | None) -> Judged:
    del rest, command, text
    return Harmless(f"`{name} -v`: {_THERE}")


Judge = Callable[[str, Words, Simple, str | None], Judged]

_JUDGES: Mapping[str, Judge] = {
    "test": _test,
    "[": _test,
    "python": _python,
    "pypy": _python,
    "node": _inline(_IDLE_JAVASCRIPT, "-e", "--eval", "-p", "--print", "-pe"),
    "bun": _inline(_IDLE_JAVASCRIPT, "-e", "--eval"),
    "deno": _inline(_IDLE_JAVASCRIPT, "eval"),
    "ruby": _inline(_IDLE_TEXT, "-e"),
    "perl": _inline(_IDLE_TEXT, "-e", "-E"),
    "php": _inline(_IDLE_TEXT, "-r"),
    "lua": _inline(_IDLE_TEXT, "-e"),
    "git": _git,
    "go": _go,
    "make": _make,
    "gmake": _make,
    "find": _find,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "sed": _sed,
    "wait": _wait,
    "command": _command_v,
}


def substitutions(command: Simple) -> Iterator[Script]:
    """Yield the bodies of `$(…)` in the values that a command assigns."""
    for assign in command.assigns:
        words = [assign.value, *(i for i in assign.items or () if isinstance(i, WordNode))]
        for word in words:
            yield from (part.body for part in word.parts if isinstance(part, Substitution))
