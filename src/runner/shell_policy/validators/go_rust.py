"""go and cargo: what their tables can't say."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.shell.facts import ShellWord


def _go_test(call: CommandCall) -> None:
    """Profiles and compiled tests are written; without a path they land in the project."""
    for word in call.parsed.operands:
        if (word.text or "").startswith("-"):
            raise call.refuse("arguments of the test binary are not allowed here.")


def _go_build(call: CommandCall) -> None:
    """In sync only to see whether it compiles."""
    if call.context.mode == "run":
        return
    outputs = call.parsed.values("-o", "--o")
    if not outputs or any(not (word.text or "").startswith(_NOWHERE) for word in outputs):
        call.run_only("it (without -o /dev/null)")


_NOWHERE = ("/dev/null", "/tmp/")  # noqa: S108 - the path policy has looked at it


def _go_cover(call: CommandCall) -> None:
    if call.parsed.has("-html") and not call.parsed.has("-o"):
        raise call.refuse("add -o, or use -func; a browser can't be opened.")


def _go_pprof(call: CommandCall) -> None:
    if not call.parsed.has("-top", "-text", "-tree"):
        raise call.refuse("use -top; a viewer can't be opened.")


def _gotestsum(call: CommandCall) -> None:
    operands = [word for word in call.parsed.operands if word.text != "--"]
    call.judge_inner((ShellWord.literal("go"), ShellWord.literal("test"), *operands))


def _cargo_fmt(call: CommandCall) -> None:
    passed = {word.text for word in call.parsed.operands}
    if not call.parsed.has("--check") and "--check" not in passed:
        call.run_only("it (without --check)")
    for word in call.parsed.operands:
        text = word.text or ""
        if text.startswith("/") or ".." in text or not re.fullmatch(r"[\w./-]+", text):
            raise call.refuse(f"{text} is not allowed here.")


def _rustc(call: CommandCall) -> None:
    """Compiling writes, also without -o; response files hold any option."""
    for word in call.parsed.operands:
        if (word.text or word.prefix).startswith("@"):
            raise call.refuse("response files are not allowed. Write the arguments out.")
        call.run_only("compiling")


VALIDATORS = {
    "rustc": _rustc,
    "go-test": _go_test,
    "go-build": _go_build,
    "go-cover": _go_cover,
    "go-pprof": _go_pprof,
    "gotestsum": _gotestsum,
    "cargo-fmt": _cargo_fmt,
}
