"""Whether git could print a branch or tag that its own commands would take for an option."""

import re
from pathlib import Path

_PACKED = re.compile(rb"refs/(?:heads|tags)/-")
_LARGEST = 16_000_000


def has_option_like_refs(project: str) -> bool:
    """Whether a branch or tag of the project begins with a dash.

    git makes no such names, but a repository that was cloned may bring them along
    (`--output=/path`). What can't be read counts as such.
    """
    try:
        folder = _common_folder(Path(project) / ".git")
        if folder is None:
            return False
        loose = (folder / "refs" / kind for kind in ("heads", "tags"))
        if any(e.name.startswith("-") for one in loose if one.is_dir() for e in one.iterdir()):
            return True
        packed = folder / "packed-refs"
        if not packed.is_file():
            return False
        return packed.stat().st_size > _LARGEST or _PACKED.search(packed.read_bytes()) is not None
    except (OSError, UnicodeDecodeError):
        return True


def _common_folder(git: Path) -> Path | None:
    """The folder with the references, also of a worktree or submodule, whose `.git` is a file."""
    if git.is_file():
        text = git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        git = git.parent / text
        common = git / "commondir"
        if common.is_file():
            git = git / common.read_text(encoding="utf-8").strip()
    return git if git.is_dir() else None
