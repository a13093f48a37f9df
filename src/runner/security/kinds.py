"""What an option's value or an operand can be, and the check for each kind.

`text` anything · `number` digits with a sign or unit · `read` a path that is read · `tree` a
path that is searched through · `project` a path in the project (what is run, or steers what
runs) · `write` a path that is written · `remove` a path that is removed · `none` nothing ·
`url` an address on this machine · `@NAME` a value matching the list NAME of the profiles.
"""

import fnmatch
import glob
import itertools
import os
import re

from runner.security.context import Call
from runner.security.paths import (
    GUARDED,
    is_endless,
    mentions_secret,
    pattern_reaches_secret,
)
from runner.security.shell.facts import Word

_MAX_MATCHES = 500
# A beginning that keeps a computed path in the project.
_OWN_FOLDER = re.compile(r"(?:\./)?\w[\w.-]*/")
_WILD = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:]\d+)*(?:[a-zA-Z%]{0,3})?")
# What tools take in place of a file: an address, inline settings, a file of arguments.
_NOT_A_FILE = re.compile(r"://|^[@{]|^\w+:(?!:)(?=[/.])|[\"\x27]|^(?:data|file|git|pkg|npm):")
# A text that is an absolute path, or one that leads out: no tool of a project needs it.
_PATH_AWAY = re.compile(
    r"(?:^|[=:;,])(?:~|\.\./|(?:file|data):|/(?:tmp|etc|usr|home|root|var|opt|dev|proc|mnt|srv|bin|sbin|lib|Users)(?:/|$))"
)
_LOOPBACK = re.compile(
    r"(?:(?:https?|wss?)://)?(?:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\])(?::\d{1,5}|:)?"
    r"(?:[/?#][^@{}\[\]\\\s]*)?",
    re.IGNORECASE,
)
_LOOPBACK_PREFIX = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?:(?::\d{1,5})?[/?#][^@]*|:)",
    re.IGNORECASE,
)


def check(call: Call, kind: str, word: Word, what: str) -> None:
    """Refuse a value that is not of its kind.

    Args:
        call: the command the value belongs to.
        kind: one of the kinds listed above.
        word: the value.
        what: how the value is called in a message, e.g. `-o` or `the file`.
    """
    if kind == "text":
        if what.startswith("-") and _is_project_tool(call):
            _no_path(call, word, what)
        return
    if kind == "none":
        raise call.refuse(f"takes no arguments, but there is {word.source}.")
    if kind == "number":
        _number(call, word, what)
    elif kind == "url":
        check_url(call, word)
    elif kind.startswith("@"):
        _listed(call, kind[1:], word, what)
    else:
        _path(call, kind, word, what)


def _is_project_tool(call: Call) -> bool:
    """Whether a command, or the one it is a sub-command of, works on the project alone."""
    name = call.rule.name.partition(" ")[0]
    rule = call.context.rules.commands.get(name, call.rule)
    return "project" in (rule.workplace, call.rule.workplace) and name != "git"


def _no_path(call: Call, word: Word, what: str) -> None:
    """Refuse an option's text that is a path out of the project: many tools load or write it."""
    for text in word.choices or (word.prefix,):
        if _PATH_AWAY.search(text) and not re.search(r"[\s|*^$()]", text):
            raise call.refuse(f"{what} must not name a file outside the project: {text}.")


def check_url(call: Call, word: Word) -> None:
    """Refuse every address that is not on this machine."""
    if word.choices is not None:
        good = all(_LOOPBACK.fullmatch(text) for text in word.choices)
    else:
        good = word.numeric or _LOOPBACK_PREFIX.match(word.prefix) is not None
        good = good and "@" not in word.prefix
    if not good or (word.glob and any(c in (word.prefix or "") for c in "{}")):
        raise call.refuse(f"{word.source or word.prefix}: only addresses on localhost are allowed.")


def _number(call: Call, word: Word, what: str) -> None:
    if word.numeric:
        return
    if word.choices is None:
        if call.rule.unknown == "any":
            return
        raise call.refuse(f"{what} must be a number, and {word.source} is not known to be one.")
    if not all(_NUMBER.fullmatch(text) for text in word.choices):
        raise call.refuse(f"{what} must be a number, not {word.source}.")


def _listed(call: Call, name: str, word: Word, what: str) -> None:
    pattern = call.context.rules.lists.get(name)
    if pattern is None:
        raise call.refuse(f"the profiles have no list {name}.")
    if word.choices is None or word.glob:
        raise call.refuse(f"{what} must be written out, not {word.source or 'computed'}.")
    for text in word.choices:
        if not re.fullmatch(pattern, text, re.VERBOSE):
            raise call.refuse(f"{text} is not allowed for {what}. {call.rule.instead}".rstrip())


def _path(call: Call, kind: str, word: Word, what: str) -> None:
    if word.choices is None:
        _unknown_path(call, kind, word, what)
        return
    for text in word.choices:
        if text == "-" and kind in {"read", "tree", "write", "project"}:
            continue
        if word.glob or (call.rule.data.get("globs") == "own" and _WILD.search(text)):
            _glob(call, kind, text)
        check_path(call, kind, text)


def check_path(call: Call, kind: str, text: str) -> None:
    """Apply the path policy to one known path."""
    paths = call.context.paths
    if kind == "read":
        if is_endless(text) and call.rule.data.get("endless") != "ok":
            raise call.refuse(f"{text} never ends. Use head -c.")
        if not (is_endless(text) and call.rule.data.get("endless") == "ok"):
            paths.read(text, call.cwd)
    elif kind == "tree":
        paths.read_tree(text, call.cwd)
    elif kind == "project":
        if _NOT_A_FILE.search(text.partition("::")[0]):
            raise call.refuse(
                f"{text} is not plainly a file of the project: no address, no settings, no "
                "list of further arguments. Write ./ before an unusual name."
            )
        paths.refuse_guarded(text.partition("::")[0].rstrip("/"), text)
        paths.project_file(text, call.cwd)
    elif kind == "write":
        paths.write(text, call.cwd)
    elif kind == "remove":
        paths.remove(text, call.cwd)
    else:
        raise call.refuse(f"the profiles use an unknown kind, {kind}.")


def _unknown_path(call: Call, kind: str, word: Word, what: str) -> None:
    if mentions_secret(word.source):
        raise call.refuse(f"{word.source} may hold credentials.")
    if word.prefix.startswith("/dev/fd/") and kind not in {"remove", "project"}:
        return  # a process substitution; what it runs is judged by itself
    if kind in {"read", "tree"}:
        fixed = _OWN_FOLDER.match(word.prefix)
        if call.context.private and not word.numeric and not fixed:
            raise call.refuse(
                f"{word.source or what} may lead to private files, which this script names. "
                "Write the path out."
            )
        if word.prefix.startswith(("/", "~", ".")):
            check_path(call, "read", word.prefix)
        return
    if kind == "project" and call.rule.unknown == "any":
        return
    if kind == "project" and word.prefix and "/" in word.prefix and not word.splits:
        check_path(call, kind, word.prefix.rpartition("/")[0] or "/")
        return
    if word.numeric and kind == "project":
        return
    raise call.refuse(f"{what} must be a path written out, not {word.source or 'computed'}.")


def _glob_read(call: Call, text: str) -> None:
    """Refuse a pattern outside the project that matches a credential file right now."""
    if not text.startswith(("/", "~", "..")) and call.cwd is not None and call.cwd[:1] not in "/~":
        return
    if pattern_reaches_secret(text if call.cwd is None else f"{call.cwd}/{text}"):
        raise call.refuse(f"{text} reaches files that may hold credentials. Name the files.")
    pattern = os.path.expanduser(text)  # noqa: PTH111
    folder = call.context.paths.absolute(".", call.cwd)
    for found in itertools.islice(glob.iglob(pattern, root_dir=folder), _MAX_MATCHES):  # noqa: PTH207
        call.context.paths.read(found, call.cwd)


def _glob(call: Call, kind: str, text: str) -> None:
    """Refuse patterns that can reach protected names when the matches are changed."""
    if kind not in {"write", "remove"}:
        _glob_read(call, text)
        return
    parts = text.split("/")
    for part in parts:
        if part.startswith(".") and re.search(r"[*?\[]", part):
            reached = [n for n in (*GUARDED, "..") if fnmatch.fnmatch(n, part.casefold())]
            if reached:
                raise call.refuse(f"{text} reaches {reached[0]}. Name the files instead.")
    if ".." in parts:
        raise call.refuse(f"{text} leaves the directory. Name the files instead.")
    project = call.context.paths.project
    below = text.removeprefix(project + "/")
    if kind == "remove" and not re.sub(r"[*?./]|\[[^]]*\]", "", below):
        raise call.refuse(f"{text} would remove everything. Name what is to go.")
