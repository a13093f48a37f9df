"""bash and sh: a literal -c text is judged in turn; scripts must be the project's."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.programs import check_own_script
from runner.shell_policy.scripts import require_script
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.python import protect

_FLAGS = re.compile(r"-[euxvfCl]*n?[euxvfCl]*")
_RUNS_TEXT = re.compile(r"-[euxfCl]*c[euxfCl]*")
_LONG = frozenset({"--norc", "--noprofile", "--posix", "--login"})


def _shell(call: CommandCall) -> None:
    words = list(call.args)
    checks_only = False
    while words:
        word = words.pop(0)
        if checks_only and word.text is None:
            check(call, "project", word, "the script")
            return
        if word.shapes and not word.splits:
            _computed_script(call, word)
            protect(call, words)
            return
        text = call.literal(word, "the option or script")
        if text == "--version" and not words:
            return
        if text in _LONG:
            continue
        if text in ("-o", "-eo", "-euo", "-uo", "-exo", "-euxo", "+o") and words:
            if call.literal(words.pop(0), text) not in ("pipefail", "errexit", "nounset", "xtrace"):
                raise call.refuse(f"this value of {text} is not allowed.")
            continue
        if (
            re.fullmatch(r"-[eux]*o[eux]*c", text)
            and len(words) > 1
            and words[0].text == "pipefail"
        ):
            words.pop(0)
            _text(call, words)
            return
        if _RUNS_TEXT.fullmatch(text):
            _text(call, words)
            return
        if text.startswith(("-", "+")):
            if not _FLAGS.fullmatch(text) or text == "-":
                raise call.refuse(f"the option {text} is not allowed.")
            checks_only = checks_only or "n" in text
            continue
        _script(call, text, checks_only=checks_only)
        protect(call, words)
        return
    raise call.refuse(
        "a shell that reads its commands from elsewhere can't be checked. Run them directly."
    )


def _text(call: CommandCall, words: list[ShellWord]) -> None:
    if not words:
        raise call.refuse("-c needs a text.")
    script = call.literal(words.pop(0), "the text after -c")
    # The first word after the text is the name of the script, $0.
    require_script(script, call.context, call.command, tuple(words[1:]))


def _computed_script(call: CommandCall, word: ShellWord) -> None:
    """`for t in tests/*.sh; do bash "$t"; done`: scripts of the project all the same."""
    check(call, "project", word, "the script")
    for shape in word.shapes:
        if shapes.HOLE.match(shape) and not shape.startswith((shapes.NAME, shapes.LISTED)):
            raise call.refuse(f"{word.source} must be a script of the project.")
        _script(call, shapes.pattern(shape), checks_only=False)


def _script(call: CommandCall, path: str, *, checks_only: bool) -> None:
    if checks_only:
        call.context.paths.project_file(path, call.cwd)
        return
    if not path.endswith((".sh", ".bash")) and not re.search(
        r"(?:^|/)(?:bin|scripts?)/[\w.-]+$", path
    ):
        raise call.refuse(f"{path} is not a script of the project (ending in .sh).")
    check_own_script(call.context, path, call.cwd)
    if call.cwd is not None and not call.context.paths.inside(
        call.context.paths.absolute(".", call.cwd) or ""
    ):
        raise call.refuse("scripts run in the project directory only.")


VALIDATORS = {"shell": _shell}
