"""Scripts under /tmp that the same shell script writes out before it runs them."""

import posixpath
import re
import sys

from runner.shell_policy.context import CommandCall
from runner.shell_policy.shell.facts import SimpleCommand
from runner.shell_policy.validators.inline import check_inline

_LOOKERS = frozenset({"cat", "head", "wc", "ls", "chmod", "python3", "python", "node", "ruby"})
_WORD = re.compile(r"\w+")


def judge_written(call: CommandCall, language: str, path: str) -> bool:
    """Judge `cat > /tmp/x.py <<'EOF' … EOF` and then `python3 /tmp/x.py` as inline code.

    Returns:
        Whether it is such a script; False leaves the decision to the rules for files.

    Raises:
        RefusedError: its text is nothing that may be run inline.
    """
    paths = call.context.paths
    if call.context.mode != "run" or not path.startswith("/") or path != posixpath.normpath(path):
        return False
    if paths.absolute(path, ".") != path or not paths.in_scratch(path):
        return False
    text = _written_text(call, path)
    if text is None or _has_strangers(call, path, text):
        return False
    check_inline(call, language, [text])
    return True


def _written_text(call: CommandCall, path: str) -> str | None:
    """The here-document that certainly lies there when the command runs."""
    text = None
    for command in call.context.script:
        if command.source == call.command.source and text is not None:
            return text
        if text is not None and _touches(command, path):
            return None
        targets = [one for one in command.redirections if ">" in one.operator]
        if not any(path in (one.target.choices or (path,)) for one in targets):
            continue
        if text is not None or len(targets) != 1 or not _copies(call, command):
            return None
        if targets[0].operator != ">" or targets[0].fd not in (None, 1):
            return None
        if targets[0].target.text != path:
            return None
        text = command.stdin
    return None


def _touches(command: SimpleCommand, path: str) -> bool:
    """Whether a command between may change it: those that only look are known by name."""
    texts = [word.text for word in command.words]
    return path in texts[1:] and texts[0] not in _LOOKERS


def _copies(call: CommandCall, command: SimpleCommand) -> bool:
    """Whether it is `cat` and nothing else, with a text that is written out."""
    plain = [word.text for word in command.words] == ["cat"] and "cat" not in call.context.functions
    return plain and not command.piped and command.stdin is not None


def _has_strangers(call: CommandCall, path: str, text: str) -> bool:
    """Whether another user's file is where it, or a module it imports, is looked for."""
    facts = call.context.paths.facts
    names = frozenset(_WORD.findall(text)) | sys.stdlib_module_names | {"node_modules"}
    return facts.is_foreign(path) or facts.has_foreign_module(posixpath.dirname(path), names)
