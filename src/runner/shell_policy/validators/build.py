"""Build and check tools: targets by name, and no change of files in a read-only session."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.paths import outside_in
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord


def _class_path(call: CommandCall) -> None:
    """What javac takes classes (and with them annotation processors) from is the project's."""
    for value in call.parsed.values("-cp", "-classpath", "--class-path"):
        for entry in call.literal(value, "the class path").split(":"):
            if entry:
                check(call, "project", ShellWord.literal(entry), "the class path")


def _listed(call: CommandCall, name: str, text: str) -> bool:
    return re.fullmatch(call.context.rules.lists[name], text, re.VERBOSE) is not None


def _make(call: CommandCall) -> None:
    """Well-known targets and harmless variables; sync needs a target that checks."""
    targets = 0
    dry = call.parsed.has(
        "-n",
        "--dry-run",
        "--just-print",
        "--recon",
        "-q",
        "--question",
        "-l",
        "--list",
        "--summary",
    )
    _make_environment(call)
    _make_files(call)
    for word in call.parsed.operands:
        if word.numeric or (word.text or "").isdecimal():
            continue  # what follows -j
        text = call.literal(word, "the target")
        if "=" in text:
            if not _listed(call, "make-variable", text) or re.search(r"[$`;|&<>]", text):
                raise call.refuse(f"{text} could change what runs.")
            found = outside_in(text, call.context.paths)
            if found is not None:
                raise call.refuse(f"{found} is outside the project. Name a path in it.")
            continue
        targets += 1
        known = _listed(call, "make-targets", text) or _listed(call, "make-sync", text)
        if call.context.mode == "sync" and not dry and not _checks(call, text):
            raise call.refuse(f"{text} may change files, and this session is read-only.")
        if not known and not (call.context.mode == "run" and _defined(call, text)):
            raise call.refuse(f"{text} is not a target that the Makefile defines.")
    if not targets and call.context.mode == "sync" and not dry:
        raise call.refuse("the default target may change files. Name a target such as test.")


def _make_files(call: CommandCall) -> None:
    """Rules come from a file that the project keeps, not from what is typed in."""
    for word in call.parsed.values("-f", "--file", "--makefile"):
        if call.literal(word, "the Makefile") == "-":
            raise call.refuse("rules from standard input run whatever they say. Write a Makefile.")


def _make_environment(call: CommandCall) -> None:
    """Make expands what it finds in the environment: `FOO='$(shell …)' make` runs it."""
    for command in call.context.script:
        values = [assignment.value for assignment in command.assignments]
        if command.words and command.words[0].text == "env":
            values += [word for word in command.words if "=" in (word.text or "")]
        if any("$" in text for value in values for text in value.choices or ()):
            raise call.refuse(
                "make would expand the value of the variable that is set here. Leave out the "
                "dollar sign."
            )


def _checks(call: CommandCall, text: str) -> bool:
    return _listed(call, "make-sync", text) and not re.search(r"fix|write|update|snapshot", text)


_TASK_FILES = (
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile"),
    *("Taskfile.yml", "Taskfile.yaml", "taskfile.yml"),
)


def _defined(call: CommandCall, target: str) -> bool:
    """Whether a Makefile or justfile of the directory defines the target."""
    if not re.fullmatch(r"[\w./%-]+", target):
        return False
    named = [word.text or "" for word in call.parsed.values("-f", "--file", "--makefile")]
    for name in named or _TASK_FILES:
        path = call.context.paths.absolute(name, call.cwd)
        text = call.context.paths.facts.text(path) if path is not None else None
        if text is None:
            continue
        indent = "  +" if name.startswith("Task") else ""
        if re.search(rf"^{indent}{re.escape(target)}(?:\s[^:=\n]*)?:(?!=)", text, re.MULTILINE):
            return True
    return False


def _tasks(call: CommandCall) -> None:
    """Gradle and rake tasks, Maven goals: from the list for this mode."""
    name = call.rule.data["sync" if call.context.mode == "sync" else "run"]
    for word in call.parsed.operands:
        text = call.literal(word, "the task")
        if text.startswith("-"):
            raise call.refuse(f"{text} must come before the tasks.")
        if not _listed(call, name, text):
            raise call.refuse(
                f"{text} is not allowed{' in a read-only session' if call.context.mode == 'sync' else ''}."
            )
    if not call.parsed.operands and call.context.mode == "sync" and call.rule.name != "rake":
        raise call.refuse("name a task such as test.")


def _cmake(call: CommandCall) -> None:
    if any((word.text or "").removeprefix("--target=").startswith("install") for word in call.args):
        raise call.refuse("installing outside the project is not allowed.")
    words = list(call.args)
    while words:
        word = words.pop(0)
        if word.numeric:
            continue
        counted = shapes.only(word.shapes, shapes.DIGITS)
        text = shapes.filled(word.shapes[0]) if counted else call.literal(word, "the option")
        if text in (
            "-S",
            "-B",
            "--build",
            "--preset",
            "-G",
            "-j",
            "--target",
            "--config",
            "--parallel",
        ):
            if text in ("-j", "--parallel") and (
                not words or not (words[0].text or "").isdecimal()
            ):
                continue
            if not words:
                raise call.refuse(f"{text} needs a value.")
            value = words.pop(0)
            if text in ("-S", "-B", "--build"):
                check(call, "project", value, text)
            elif not re.fullmatch(r"[\w .+-]*", call.literal(value, text)):
                raise call.refuse(f"this value of {text} is not allowed.")
        elif re.fullmatch(r"-[SB].+", text):
            check(call, "project", ShellWord.literal(text[2:]), text[:2])
        elif text == "--":
            if any(not re.fullmatch(r"-j\d*|-[kv]|\d+|VERBOSE=1", w.text or "?") for w in words):
                raise call.refuse("only -j, -k and -v may be passed on.")
            return
        elif text.startswith("-D"):
            if not _listed(call, "cmake-define", text):
                raise call.refuse(f"{text} could change what runs.")
        elif re.fullmatch(
            r"-G[\w ]+|-j\d+|--fresh|-Wno-dev|--verbose|-v|--clean-first|-N|-L|-LA|--parallel=\d+|--preset=[\w-]+|--target=[\w-]+|--list-presets",
            text,
        ):
            continue
        elif text.startswith("-"):
            raise call.refuse(f"the option {text} is not allowed.")
        else:
            check(call, "project", word, "the folder")


def _check_in_sync(call: CommandCall) -> None:
    """Formatters change files unless they are told to check."""
    checks = call.rule.data["checks"].split()
    if not call.parsed.has(*checks):
        call.run_only(f"it (without {checks[0]})")


def _tsc(call: CommandCall) -> None:
    # With -b it notes what it has built, also with --noEmit; without, -d means --declaration.
    builds = call.parsed.has("-b", "--build")
    looks = ("--dry", "-d") if builds else ("--noEmit", "--showConfig", "--listFilesOnly")
    no_emit = any(
        name in looks and (value is None or value.text == "true")
        for name, value in call.parsed.options
    ) and not re.search(r"--noEmit(?:=| )false\b", call.command.source)
    if not no_emit:
        call.run_only("it (without --noEmit)")


def _dotnet_format(call: CommandCall) -> None:
    if not call.parsed.has("--verify-no-changes"):
        call.run_only("it (without --verify-no-changes)")


def _mix_format(call: CommandCall) -> None:
    if not call.parsed.has("--check-formatted"):
        call.run_only("it (without --check-formatted)")


def _shfmt(call: CommandCall) -> None:
    for word in call.parsed.operands:
        check(call, "write" if call.parsed.has("-w", "--write") else "read", word, "the file")


def _compiler(call: CommandCall) -> None:
    """Compilers: no response files, and an output that is named."""
    for word in call.parsed.operands:
        if any(text.startswith("@") for text in word.choices or (word.prefix,)):
            raise call.refuse("response files are not allowed. Write the arguments out.")


def _checks_only(call: CommandCall) -> None:
    """A formatter that writes unless it is told to check."""
    if not call.parsed.has("--check", "-check", "-write=false"):
        call.run_only("formatting")


def _formatter(call: CommandCall) -> None:
    """A formatter that changes any file it is given, whatever its name."""
    if call.parsed.has("-i"):
        for word in call.parsed.operands:
            check(call, "write", word, "the file")


def _bundler(call: CommandCall) -> None:
    """vite, next, ng …: serving and checking always, building in run."""
    first = call.parsed.operands[0].text if call.parsed.operands else "dev"
    if first in ("build", "generate", "typegen", "sync", "optimize"):
        call.run_only(str(first))


def _vitest(call: CommandCall) -> None:
    """The first operand may be a verb of vitest."""
    if call.parsed.operands and call.parsed.operands[0].text == "init":
        raise call.refuse("init asks questions. Write the configuration.")


def _mocha(call: CommandCall) -> None:
    for word in call.parsed.values("-r", "--require"):
        text = call.literal(word, "-r")
        if not re.fullmatch(
            r"(?:ts-node|tsx|@babel|esbuild-register|source-map-support)(?:/[\w/-]+)?|\./[\w./-]+|test/[\w./-]+",
            text,
        ):
            raise call.refuse(f"{text} is not a file of the project.")


def _task_runner(call: CommandCall) -> None:
    """turbo, nx, lerna: their verbs, and task names from the list of scripts."""
    words = [call.literal(word, "the task") for word in call.parsed.operands]
    for value in call.parsed.values("-t", "--target", "--targets"):
        for text in call.literal(value, "the target").split(","):
            _task(call, text)
    if not words:
        return
    verb, *rest = words
    if verb in _OWN_VERBS:
        raise call.refuse(f"{verb} is not allowed. Run build, test, lint and the like.")
    if verb not in _RUNNER_VERBS:
        _task(call, verb)
    if call.rule.name == "nx" and verb == "run":
        rest = [text.split(":")[1] if ":" in text else text for text in rest]
    elif call.rule.name == "nx" or verb not in ("run", *_SCRIPT_VERBS):
        # What follows are the names of projects.
        for text in rest:
            if not re.fullmatch(r"@?[\w-]+(?:[/:][\w-]+)*", text):
                raise call.refuse(f"{text} is not the name of a project.")
        return
    for text in rest:
        _task(call, text.rpartition("#")[2])


_RUNNER_VERBS = frozenset({"run", "run-many", "affected", "show", "graph", "list", "ls", "report"})
# Verbs of the runners themselves that a script of the project may have for its name.
_OWN_VERBS = frozenset(
    {
        "exec",
        "dlx",
        "login",
        "link",
        "gen",
        "generate",
        "g",
        "migrate",
        "publish",
        "version",
        "release",
    }
    | {"init", "import", "add", "reset", "connect", "clean", "boot", "bootstrap"}
)
_SCRIPT_VERBS = frozenset({"test", "lint", "build", "dev", "start", "typecheck", "check"})


def _task(call: CommandCall, text: str) -> None:
    allowed = _listed(call, "npm-scripts-sync", text)
    if call.context.mode == "run":
        allowed = allowed or text in _SCRIPT_VERBS or _listed(call, "npm-scripts-run", text)
    if not allowed:
        raise call.refuse(
            f"the task {text} is not allowed here. Run build, test, lint and the like."
        )


def _docker_stats(call: CommandCall) -> None:
    if not call.parsed.has("--no-stream"):
        raise call.refuse("add --no-stream; otherwise it never ends.")


def _file(call: CommandCall) -> None:
    """`file -m` and `-z` read magic files and run decompressors; the table leaves them out."""


def _clang_tidy(call: CommandCall) -> None:
    """After -- come arguments of the compiler; plug-ins are none of them."""
    texts = [word.text or "" for word in call.args]
    after = call.args[texts.index("--") + 1 :] if "--" in texts else ()
    for word in call.parsed.operands[: len(call.parsed.operands) - len(after)]:
        check(call, "project", word, "the file")
    for text in texts[len(texts) - len(after) :]:
        if not _listed(call, "clang-argument", text):
            raise call.refuse(f"{text} is not allowed after --.")


def _protoc(call: CommandCall) -> None:
    """Each output is a folder, perhaps after options and a colon."""
    _compiler(call)
    for name, value in call.parsed.options:
        if value is None or not name.endswith("_out"):
            continue
        options, _, folder = call.literal(value, name).rpartition(":")
        if not re.fullmatch(r"[\w=,./-]*", options):
            raise call.refuse(f"{options} is not allowed for {name}.")
        check(call, "write", ShellWord.literal(folder), name)


_NIM_OPTION = re.compile(
    r"-d:(?:release|danger|debug|ssl|test\w*)|--(?:hints|warnings|verbosity|opt|mm|gc|threads|styleCheck|warningAsError|stackTrace|lineTrace)"
    r"(?::[\w,:]+)?|-f|--forceBuild"
)


def _nim(call: CommandCall) -> None:
    """`nim c|check|cpp|js` on a file of the project; -r would run it under any name."""
    words = list(call.args)
    verb = call.literal(words.pop(0), "the verb") if words else ""
    if verb not in ("c", "cc", "cpp", "js", "check", "compile"):
        raise call.refuse("use nim check FILE or nim c -o:OUTPUT FILE.")
    for word in words:
        text = call.literal(word, "the argument")
        output = re.fullmatch(r"(?:-o|--out|--outdir|--nimcache)[:=](.+)", text)
        if output:
            check(call, "write", ShellWord.literal(output[1]), "-o")
        elif text.startswith("-"):
            if not _NIM_OPTION.fullmatch(text):
                raise call.refuse(f"the option {text} is not allowed.")
        else:
            check(call, "project", word, "the file")


def _dotnet_add(call: CommandCall) -> None:
    texts = [call.literal(word, "the argument") for word in call.parsed.operands]
    if "reference" not in texts[:2]:
        raise call.refuse(call.rule.instead)
    for word in call.parsed.operands:
        if word.text != "reference":
            check(call, "project", word, "the project")


VALIDATORS = {
    "clang-tidy": _clang_tidy,
    "protoc": _protoc,
    "nim": _nim,
    "dotnet-add": _dotnet_add,
    "class-path": _class_path,
    "formatter": _formatter,
    "deno-fmt": _checks_only,
    "terraform-fmt": _checks_only,
    "make": _make,
    "tasks": _tasks,
    "cmake": _cmake,
    "check-in-sync": _check_in_sync,
    "tsc": _tsc,
    "dotnet-format": _dotnet_format,
    "mix-format": _mix_format,
    "shfmt": _shfmt,
    "compiler": _compiler,
    "vite": _bundler,
    "vitest": _vitest,
    "mocha": _mocha,
    "task-runner": _task_runner,
    "docker-stats": _docker_stats,
    "file": _file,
}
