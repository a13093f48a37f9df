"""The python interpreter, and the Python tools that run further programs."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.patterns import refuse_guarded_glob
from runner.shell_policy.programs import check_own_script, is_checking_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.debugging import check_pdb
from runner.shell_policy.validators.inline import check_inline, check_stdin, require_literal
from runner.shell_policy.validators.written import judge_written

_FLAGS = re.compile(r"-[BbdEIiOOPqsSuvx]+")
# Folders that pytest --basetemp may empty.
_EMPTIED = re.compile(r"/tmp/[\w-]|(?:\./)?\.?(?:tmp|temp|pytest|build|target)")  # noqa: S108
_MANAGE_SYNC = frozenset(["test", "check", "showmigrations", "diffsettings", "version"])


def judge_tool_as(call: CommandCall, name: str, words: tuple[ShellWord, ...]) -> None:
    """Judge arguments as those of another command of the profiles."""
    call.judge_inner((ShellWord.literal(name), *words))


def _python(call: CommandCall) -> None:
    words = list(call.args)
    while words:
        word = words.pop(0)
        text = word.text
        if text is None:
            _script(call, word, words)
            return
        if text == "-c" or (text.startswith("-c") and len(text) > 2):
            code = (
                ShellWord.literal(text[2:]) if len(text) > 2 else (words.pop(0) if words else None)
            )
            check_inline(call, "python", require_literal(call, code))
            return
        if text == "-m" or (text.startswith("-m") and len(text) > 2):
            module = (
                ShellWord.literal(text[2:]) if len(text) > 2 else (words.pop(0) if words else None)
            )
            _module(call, module, words)
            return
        if text in ("-W", "-X") and words:
            value = call.literal(words.pop(0), text)
            _warning(call, value)
        elif re.fullmatch(r"-[WX].+", text):
            _warning(call, text[2:])
        elif text == "-":
            check_stdin(call, "python")
            return
        elif text.startswith("-"):
            if not _FLAGS.fullmatch(text) or "i" in text:
                raise call.refuse(f"the option {text} is not allowed.")
        else:
            _script(call, word, words)
            return
    check_stdin(call, "python")


def _warning(call: CommandCall, value: str) -> None:
    if not re.fullmatch(
        r"(?:default|error|ignore|always|module|once|all)?(?::[\w :.]*){0,4}|dev|utf8(?:=[01])?|faulthandler|importtime|tracemalloc(?:=\d+)?|frozen_modules=\w+|warn_default_encoding|no_debug_ranges|int_max_str_digits=\d+",
        value,
    ):
        raise call.refuse(f"{value} is not allowed here.")
    if re.search(r":[a-z]\w*\.", value):
        raise call.refuse(f"{value} would import a module.")


def _script(call: CommandCall, word: ShellWord, rest: list[ShellWord]) -> None:
    for text in word.choices or (None,):
        if text is None:
            if call.context.mode == "sync":
                raise call.refuse(f"{word.source} is not known to be a test.")
            check(call, "project", word, "the script")
            continue
        if word.glob:
            refuse_guarded_glob(text, call.refuse)
        if not text.endswith((".py", ".pyw")) and "." in text.rpartition("/")[2]:
            raise call.refuse(f"{text} is not a Python script of the project.")
        if text.rpartition("/")[2] == "manage.py" and _manage(call, text, rest):
            continue
        if not judge_written(call, "python", text):
            check_own_script(call.context, text, call.cwd)
    _project_only(call)
    protect(call, rest)


def _project_only(call: CommandCall) -> None:
    if call.cwd is None:
        return
    real = call.context.paths.absolute(".", call.cwd)
    if real is None or not (call.context.paths.inside(real)):
        raise call.refuse("scripts run in the project directory only.")


def protect(call: CommandCall, words: list[ShellWord]) -> None:
    """Refuse arguments of a script that name protected or secret files."""
    for word in words:
        for text in word.choices or ():
            value = text.partition("=")[2] if text.startswith("-") else text
            if word.glob:
                refuse_guarded_glob(value, call.refuse)
            if value:
                call.context.paths.refuse_guarded(value.rstrip("/"), value)
                call.context.paths.read(value, call.cwd)


def _manage(call: CommandCall, script: str, rest: list[ShellWord]) -> bool:
    """Whether this is a manage.py command that a read-only session may use."""
    call.context.paths.project_file(script, call.cwd)
    verb = rest[0].text if rest else None
    options = {word.text for word in rest[1:]}
    checks = verb in _MANAGE_SYNC or (
        verb in ("makemigrations", "migrate") and options & {"--check", "--dry-run", "--plan"}
    )
    return call.context.mode == "sync" and bool(checks)


def _module(call: CommandCall, module: ShellWord | None, rest: list[ShellWord]) -> None:
    if module is None:
        raise call.refuse("-m needs a module.")
    name = call.literal(module, "the module")
    command = (
        name.replace("_", "-") if name.replace("_", "-") in call.context.rules.commands else name
    )
    if call.rule.matches("commands", name) and command in call.context.rules.commands:
        judge_tool_as(call, command, tuple(rest))
    elif call.rule.matches("reads", name):
        _reading_module(call, name, rest)
    elif name == "pdb":
        _pdb(call, rest)
    elif call.rule.matches("run", name):
        call.run_only(f"-m {name}")
        _running_module(call, name, rest)
    else:
        _project_module(call, name, rest)


def _pdb(call: CommandCall, rest: list[ShellWord]) -> None:
    """The debugger with its commands on the command line or in a here-document."""
    call.run_only("-m pdb")
    commands: list[str] = []
    words = list(rest)
    while len(words) > 1 and words[0].text in ("-c", "--command"):
        words.pop(0)
        commands += require_literal(call, words.pop(0), "the command")
    if not commands and (call.command.piped or call.command.stdin is None):
        raise call.refuse(
            "a debugger waits for keys. Give its commands: python3 -m pdb -c 'b 10' -c c -c 'p x' "
            "-c q FILE."
        )
    check_pdb(call, [*commands, *(call.command.stdin or "").splitlines()])
    if words and words[0].text == "-m" and len(words) > 1:
        _module(call, words[1], words[2:])
    elif words:
        _script(call, words[0], words[1:])


def _reading_module(call: CommandCall, name: str, rest: list[ShellWord]) -> None:
    operands = [word for word in rest if not (word.text or "x").startswith("-")]
    for word in rest:
        if (word.text or "").startswith("-") and not re.fullmatch(
            r"-[vqhscnm]+|--(?:indent|sort-keys|json-lines|no-ensure-ascii|compact|tab|details|help)(?:=\d+)?|-\d+",
            word.text or "",
        ):
            raise call.refuse(f"the option {word.text} is not allowed.")
    if name == "json.tool" and len(operands) > 1 and not (operands[0].text or "").isdecimal():
        check(call, "write", operands[1], "the output")
    if name == "doctest":
        for word in operands:
            check(call, "project", word, "the file")
        return
    if name == "timeit":
        for word in operands:
            check_inline(call, "python", require_literal(call, word))
        return
    for word in operands[:1]:
        check(call, "read", word, "the file")


def _running_module(call: CommandCall, name: str, rest: list[ShellWord]) -> None:
    if name == "venv":
        judge_tool_as(call, "venv", tuple(rest))
    elif name == "http.server":
        words = list(rest)
        while words:
            text = call.literal(words.pop(0), "the argument")
            if text in ("-d", "--directory", "-b", "--bind") and words:
                value = words.pop(0)
                if text in ("-d", "--directory"):
                    check(call, "project", value, text)
                elif value.text not in ("127.0.0.1", "localhost"):
                    raise call.refuse("bind to 127.0.0.1.")
            elif not text.isdecimal():
                raise call.refuse(f"{text} is not allowed.")
    elif name == "ensurepip":
        for word in rest:
            if word.text not in ("--upgrade", "-U", "--default-pip", "--user"):
                raise call.refuse(f"{word.source} is not allowed.")
    elif name in ("cProfile", "profile"):
        words = list(rest)
        while words and (words[0].text or "").startswith("-"):
            option = call.literal(words.pop(0), "the option")
            if option == "-m" and words:
                _module(call, words.pop(0), words)
                return
            if option not in ("-s", "-o") or not words:
                raise call.refuse(f"the option {option} is not allowed.")
            value = words.pop(0)
            if option == "-o":
                check(call, "write", value, "-o")
        if words:
            _script(call, words[0], words[1:])


def _project_module(call: CommandCall, name: str, rest: list[ShellWord]) -> None:
    """A module of the project itself: it exists there, or is named by a usual folder."""
    if not re.fullmatch(r"[A-Za-z_]\w*(?:\.\w+)*", name):
        raise call.refuse(f"{name} is not a module.")
    path = name.replace(".", "/")
    first = name.partition(".")[0]
    candidates = [
        f"{folder}{path}{end}"
        for folder in ("", "src/")
        for end in (".py", "/__main__.py", "/__init__.py")
    ]
    exists = any(_exists(call, candidate) for candidate in candidates)
    usual = first in ("src", "app", "tests", "scripts", "tools", "backend", "server")
    usual = usual and ("." in name or first in ("src", "app", "backend", "server"))
    if not (exists or usual or call.context.settings.planned):
        raise call.refuse(f"the module {name} is neither a known tool nor part of the project.")
    if call.context.mode == "sync" and not is_checking_script(path):
        raise call.refuse(f"{name} may change files, and this session is read-only.")
    _project_only(call)
    protect(call, rest)


def _exists(call: CommandCall, candidate: str) -> bool:
    path = call.context.paths.absolute(candidate, call.cwd)
    return path is not None and call.context.paths.facts.exists(path)


def _pytest(call: CommandCall) -> None:
    if call.context.mode == "sync":
        pattern = call.context.rules.lists["cov-report"]
        for word in call.parsed.values("--cov-report"):
            if not re.fullmatch(pattern, call.literal(word, "--cov-report")):
                call.run_only("this report")
    for word in call.parsed.values("--basetemp"):
        folder = call.literal(word, "--basetemp")
        if ".." in folder or not _EMPTIED.match(folder):
            raise call.refuse("--basetemp empties that folder. Use one under /tmp.")


def _unittest(call: CommandCall) -> None:
    for word in call.parsed.operands:
        text = word.text or word.prefix
        if text.startswith(("/", "~")) or ".." in text:
            raise call.refuse(f"{text} is not in the project.")
        if text.endswith(".py"):
            check(call, "project", word, "the test")


def _coverage_run(call: CommandCall) -> None:
    words = list(call.args)
    while words:
        text = words[0].text or ""
        if text == "-m" or not text.startswith("-"):
            judge_tool_as(call, "python", tuple(words))
            return
        words.pop(0)
        if text in ("--source", "--include", "--omit", "--context", "--concurrency") and words:
            call.literal(words.pop(0), text)
        elif text.startswith(("--rcfile=", "--data-file=")):
            name, _, value = text.partition("=")
            kind = "project" if name == "--rcfile" else "write"
            check(call, kind, ShellWord.literal(value), name)
        elif not re.fullmatch(
            r"--branch|-a|--append|-p|--parallel-mode|--timid|--(?:source|include|omit|context|concurrency)=[\w.,/*-]+",
            text,
        ):
            raise call.refuse(f"the option {text} is not allowed.")
    raise call.refuse("needs a script or -m MODULE.")


_TOX_VERBS = (["run"], ["r"], ["run-parallel"], ["p"], ["list"], ["l"])


def _tox(call: CommandCall) -> None:
    """What follows -- goes to the test runner."""
    texts = [word.text for word in call.args]
    after = call.args[texts.index("--") + 1 :] if "--" in texts else ()
    if after:
        judge_tool_as(call, "pytest", after)
    before = call.parsed.operands[: len(call.parsed.operands) - len(after)]
    if before and not (call.rule.name == "tox" and [w.text for w in before] in _TOX_VERBS):
        raise call.refuse("name environments with -e, and put test arguments after --.")


def _dmypy(call: CommandCall) -> None:
    judge_tool_as(call, "mypy", call.parsed.operands)


VALIDATORS = {
    "python": _python,
    "pytest": _pytest,
    "unittest": _unittest,
    "coverage-run": _coverage_run,
    "tox": _tox,
    "dmypy": _dmypy,
}
