"""Redirections are file reads and writes, and obey the path policy."""

import re

from runner.shell_policy.context import Context
from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.environment import refuse_secret_expansion
from runner.shell_policy.paths import is_endless, mentions_secret
from runner.shell_policy.patterns import check_glob, check_shape
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import Redirection, ShellWord

# What an unquoted expansion certainly stands behind (`< /dev/tcp/host/$port`).
_LITERAL_START = re.compile(r"[^$`'\"\\*?\[{]*")
_READS = frozenset({"<"})
_TEXT = frozenset({"<<", "<<<", "<<-"})
_DUPLICATES = frozenset({">&", "<&"})


def check_redirection(context: Context, redirection: Redirection, cwd: str | None) -> None:
    """Refuse a redirection whose file may not be read or written, or is not known."""
    operator, target = redirection.operator, redirection.target
    if operator in _TEXT:
        refuse_secret_expansion(context, target)
        return
    if operator in _DUPLICATES and _is_descriptor(target):
        return
    if operator in _READS:
        _check_read(context, target, cwd)
        return
    if target.choices is None and target.prefix.startswith("/dev/fd/"):
        return  # a process substitution; what it runs is judged by itself
    if target.choices is None and target.shapes and not target.splits:
        _check_shapes(context, target, cwd)
        return
    if target.choices is None or target.glob:
        raise PolicyRefusalError(
            "redirection:unknown",
            f"{operator} {target.source}: the file must be written out, so that it can be checked.",
        )
    for text in target.choices:
        context.paths.write(text, cwd)


def _check_shapes(context: Context, target: ShellWord, cwd: str | None) -> None:
    for shape in target.shapes:
        check_shape(
            context.paths, "write", shape, cwd,
            check=lambda path: context.paths.write(path, cwd),
            refuse=lambda reason: PolicyRefusalError("redirection:unknown", reason),
        )  # fmt: skip


def _is_descriptor(target: ShellWord) -> bool:
    if target.choices is None:
        return False
    return all(text == "-" or text.removesuffix("-").isdecimal() for text in target.choices)


def _check_read(context: Context, target: ShellWord, cwd: str | None) -> None:
    if target.choices is None:
        if mentions_secret(target.source):
            raise PolicyRefusalError("path:secret", f"{target.source} may hold credentials.")
        if target.prefix.startswith("/dev/fd/"):
            return
        for beginning in (target.prefix, _LITERAL_START.match(target.source)):
            text = beginning if isinstance(beginning, str) else beginning and beginning[0]
            if text and text.startswith(("/", "~", ".")):
                context.paths.read(text, cwd)
        for shape in target.shapes:
            context.paths.read(shapes.pattern(shape), cwd)
        if context.private or not target.shapes:
            _refuse_unknown(target)
        return
    for text in target.choices:
        if is_endless(text):
            raise PolicyRefusalError("path:endless", f"{text} never ends. Use head -c.")
        if target.glob:
            check_glob(
                context.paths,
                "read",
                text,
                cwd,
                lambda why: PolicyRefusalError("redirection:unknown", why),
            )
        context.paths.read(text, cwd)


def _refuse_unknown(target: ShellWord) -> None:
    """Refuse to read a file of which not even a folder of the project is known."""
    if target.numeric or re.match(r"(?:\./)?\w[\w.-]*/", target.prefix):
        return
    raise PolicyRefusalError(
        "path:unknown",
        f"{target.source} could be any file of this machine. Write the path out, or put a folder "
        "of the project before it (src/$name).",
    )
