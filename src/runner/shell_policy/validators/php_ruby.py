"""The ruby and php interpreters, and composer's scripts."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.programs import check_own_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.inline import check_inline, check_stdin, require_literal
from runner.shell_policy.validators.python import protect
from runner.shell_policy.validators.written import judge_written


def _ruby(call: CommandCall) -> None:
    words = list(call.args)
    code: list[str] = []
    syntax = False
    while words:
        word = words.pop(0)
        text = word.text
        if text is None or not text.startswith("-"):
            if code:
                check(call, "read", word, "the file")
                continue
            _ruby_file(call, word, words, syntax=syntax)
            return
        if text == "-e":
            code.extend(require_literal(call, words.pop(0) if words else None))
        elif text == "-":
            check_stdin(call, "ruby")
            return
        elif text in ("-I", "-r") or re.match(r"-[Ir].", text):
            value = text[2:] or (call.literal(words.pop(0), text) if words else "")
            _load(call, text[:2], value)
        elif text in ("-c", "-wc", "-cw"):
            syntax = True
        elif not re.fullmatch(
            r"-[wWvd0-9]+|-W(?::no-)?\w+|-rjson|--(?:yjit|enable=[\w,-]+|disable=[\w,-]+)|-n|-p|-ne|-a",
            text,
        ):
            raise call.refuse(f"the option {text} is not allowed.")
    if code:
        check_inline(call, "ruby", code)
    elif not syntax:
        check_stdin(call, "ruby")


def _load(call: CommandCall, option: str, value: str) -> None:
    if option == "-I":
        for entry in value.split(":"):
            check(call, "project", ShellWord.literal(entry), "-I")
    elif not re.fullmatch(
        r"(?:json|yaml|set|date|time|pp|bundler/setup|minitest/autorun|csv|uri|digest|erb|test_helper|spec_helper|\./[\w./-]+)",
        value,
    ):
        raise call.refuse(f"{value} must not be loaded.")


def _ruby_file(call: CommandCall, word: ShellWord, rest: list[ShellWord], *, syntax: bool) -> None:
    if word.text is None or syntax:
        check(call, "project", word, "the script")
        if word.text is None and call.context.mode == "sync" and not syntax:
            raise call.refuse(f"{word.source} is not known to be a test.")
        return
    base = word.text.rpartition("/")[2]
    if word.text in ("bin/rails", "bin/rspec", "bin/rake", "bin/rubocop"):
        call.judge_inner((ShellWord.literal(base), *rest))
        return
    if not judge_written(call, "ruby", word.text):
        check_own_script(call.context, word.text, call.cwd)
    protect(call, rest)


def _php(call: CommandCall) -> None:
    words = list(call.args)
    while words:
        word = words.pop(0)
        text = word.text
        if text is None or not text.startswith("-"):
            _php_file(call, word, words)
            return
        if text == "-l":
            for operand in words:
                check(call, "project", operand, "the file")
            return
        if text == "-r":
            check_inline(call, "php", require_literal(call, words.pop(0) if words else None))
            return
        if text in ("-S", "-t"):
            call.run_only("serving")
            value = words.pop(0) if words else ShellWord.literal("")
            if text == "-S" and not re.fullmatch(
                r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d+", call.literal(value, "-S")
            ):
                raise call.refuse("serve on localhost.")
            if text == "-t":
                check(call, "project", value, "-t")
            if not words:
                return
        elif text == "-d" and words:
            _php_setting(call, call.literal(words.pop(0), "-d"))
        elif text.startswith("-d"):
            _php_setting(call, text[2:])
        elif text not in ("-n", "-q"):
            raise call.refuse(f"the option {text} is not allowed.")
    check_stdin(call, "php")


def _php_setting(call: CommandCall, text: str) -> None:
    if not re.fullmatch(
        r"(?:memory_limit|max_execution_time|error_reporting|display_errors|xdebug\.mode|zend\.assertions|assert\.\w+|opcache\.\w+|pcov\.enabled|date\.timezone)=[\w./-]+",
        text,
    ):
        raise call.refuse(f"the setting {text} is not allowed.")


def _php_file(call: CommandCall, word: ShellWord, rest: list[ShellWord]) -> None:
    text = call.literal(word, "the script")
    base = text.rpartition("/")[2]
    if base in ("artisan", "console"):
        check(call, "project", word, "the script")
        _console(call, base, rest)
        return
    rule = call.context.rules.commands.get(base)
    if (
        rule is not None
        and rule.profile == "php"
        and text.startswith(("vendor/bin/", "./vendor/bin/"))
    ):
        call.judge_inner((ShellWord.literal(base), *rest))
        return
    check_own_script(call.context, text, call.cwd)
    protect(call, rest)


def _console(call: CommandCall, name: str, rest: list[ShellWord]) -> None:
    if not rest:
        return
    verb = call.literal(rest[0], "the command")
    lists = call.context.rules.lists
    if verb in ("--version", "-V", "list", "--help"):
        return
    sync, run = (lists[f"{name}-sync"], lists[f"{name}-run"])
    if not re.fullmatch(sync, verb, re.VERBOSE):
        if not re.fullmatch(run, verb, re.VERBOSE):
            raise call.refuse(f"{name} {verb} is not allowed.")
        call.run_only(verb)
    for word in rest[1:]:
        if word.splits and not word.numeric:
            raise call.refuse(f"quote {word.source}.")
    protect(call, rest[1:])


def _composer_script(call: CommandCall) -> None:
    operands = [w for w in call.parsed.operands if w.text != "--"]
    if not operands:
        return
    name = call.literal(operands[0], "the script")
    lists = call.context.rules.lists
    allowed = re.fullmatch(lists["composer-scripts-sync"], name, re.VERBOSE)
    if not allowed and call.context.mode == "run":
        allowed = re.fullmatch(lists["composer-scripts-run"], name, re.VERBOSE)
    if not allowed:
        raise call.refuse(f"the script {name} is not allowed. {call.rule.instead}".rstrip())
    for word in operands[1:]:
        text = word.text or word.prefix
        if not re.fullmatch(
            r"--(?:filter|testsuite|group|colors|no-progress|stop-on-failure|testdox|dry-run|level|memory-limit)(?:=.*)?|(?!-)[\w./:-]*",
            text,
        ):
            raise call.refuse(f"{text} is not allowed here.")
        if not text.startswith("-"):
            check(call, "project", word, "the argument")


def _rspec(call: CommandCall) -> None:
    for word in call.parsed.values("-r", "--require"):
        if not re.fullmatch(r"(?:rails_helper|spec_helper|\./[\w./-]+)", call.literal(word, "-r")):
            raise call.refuse("only helpers of the project may be required.")


def _phpcs(call: CommandCall) -> None:
    for word in call.parsed.values("-d"):
        if not re.fullmatch(r"memory_limit=\w+", call.literal(word, "-d")):
            raise call.refuse("only memory_limit may be set.")
    for word in call.parsed.values("--standard"):
        text = call.literal(word, "--standard")
        if text.startswith(("/", "~")) or ".." in text:
            raise call.refuse("the standard must be named, or be in the project.")


VALIDATORS = {
    "ruby": _ruby,
    "php": _php,
    "composer-script": _composer_script,
    "rspec": _rspec,
    "phpcs": _phpcs,
}
