"""node, and the scripts of package.json that npm, pnpm, yarn and bun run."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.kinds import check
from runner.shell_policy.programs import check_own_script
from runner.shell_policy.scripts import require_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.inline import check_inline, check_stdin, require_literal
from runner.shell_policy.validators.packages import package_json
from runner.shell_policy.validators.python import protect
from runner.shell_policy.validators.written import judge_written

_FLAGS = re.compile(
    r"--(?:test|test-only|watch|no-warnings|enable-source-maps|experimental-(?!sea-config|default-config|config-file|loader|policy)[\w-]+|trace-[\w-]+|expose-gc|check|harmony[\w-]*"
    r"|test-(?:name-pattern|concurrency|timeout|skip-pattern|coverage-[\w-]+|shard)=[\w .:/^$|*()-]+|test-reporter=(?:spec|tap|dot|junit|lcov)|max-old-space-size=\d+"
    r"|stack-trace-limit=\d+|unhandled-rejections=\w+|input-type=\w+|no-deprecation|throw-deprecation|use-strict|test-force-exit|strip-types|preserve-symlinks)|-c"
)
_IMPORTS = frozenset(
    {
        "tsx",
        "tsx/esm",
        "tsx/cjs",
        "ts-node/register",
        "ts-node/esm",
        "dotenv/config",
        "source-map-support/register",
        "@swc-node/register",
    }
)
# An absolute path, a way up, an address; also glued to a short option (`-o/etc/x`).
_AWAY = re.compile(r"(?:^|[^\w.@*-])[/~]|\.\.|://|[`$\n\0]|^-\w*[/~]")
_SCRIPT = re.compile(r".*\.(?:[cm]?[jt]sx?)|\.|\.{0,2}/?[\w./@-]+")


def _node(call: CommandCall) -> None:
    words = list(call.args)
    tests = False
    while words:
        word = words.pop(0)
        text = word.text
        if text is None or not text.startswith("-"):
            _file(call, word, words, tests=tests)
            return
        tests = tests or text == "--test"
        if text in ("-e", "-p", "-pe", "--eval", "--print") or re.match(r"--(?:eval|print)=", text):
            _inline(call, text, words)
            return
        if text == "-":
            check_stdin(call, "node")
            return
        if text in ("--import", "--require", "-r", "--loader", "--experimental-loader"):
            _import(call, call.literal(words.pop(0), text) if words else "")
        elif re.match(r"--(?:import|require|loader)=", text):
            _import(call, text.partition("=")[2])
        elif text in (
            "--env-file",
            "--test-name-pattern",
            "--test-reporter",
            "--exec",
            "--ext",
            "-w",
            "--tsconfig",
            "--project",
            "-P",
        ):
            _valued(call, text, words)
        elif text.startswith("--env-file="):
            check(call, "project", ShellWord.literal(text.partition("=")[2]), "--env-file")
        elif text == "watch" or not _FLAGS.fullmatch(text):
            raise call.refuse(f"the option {text} is not allowed.")
    if tests:
        return
    if call.command.stdin is None and not call.command.piped:
        raise call.refuse("needs a script.")
    check_stdin(call, "node")


def _valued(call: CommandCall, name: str, words: list[ShellWord]) -> None:
    value = words.pop(0) if words else None
    if value is None:
        raise call.refuse(f"{name} needs a value.")
    if name in ("--env-file", "--tsconfig", "--project", "-P", "-w"):
        check(call, "project", value, name)
    elif name == "--test-reporter":
        if value.text not in ("spec", "tap", "dot", "junit", "lcov"):
            raise call.refuse(f"{value.source} is not a reporter of node itself.")
    elif name == "--exec":
        raise call.refuse("--exec is not allowed.")
    elif value.splits and not value.numeric:
        raise call.refuse(f"quote {value.source}.")


def _inline(call: CommandCall, option: str, words: list[ShellWord]) -> None:
    if call.rule.data.get("inline") == "no":
        raise call.refuse("inline code is for node alone.")
    code = (
        ShellWord.literal(option.partition("=")[2])
        if "=" in option
        else (words.pop(0) if words else None)
    )
    check_inline(call, "node", require_literal(call, code))
    for word in words:
        if (
            (word.text or "-").startswith("-")
            and word.text not in ("--", None)
            and not re.fullmatch(r"--[\w-]+", word.text or "")
        ):
            raise call.refuse(f"{word.source} is not allowed after inline code.")
        if (word.text or "").startswith(("--require", "--import", "--loader", "-r")):
            raise call.refuse(f"{word.text} is not allowed.")


def _import(call: CommandCall, name: str) -> None:
    if name not in _IMPORTS:
        if not name.startswith("./"):
            raise call.refuse(f"{name} must not be loaded.")
        check(call, "project", ShellWord.literal(name), "the module")


_TOOL_FILE = re.compile(
    r"(?:\./)?node_modules/(?:\.bin/)?(jest|vitest|mocha|eslint|prettier|typescript|tsc)(?:/[\w./-]+)?"
)


def _file(call: CommandCall, word: ShellWord, rest: list[ShellWord], *, tests: bool) -> None:
    tool = _TOOL_FILE.fullmatch(word.text or "")
    if tool and ".." not in str(word.text):
        name = "tsc" if tool[1] == "typescript" else tool[1]
        call.judge_inner((ShellWord.literal(name), *rest))
        return
    if word.text == "watch" and call.rule.name == "tsx" and rest:
        word, rest = rest[0], rest[1:]
    if word.text == "inspect":
        raise call.refuse("debugging is not allowed.")
    if word.text is None:
        check(call, "project", word, "the script")
        checks = {w.text for w in call.args} & {"--check", "-c"}
        if call.context.mode == "sync" and not tests and not checks:
            raise call.refuse(f"{word.source} is not known to be a test.")
    elif tests or call.parsed.has("--check"):
        check(call, "project", word, "the test")
    elif judge_written(call, "node", word.text):
        pass
    elif not _SCRIPT.fullmatch(word.text):
        raise call.refuse(f"{word.text} is not a script of the project.")
    elif "--check" not in {w.text for w in call.args} and "-c" not in {w.text for w in call.args}:
        check_own_script(call.context, word.text, call.cwd)
    else:
        check(call, "project", word, "the script")
    protect(call, rest)


def script_allowed(call: CommandCall, name: str) -> bool:
    """Whether a script of package.json may run: by name, or in run because it is defined."""
    lists = call.context.rules.lists
    if not re.fullmatch(r"[\w:.@/-]+", name):
        return False
    if re.fullmatch(lists["npm-scripts-sync"], name, re.VERBOSE):
        return True
    if call.context.mode == "sync":
        return False
    if re.fullmatch(lists["npm-scripts-run"], name, re.VERBOSE):
        return True
    defined = package_json(call).get("scripts")
    return isinstance(defined, dict) and name in defined


def _script_run(call: CommandCall) -> None:
    operands = list(call.parsed.operands)
    while len(operands) > 2 and operands[0].text in ("--filter", "-F", "--workspace", "-w"):
        operands = operands[2:]
    while operands and operands[0].text in (
        "--silent",
        "-s",
        "--if-present",
        "--recursive",
        "-r",
        "--parallel",
        "--stream",
    ):
        operands.pop(0)
    if not operands:
        if call.rule.data.get("bare") == "ok":
            return
        raise call.refuse("needs the name of a script.")
    name = call.literal(operands[0], "the script")
    if _is_tool(call, name):
        call.judge_inner(tuple(operands))
        return
    if call.rule.data.get("files") == "ok" and re.fullmatch(
        r"(?:\./)?[\w./-]+\.(?:[cm]?[jt]sx?)", name
    ):
        check_own_script(call.context, name, call.cwd)
        protect(call, operands[1:])
        return
    if not script_allowed(call, name):
        raise call.refuse(
            f"the script {name} is not defined in package.json, or not allowed in a "
            f"{call.context.mode} session. Use test, lint, build or another script of the project."
        )
    _arguments(call, name, operands[1:])


def _is_tool(call: CommandCall, name: str) -> bool:
    """Whether `yarn NAME` or `pnpm NAME` means a tool of the node profile."""
    rule = call.context.rules.commands.get(name)
    manager = call.rule.name.partition(" ")[0] in ("yarn", "pnpm", "bun")
    lists = call.context.rules.lists
    script = re.fullmatch(lists["npm-scripts-sync"], name, re.VERBOSE)
    known = (
        "vitest",
        "jest",
        "eslint",
        "prettier",
        "tsc",
        "playwright",
        "cypress",
        "mocha",
        "stylelint",
    )
    return bool(
        rule
        and rule.profile == "node"
        and manager
        and (not script or name in known)
        and name not in _MANAGERS
    )


_MANAGERS = frozenset(
    [
        "npm",
        "npx",
        "pnpm",
        "yarn",
        "node",
        "nodejs",
        "bun",
        "bunx",
        "corepack",
        "serve",
        "storybook",
        "tap",
    ]
)


def _script_args(call: CommandCall) -> None:
    _arguments(call, call.rule.name.rpartition(" ")[2], list(call.parsed.operands))


def _arguments(call: CommandCall, script: str, words: list[ShellWord]) -> None:
    """What a script passes on to its tool: options that test runners and linters share."""
    if words and words[0].text == "--":
        words = words[1:]
    words = [word for word in words if word.text != "--"]
    if call.context.mode == "run" and script in (
        "start",
        "dev",
        "serve",
        "preview",
        "seed",
        "migrate",
        "cli",
    ):
        for word in words:
            if word.splits and not word.numeric:
                raise call.refuse(f"quote {word.source}.")
    try:
        call.judge_inner((ShellWord.literal("script arguments"), *words))
    except PolicyRefusalError as refusal:
        if call.context.mode == "run" and all(_stays(call, word) for word in words):
            return
        raise PolicyRefusalError(refusal.rule, f"{call.rule.name}: {refusal.reason}") from refusal


def _stays(call: CommandCall, word: ShellWord) -> bool:
    """Whether an argument of a script certainly names nothing outside of the project."""
    if word.text is None:
        return word.numeric
    if _AWAY.search(word.text):
        return False
    protect(call, [word])
    return True


def _script_names(call: CommandCall) -> None:
    for word in call.parsed.operands:
        name = call.literal(word, "the script").rstrip("*")
        if not script_allowed(call, name.rstrip(":")):
            raise call.refuse(f"the script {name} is not allowed.")


def _concurrently(call: CommandCall) -> None:
    """Each argument is a command line, or `npm:SCRIPT`."""
    for word in call.parsed.operands:
        text = call.literal(word, "the command")
        script = re.fullmatch(r"(?:npm|yarn|pnpm|bun):([\w:.-]+?)[*]?", text)
        if not script:
            require_script(text, call.context, call.command)
        elif not script_allowed(call, script[1].rstrip(":-")):
            raise call.refuse(f"the script {script[1]} is not allowed.")


def _yarn_workspace(call: CommandCall) -> None:
    if len(call.args) < 2:
        raise call.refuse("needs a workspace and a script.")
    call.judge_inner((ShellWord.literal("yarn"), *call.args[1:]))


def _yarn_foreach(call: CommandCall) -> None:
    if not call.parsed.operands:
        raise call.refuse("needs a script.")
    call.judge_inner((ShellWord.literal("yarn"), *call.parsed.operands))


VALIDATORS = {
    "yarn-workspaces": _yarn_foreach,
    "node": _node,
    "script-run": _script_run,
    "script-args": _script_args,
    "script-names": _script_names,
    "concurrently": _concurrently,
    "yarn-workspace": _yarn_workspace,
}
