"""Which git commands print nothing but commits, branches or tags."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell.shapes import COMMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell.shapes import Shapes

_REF = re.compile(r"@|(?!-)[A-Za-z][\w-]*(?:[/.][\w-]+)*(?:[~^][0-9]*|@\{[0-9u]\})*", re.ASCII)
_RANGE = re.compile(rf"(?:{_REF.pattern})?\.\.\.?(?:{_REF.pattern})?", re.ASCII)
_COUNT = re.compile(r"-[0-9]+|-n[0-9]*|--max-count=[0-9]+|--max-parents=0|--reverse|--all|--merges|--no-merges|--first-parent|--follow|--branches|--tags|-i|-S.+|--(?:diff-filter|before|after|since|until|author|grep)=.*")  # fmt: skip
_HASH_FORMAT = re.compile(r"--(?:format|pretty)=(?:format:|tformat:)?%[hH]")


def _refs(texts: list[str | None]) -> bool:
    return all(text and (_REF.fullmatch(text) or _RANGE.fullmatch(text)) for text in texts)


def commits(texts: list[str | None]) -> Shapes:
    """What git prints when it is asked for a commit, a branch or a tag."""
    if texts[:1] != ["git"] or len(texts) < 2:
        return None
    judge = _COMMIT_COMMANDS.get(texts[1] or "")
    return (COMMIT,) if judge is not None and judge(texts[2:]) else None


def _rev_parse(rest: list[str | None]) -> bool:
    flags = [text for text in rest if text and text.startswith("-")]
    known = all(
        re.fullmatch(r"--short(?:=[0-9]+)?|--verify|-q|--quiet|--abbrev-ref", f) for f in flags
    )
    return known and _refs([text for text in rest if text is None or not text.startswith("-")])


def _log(rest: list[str | None]) -> bool:
    if "--" in rest:
        rest = rest[: rest.index("--")]
    formats = [text for text in rest if text and _HASH_FORMAT.fullmatch(text)]
    return bool(formats) and _counted(
        [text for text in rest if text is None or not _HASH_FORMAT.fullmatch(text)]
    )


def log_lines(first: list[str | None]) -> bool:
    """Whether each line of this `git log --oneline` begins with a commit."""
    rest = first[2 : first.index("--")] if "--" in first else first[2:]
    return "--oneline" in rest and _counted([text for text in rest if text != "--oneline"])


def _counted(rest: list[str | None]) -> bool:
    """Whether these are only numbers of commits, harmless flags and references."""
    others = [t for t in rest if t is None or not (_COUNT.fullmatch(t) or t.isdecimal())]
    return _refs(others)


def _rev_list(rest: list[str | None]) -> bool:
    return _counted(rest[: rest.index("--")] if "--" in rest else rest)


def _names(rest: list[str | None]) -> bool:
    """`git tag`, `git describe`: names, which never begin with a dash."""
    flags = r"--tags|--abbrev=0|--always|-l|--list|--sort=-?[\w:]+|--show-current|--all|--merged"
    return all(t and (re.fullmatch(flags, t) or re.fullmatch(r"[\w.*-]+", t)) for t in rest)


def _reads_tags(rest: list[str | None]) -> bool:
    return _names(rest) and (not rest or any(t in ("-l", "--list") for t in rest) or all(t and t.startswith("--") for t in rest))  # fmt: skip


_COMMIT_COMMANDS: dict[str, Callable[[list[str | None]], bool]] = {
    "rev-parse": _rev_parse,
    "merge-base": lambda _rest: True,
    "log": _log,
    "rev-list": _rev_list,
    "describe": _names,
    "tag": _reads_tags,
    "branch": lambda rest: rest in (["--show-current"], ["--format=%(refname:short)"]),
}
