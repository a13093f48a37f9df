"""The mounts that hide credentials: an empty folder or file lies over each."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from runner.sandbox.scratch import Scratch

# Programs refuse these formats when they are empty.
_STANDS_FOR = {
    "settings.xml": "<settings/>\n",
    "settings-security.xml": "<settingsSecurity/>\n",
    "NuGet.Config": (
        '<configuration><packageSources><add key="nuget.org" '
        'value="https://api.nuget.org/v3/index.json"/></packageSources></configuration>\n'
    ),
}
_INDEX_VERSION = slice(4, 8)
_SEARCHABLE = (b"\0\0\0\2", b"\0\0\0\3")


def hiding_mounts(
    paths: Collection[Path], scratch: Scratch, project: Path, needed: Sequence[Path]
) -> Iterator[str]:
    """Yield the mounts over what lies outside the project.

    Args:
        paths: what to hide; exists, links resolved. A folder that holds the project stays.
        needed: what must stay visible below a folder that is hidden.
    """
    outside = [path for path in paths if not path.is_relative_to(project)]
    for path in _outermost(path for path in outside if not project.is_relative_to(path)):
        below = [place for place in needed if place != path and place.is_relative_to(path)]
        if not path.is_dir():
            yield from ("--ro-bind", str(_cover(scratch, path)), str(path))
        elif below:
            yield from ("--tmpfs", str(path))
            for place in below:
                yield from ("--ro-bind", str(place), str(place))
            yield from ("--remount-ro", str(path))
        else:
            yield from ("--ro-bind", str(scratch.void), str(path))


def hiding_mounts_in_project(
    paths: Collection[Path], scratch: Scratch, project: Path
) -> Iterator[str]:
    """Yield the mounts over files in the project; they lie over the project's own mount.

    What git knows already is no secret, and an agent's commit would empty it.
    """
    for path in sorted(paths):
        if path.is_relative_to(project) and path.is_file() and not _is_committed(path, project):
            yield from ("--ro-bind", str(_cover(scratch, path)), str(path))


def _outermost(paths: Iterator[Path]) -> Iterator[Path]:
    """Yield the paths that lie in none of the others, in order."""
    last: Path | None = None
    for path in sorted(set(paths)):
        if last is None or not path.is_relative_to(last):
            last = path
            yield path


def _cover(scratch: Scratch, path: Path) -> Path:
    text = "{}\n" if path.suffix == ".json" else _STANDS_FOR.get(path.name)
    if text is None:
        return scratch.empty
    cover = scratch.root / f"empty-{path.name if path.suffix != '.json' else 'json'}"
    if not cover.exists():
        cover.write_text(text, encoding="utf-8")
    return cover


def _is_committed(path: Path, project: Path) -> bool:
    """Whether git's index of the project names the file; also where that can't be found out."""
    root = next((p for p in (project, *project.parents) if (p / ".git").exists()), None)
    if root is None:
        return False
    dot_git = root / ".git"
    if dot_git.is_file():
        named = dot_git.read_text(encoding="utf-8", errors="replace").partition("gitdir: ")[2]
        dot_git = root / named.strip()
    try:
        index = (dot_git / "index").read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    known = bytes(path.relative_to(root)) + b"\0"
    return index[_INDEX_VERSION] not in _SEARCHABLE or known in index
