"""Tokens that a checkout left in the project's git configuration, where agents can read them."""

import re
from collections.abc import Iterator
from pathlib import Path

HINT = (
    "With actions/checkout say `persist-credentials: false`; elsewhere `git config --unset-all` or "
    "`git remote set-url` takes it out. Give a token to the step that pushes, after the run."
)

_TOKEN = re.compile(
    r"""
    ^\s* extraheader \s*=\s* "? authorization:
    | ^\s* (?:push)?url \s*=\s* "? https?://[^/\s@:]* : [^/\s@]+ @
    | ^\s* \[url\s+ "https?://[^/\s@:]* : [^/\s@]+ @
    | ://(?:gh[pousr]_|github_pat_|glpat-)[\w.-]+ (?: :[^/\s@]* )? @
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_GITDIR = re.compile(r"gitdir: (.+)")


def configuration_with_token(project: Path) -> Path | None:
    """Return the git configuration of the project's repository that holds a token, if one does.

    Files that it includes are not looked into: newer versions of actions/checkout put theirs
    where the sandbox hides it.
    """
    for folder in (project, *project.parents):
        dot_git = folder / ".git"
        if dot_git.exists():
            return next((path for path in _configurations(dot_git) if _holds_token(path)), None)
    return None


def _configurations(dot_git: Path) -> Iterator[Path]:
    git = dot_git
    if dot_git.is_file():
        named = _GITDIR.match(_text(dot_git))
        if named is None:
            return
        git = dot_git.parent / named[1].strip()
    yield git / "config.worktree"
    yield (git / (_text(git / "commondir").strip() or ".") / "config").resolve()


def _holds_token(path: Path) -> bool:
    return _TOKEN.search(_text(path)) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
