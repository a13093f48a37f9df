"""Inline programs of interpreters (`-c`, `-e`, here-documents): literal, and no way around.

An interpreter can do what the sandbox lets it do, so this is a rail and no wall: inline code
that starts programs or names protected files would only go around the rules for commands.
"""

import ast
import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.languages import STARTS

_GUARDED = re.compile(
    r"\.runner\b(?!-note)|\.claude\b|\.git/(?:config|hooks|info|objects|refs|HEAD|index)|['\"/]\.git['\"/]|\.mcp\.json|\.ssh\b|\.aws\b|/etc/(?:shadow|passwd|sudoers|cron)"
    r"|\.netrc|\.bashrc|\.zshrc|\.profile\b|/proc/\S*environ|\.git-credentials|\.gnupg|ANTHROPIC_|AWS_SECRET|authorized_keys|id_rsa",
    re.IGNORECASE,
)
_PYTHON_MODULES = frozenset(
    [
        "subprocess",
        "pty",
        "ctypes",
        "multiprocessing",
        "pexpect",
        "sh",
        "plumbum",
        "fabric",
        "paramiko",
        "invoke",
        "code",
        "codeop",
        "runpy",
        "imp",
        "webbrowser",
        "antigravity",
        "socketserver",
        "telnetlib",
        "ftplib",
        "smtplib",
        "pip",
        "ensurepip",
        "cffi",
    ]
)
_PYTHON_CALLS = frozenset(
    [
        "system",
        "popen",
        "popen2",
        "popen3",
        "popen4",
        "execl",
        "execle",
        "execlp",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "spawnl",
        "spawnle",
        "spawnlp",
        "spawnv",
        "spawnve",
        "spawnvp",
        "spawnvpe",
        "posix_spawn",
        "posix_spawnp",
        "fork",
        "forkpty",
        "startfile",
        "create_subprocess_exec",
        "create_subprocess_shell",
        "__import__",
        "eval",
        "exec",
        "compile",
        "__subclasses__",
        "__globals__",
        "__builtins__",
        "breakpoint",
        "putenv",
        "setuid",
        "chown",
        "kill",
        "killpg",
    ]
)
_PYTHON_HOMES = frozenset({"os", "posix", "asyncio", "builtins", "signal"})
_PYTHON_STARTS = frozenset(
    name
    for name in _PYTHON_CALLS
    if name.startswith(
        ("system", "popen", "execl", "execv", "spawn", "posix_spawn", "fork", "create_subprocess")
    )
)
_NETWORK = re.compile(
    r"\b(?:urllib|requests|httpx|http\.client|aiohttp|socket|fetch\s*\(|axios|https?\.(?:get|request)"
    r"|Net::HTTP|open-uri|curl_init|fsockopen|IO::Socket|LWP)\b|\bfetch\s*\(|require\(.(?:https?|net|dgram|tls|dns).\)"
)
_ELSEWHERE = re.compile(
    r"(?:https?|wss?|ftp)://(?!localhost|127\.|0\.0\.0\.0|\[::1\])", re.IGNORECASE
)
_HERE = re.compile(r"localhost|127\.0\.0\.1|0\.0\.0\.0|::1")
_READ_MODULES = frozenset(
    [
        "ast",
        "sys",
        "json",
        "re",
        "math",
        "tomllib",
        "pprint",
        "platform",
        "itertools",
        "collections",
        "functools",
        "string",
        "textwrap",
        "datetime",
        "time",
        "statistics",
        "decimal",
        "fractions",
        "hashlib",
        "base64",
        "unicodedata",
        "keyword",
        "token",
        "tokenize",
        "textwrap",
        "csv",
        "operator",
        "typing",
        "dataclasses",
        "enum",
    ]
)
_READ_NAMES = frozenset(
    [
        "print",
        "open",
        "len",
        "sorted",
        "set",
        "list",
        "dict",
        "tuple",
        "str",
        "int",
        "float",
        "bool",
        "sum",
        "min",
        "max",
        "any",
        "all",
        "enumerate",
        "zip",
        "range",
        "map",
        "filter",
        "repr",
        "isinstance",
        "type",
        "hasattr",
        "reversed",
        "abs",
        "round",
        "ord",
        "chr",
        "hex",
        "bin",
        "format",
        "iter",
        "next",
        "frozenset",
        "bytes",
        "True",
        "False",
        "None",
    ]
)
_READ_METHODS = frozenset(
    [
        "parse",
        "dump",
        "walk",
        "read",
        "readlines",
        "readline",
        "load",
        "loads",
        "dumps",
        "format",
        "join",
        "split",
        "strip",
        "lstrip",
        "rstrip",
        "splitlines",
        "get",
        "items",
        "keys",
        "values",
        "count",
        "index",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "replace",
        "title",
        "find",
        "encode",
        "decode",
        "append",
        "add",
        "extend",
        "sort",
        "most_common",
        "Counter",
        "search",
        "match",
        "findall",
        "sub",
        "compile",
        "group",
        "groups",
        "version",
        "version_info",
        "executable",
        "platform",
        "path",
        "modules",
        "maxsize",
        "exit",
        "argv",
        "stdin",
        "stdout",
        "python_version",
        "sqrt",
        "pi",
        "floor",
        "ceil",
        "now",
        "isoformat",
        "sha256",
        "md5",
        "hexdigest",
        "b64encode",
        "b64decode",
        "reader",
        "DictReader",
        "literal_eval",
        "get_docstring",
        "pprint",
        "fullmatch",
        "FunctionDef",
        "ClassDef",
        "name",
        "body",
        "release",
        "machine",
        "implementation",
        "byteorder",
        "today",
        "mean",
        "median",
    ]
)


def require_literal(
    call: CommandCall, word: ShellWord | None, what: str = "inline code"
) -> list[str]:
    """Return the literal texts of inline code; refuse what is computed."""
    if word is None:
        raise call.refuse(f"{what} is missing.")
    if word.choices is None or word.glob:
        raise call.refuse(f"{what} must be written out in quotes, without variables of the shell.")
    return list(word.choices)


def check_inline(call: CommandCall, language: str, texts: list[str]) -> None:
    """Refuse inline code that starts programs or reaches for protected files."""
    for text in texts:
        found = _GUARDED.search(text)
        if found:
            raise call.refuse(f"inline code must not touch {found[0]}.")
        if _NETWORK.search(text) and (_ELSEWHERE.search(text) or not _HERE.search(text)):
            raise call.refuse("inline code may only talk to localhost.")
        if language == "python":
            _python(call, text)
            continue
        found = STARTS[language].search(text)
        if found:
            raise call.refuse(
                f"inline code must not use {found[0].strip()}. Run the command directly."
            )
        if call.context.mode == "sync":
            raise call.refuse("inline code may change files, and this session is read-only.")


def _python(call: CommandCall, text: str) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise call.refuse("this is not valid Python, so it can't be checked.") from error
    for node in ast.walk(tree):
        name = _started(node)
        if name:
            raise call.refuse(f"inline code must not use {name}. Run the command directly.")
    if call.context.mode == "sync" and not _only_reads(call, tree):
        raise call.refuse("inline code may change files, and this session is read-only.")


def _started(node: ast.AST) -> str:
    """Return the name by which a node could start a program, or nothing."""
    if isinstance(node, ast.Import):
        modules = [alias.name.partition(".")[0] for alias in node.names]
        return next((m for m in modules if m in _PYTHON_MODULES), "")
    if isinstance(node, ast.ImportFrom):
        module = (node.module or "").partition(".")[0]
        names = [
            alias.name
            for alias in node.names
            if alias.name in _PYTHON_CALLS
            and module in ("os", "posix", "asyncio", "builtins", "importlib")
        ]
        return module if module in _PYTHON_MODULES else (names[0] if names else "")
    if isinstance(node, ast.Attribute):
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        starts = node.attr in _PYTHON_STARTS and base != "platform"
        risky = node.attr in _PYTHON_CALLS and (base in _PYTHON_HOMES or node.attr.startswith("__"))
        return f"{base}.{node.attr}" if starts or risky else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return (
            node.func.id
            if node.func.id in ("eval", "exec", "__import__", "compile", "breakpoint")
            else ""
        )
    if isinstance(node, ast.Name):
        return node.id if node.id in ("__builtins__", "__loader__") else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Call):
        return (
            "a computed call"
            if isinstance(node.func.func, ast.Name) and node.func.func.id == "getattr"
            else ""
        )
    return ""


def _only_reads(call: CommandCall, tree: ast.AST) -> bool:
    """Whether a program certainly only reads project files and prints (strict allowlist)."""
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            if any(a.name not in _READ_MODULES or a.asname for a in node.names):
                return False
            bound |= {a.name for a in node.names}
        elif (
            isinstance(
                node,
                (
                    ast.ImportFrom,
                    ast.FunctionDef,
                    ast.ClassDef,
                    ast.Lambda,
                    ast.Delete,
                    ast.AsyncFunctionDef,
                ),
            )
            or (
                isinstance(node, ast.Attribute)
                and (node.attr not in _READ_METHODS or isinstance(node.ctx, ast.Store))
            )
            or (isinstance(node, ast.Call) and not _reading_call(call, node))
        ):
            return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names <= bound | _READ_NAMES


def _reading_call(call: CommandCall, node: ast.Call) -> bool:
    if not (isinstance(node.func, ast.Name) and node.func.id == "open"):
        return not any(keyword.arg == "file" for keyword in node.keywords)
    if any(keyword.arg != "encoding" for keyword in node.keywords) or not 1 <= len(node.args) <= 2:
        return False
    values = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    if len(values) != len(node.args) or not isinstance(values[0], str):
        return False
    call.context.paths.read(values[0], call.cwd)
    return len(values) == 1 or values[1] in ("r", "rb", "rt")


def check_stdin(call: CommandCall, language: str) -> None:
    """Judge the program that an interpreter reads from its standard input."""
    if call.command.piped or call.command.stdin is None:
        raise call.refuse("the program must be written out: use a quoted here-document or a file.")
    check_inline(call, language, [call.command.stdin])


def _perl(call: CommandCall) -> None:
    """Perl -ne/-pe one-liners; anything with files of its own, modules or commands is refused."""
    words = list(call.args)
    code: list[str] = []
    writes = False
    files: list[ShellWord] = []
    while words:
        word = words.pop(0)
        text = word.text
        if text in ("-v", "--version") and not words and not code:
            return
        if text is not None and re.fullmatch(r"-[nplaw0sEei0-9]*[eE]", text):
            writes = writes or "i" in text
            code.extend(require_literal(call, words.pop(0) if words else None))
        elif text is not None and re.fullmatch(
            r"-(?:[nplaw]+|0777|0|[nplaw]*i(?:\.\w+)?|c|F.)", text
        ):
            writes = writes or "i" in text
        elif not code and text in ("-Ilib", "-I./lib", "-w"):
            continue
        elif text is not None and text.startswith("-"):
            raise call.refuse(f"the option {text} is not allowed.")
        else:
            files.append(word)
    if not code and files:
        _perl_script(call, files)
        return
    if not code:
        raise call.refuse("only perl -e, -ne, -pe and scripts of the project are allowed.")
    check_perl(call, code)
    if writes:
        call.run_only("-i")
    for word in files:
        if any(re.search(r"^\s|[<>|]|\s$", text) for text in word.choices or word.shapes):
            raise call.refuse(f"{word.source}: perl would run such a name or write to it.")
        check(call, "write" if writes else "read", word, "the file")


def _perl_script(call: CommandCall, words: list[ShellWord]) -> None:
    call.run_only("a script")
    path = call.literal(words[0], "the script")
    if not path.endswith((".pl", ".pm", ".t")):
        raise call.refuse(f"{path} is not a Perl script of the project.")
    check(call, "project", words[0], "the script")
    for word in words[1:]:
        check(call, "project", word, "the argument")


def check_perl(call: CommandCall, code: list[str]) -> None:
    for text in code:
        found = STARTS["perl"].search(text) or _GUARDED.search(text)
        if found or (
            call.context.mode == "sync" and ">" in re.sub(r"=>|->|>=|\s>\s*[\d$]", "", text)
        ):
            raise call.refuse(
                "this one-liner could run commands or open files. Use sed, awk or python."
            )


VALIDATORS = {"perl": _perl}
