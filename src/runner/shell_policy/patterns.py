"""Paths that are known as patterns: globs, and names with holes that a script computes.

What such a path can be is judged twice: as a text, for all that could ever match, and on the
files that are there now, because one of them may be a link.
"""

import fnmatch
import itertools
import posixpath
import re
from collections.abc import Callable, Iterator

from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.paths import GUARDED, PathPolicy, pattern_reaches_secret
from runner.shell_policy.project_facts import ProjectFacts, below
from runner.shell_policy.shell import shapes

Refuse = Callable[[str], PolicyRefusalError]
CheckPath = Callable[[str], None]

_MAX_MATCHES = 5_000
_WIDE = ("/home", "/root", "/etc", "/var", "/proc", "/run", "/home/me", "/Users/me")
_MAX_GUARDED = 2000
_WILD = re.compile(r"[*?\[]")
# Sets that bash and `fnmatch` read differently: classes, `^`, a backslash.
_ODD_SET = re.compile(r"\[\^|\\|\[[^\]]*\[[:.=]|\[[!^]?\]")
_SET = re.compile(r"\[[!^]?\]?(?:\[[:.=].*?[:.=]\]|\\.|[^\]])*\]")
_MAY_BE_EMPTY = re.compile(
    f"[{shapes.DIGITS}{shapes.SIGNED}{shapes.COMMIT}{shapes.LISTED}{shapes.PLACE}{shapes.REST}]"
)
_CHANGES = frozenset({"write", "remove"})
# Files that guarded folders hold: no pattern over the whole project may change them.
_GUARDED_NAMES = (
    "status.json", "agent.json", "settings.json", "settings.local.json", ".mcp.json", ".gitmodules",
    "config", "HEAD", "index", "pre-commit", "commit-msg", "description", "packed-refs", "exclude",
    "initializer.md", "journal.jsonl", "run.lock", "pre-commit.sample", ".gitconfig", ".bashrc",
)  # fmt: skip


def check_glob(paths: PathPolicy, kind: str, text: str, cwd: str | None, refuse: Refuse) -> None:
    """Refuse patterns that can reach protected names or credentials."""
    if kind == "project":
        refuse_guarded_glob(text, refuse)
    if kind not in _CHANGES:
        _check_read(paths, kind, text, cwd, refuse)
        _check_parent(paths, kind, text, cwd, refuse)
        return
    refuse_guarded_glob(text, refuse)
    if ".." in text.split("/"):
        raise refuse(f"{text} leaves the directory. Name the files instead.")
    below = text.removeprefix(paths.project + "/")
    if kind == "remove" and not re.sub(r"[*?./]|\[[^]]*\]", "", below):
        raise refuse(f"{text} would remove everything. Name what is to go.")


def refuse_guarded_glob(text: str, refuse: Refuse) -> None:
    """Refuse a pattern that matches a protected folder, or the folder above."""
    for part in text.split("/"):
        if part.startswith(".") and _WILD.search(part):
            reached = [n for n in (*GUARDED, "..") if fnmatch.fnmatch(n, _wider(part.casefold()))]
            if reached:
                raise refuse(f"{text} reaches {reached[0]}. Name the files instead.")


def _check_parent(paths: PathPolicy, kind: str, text: str, cwd: str | None, refuse: Refuse) -> None:
    """Judge `.?` as `..`, which it matches in bash before 5.2."""
    parts = text.split("/")
    if not any(map(_may_be_parent, parts)):
        return
    if kind == "project":
        raise refuse(f"{text} may leave the directory. Name the file instead.")
    paths.read("/".join(".." if _may_be_parent(part) else part for part in parts), cwd)


def _check_read(paths: PathPolicy, kind: str, text: str, cwd: str | None, refuse: Refuse) -> None:
    """Refuse a pattern that could match a credential file outside of the project."""
    if not text.startswith(("/", "~", "..")) and cwd is not None and cwd[:1] not in "/~":
        return
    if _is_in_project(paths, text, cwd):
        return
    if pattern_reaches_secret(text if cwd is None else f"{cwd}/{text}"):
        raise refuse(f"{text} reaches files that may hold credentials. Name the files.")
    for found in _matches(paths, text, cwd, refuse):
        (paths.read_tree if kind == "tree" else paths.read)(found, cwd)
    if kind == "tree" and text.startswith(("/", "~", "..")):
        wide = next((w for w in _WIDE if fnmatch.fnmatchcase(w, text)), None)
        if wide is not None:
            raise refuse(f"{text} reaches all of {wide}. Name a folder of the project.")


def _is_in_project(paths: PathPolicy, text: str, cwd: str | None) -> bool:
    """Whether a pattern begins with a folder of the project and goes down from there."""
    if text.startswith("~") or ".." in text.split("/") or any(map(_may_be_parent, text.split("/"))):
        return False
    if not text.startswith("/"):
        if cwd is None or not cwd.startswith("/"):
            return False
        text = posixpath.join(cwd, text)
    folder = _WILD.split(text, maxsplit=1)[0].rpartition("/")[0]
    return bool(folder) and paths.inside(folder) and paths.inside(paths.facts.real_path(folder))


def _may_be_parent(part: str) -> bool:
    is_pattern = part.startswith(".") and _WILD.search(part) is not None
    return is_pattern and fnmatch.fnmatchcase("..", _wider(part))


def _matches(paths: PathPolicy, pattern: str, cwd: str | None, refuse: Refuse) -> Iterator[str]:
    """What a pattern matches now in the project; folders outside of it are not looked into."""
    if pattern.startswith("~"):
        pattern = paths.home + pattern[1:]
    start = "/" if pattern.startswith("/") else paths.absolute(".", cwd)
    if start is None:
        return
    parts = [part for part in pattern.split("/") if part]
    for count, found in enumerate(_expanded(paths.facts, start, parts, "")):
        if count >= _MAX_MATCHES:
            raise refuse(f"{pattern} matches too many files. Name a folder, or fewer files.")
        yield f"/{found}" if start == "/" else found


def _expanded(facts: ProjectFacts, folder: str, parts: list[str], shown: str) -> Iterator[str]:
    """Expand the parts of a pattern below a folder, `**` through folders that are no links."""
    if not parts:
        yield shown
        return
    part, rest = parts[0], parts[1:]
    if not _WILD.search(part):
        yield from _expanded(facts, posixpath.join(folder, part), rest, posixpath.join(shown, part))
        return
    if part == "**" and rest:
        yield from _expanded(facts, folder, rest, shown)
    for entry in facts.entries(folder):
        if entry.name.startswith(".") and not part.startswith("."):
            continue
        inner = posixpath.join(folder, entry.name), posixpath.join(shown, entry.name)
        if part == "**" and entry.is_folder and not entry.is_link:
            yield from _expanded(facts, inner[0], parts, inner[1])
        if fnmatch.fnmatchcase(entry.name, _wider(part)) and (entry.is_folder or not rest):
            yield from _expanded(facts, inner[0], rest, inner[1])


def _wider(part: str) -> str:
    """A part of a pattern as `fnmatch` reads it; sets that it reads otherwise match any character."""
    return _SET.sub("?", part) if _ODD_SET.search(part) else part


def check_links(
    paths: PathPolicy, text: str, cwd: str | None, check: CheckPath, refuse: Refuse
) -> None:
    """Check each place that a pattern leads to now: a link there may lead away.

    What follows the last part with a wildcard need not exist (`packages/*/new.txt`).
    """
    if cwd is None:
        return
    parts = text.rstrip("/").split("/")
    wild = [index for index, part in enumerate(parts) if _WILD.search(part)]
    if not wild:
        return
    rest = parts[wild[-1] + 1 :]
    for found in _matches(paths, "/".join(parts[: wild[-1] + 1]), cwd, refuse):
        check("/".join([found, *rest]))


def check_shape(
    paths: PathPolicy, kind: str, shape: str, cwd: str | None, *, check: CheckPath, refuse: Refuse
) -> None:
    """Refuse a text with holes (`shell.shapes`) if what fits it may not be used as `kind`.

    Args:
        paths: the path policy.
        kind: a kind of path, as in `kinds`.
        shape: one shape of the word.
        cwd: where the command runs.
        check: applies the policy to one path.
        refuse: makes the refusal.
    """
    if shapes.PLACE in shape and kind not in ("read", "tree"):
        raise refuse("where a tool is installed may be read only. Write the path out.")
    hole = shapes.HOLE.match(shape)
    emptied = _MAY_BE_EMPTY.sub("", shape)
    if hole and emptied != shape and emptied.startswith(("/", "~", "-")):
        # The value may be empty: a path that then begins at the root must be allowed as well.
        check(shapes.pattern(emptied))
    hidden = shape.replace(shapes.REST, f".{shapes.REST}")
    for text in {shapes.pattern(shape): None, shapes.pattern(hidden): None}:
        check_glob(paths, kind, text, cwd, refuse)
        check(text)
        if kind in _CHANGES or kind == "project":
            check_links(paths, text, cwd, check, refuse)
    if kind in _CHANGES and shapes.LISTED in shape:
        _check_listed(paths, shape, refuse)


def _check_listed(paths: PathPolicy, shape: str, refuse: Refuse) -> None:
    """Refuse to change what a tool listed, where that could be a protected file."""
    before, _, after = shape.rpartition(shapes.LISTED)
    folder = before.removeprefix("./")
    if folder and "/" in folder and not shapes.HOLE.search(folder):
        return
    if "/" in after:
        raise refuse(
            "what was listed may be any folder, also one such as .git/hooks, and this writes into "
            "it. Name the folder, such as src."
        )
    refuse_whole_tree(paths, "*" + shapes.pattern(after), refuse)


def refuse_whole_tree(paths: PathPolicy, name: str, refuse: Refuse) -> None:
    """Refuse to change all files of this name pattern, wherever they are in the project."""
    last = name.rpartition("/")[2].casefold()
    if not re.sub(r"[*?]", "", last):
        raise refuse("this could be any file. List the files of one folder, or with one ending.")
    names = itertools.chain(_GUARDED_NAMES, _names_in_guarded(paths))
    reached = next((one for one in names if fnmatch.fnmatchcase(one.casefold(), last)), None)
    if reached is not None:
        raise refuse(
            f"{last} over the whole project reaches {reached} in a protected folder. "
            "Name the folder, such as src."
        )


def _names_in_guarded(paths: PathPolicy) -> Iterator[str]:
    folders = (*(name for name in GUARDED if name != ".git"), ".git/hooks")
    found = (
        name
        for folder in folders
        for name in below(paths.facts, posixpath.join(paths.project, folder))
    )
    return itertools.islice(found, _MAX_GUARDED)
