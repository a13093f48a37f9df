"""The mounts that hide credentials: an empty folder or file lies over each.

A mount belongs to a directory entry. Where another program replaces that entry, as an editor does
that saves a file, the kernel removes the mount. Outside of the project a read-only overlay takes
the place of the folder above, so that no other program can change the entries below the mounts.
In the project the folders above are mounted on themselves, because an agent could otherwise rename
one of them, and find the file under its new path in the next session.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
_MOUNTS = Path("/proc/self/mountinfo")
_SOCKETS = Path("/proc/net/unix")
# What obeys a user there has the powers of root. Other managers listen in /run.
_CONTAINER_MANAGERS = tuple(
    Path("/var", place, "unix.socket") for place in ("snap/lxd/common/lxd", "lib/lxd", "lib/incus")
)
_ESCAPED = ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\"))


def hiding_mounts(
    paths: Collection[Path], scratch: Scratch, project: Path, needed: Sequence[Path]
) -> Iterator[str]:
    """Yield the mounts over what lies outside the project.

    Args:
        paths: what to hide; exists, links resolved. A folder that holds the project stays.
        needed: what must stay visible below a folder that is hidden.
    """
    for path in _outermost(_outside(paths, project)):
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


def steady_mounts(
    paths: Collection[Path], scratch: Scratch, project: Path, home: Path, apart: Sequence[Path]
) -> Iterator[str]:
    """Yield overlays below the mounts that hide what lies outside the project.

    Args:
        paths: what is hidden; exists, links resolved.
        home: gets one overlay as a whole; other folders get one where they hold a hidden path.
        apart: what no overlay may lie over.
    """
    above = {home if home in path.parents else path.parent for path in _outside(paths, project)}
    kept = (Path("/"), scratch.root, *apart)
    folders = [f for f in above if not any(path.is_relative_to(f) for path in kept)]
    # The kernel makes no overlay of a folder below which something else is mounted.
    mounted = _mount_points()
    folders = [f for f in folders if not any(f in path.parents for path in mounted)]
    for folder in _outermost(folders):
        yield from ("--overlay-src", str(folder), "--overlay-src", str(scratch.void))
        yield from ("--ro-overlay", str(folder))


def hiding_mounts_in_project(
    paths: Collection[Path], scratch: Scratch, project: Path, covers: Mapping[Path, Path]
) -> Iterator[str]:
    """Yield the mounts over what lies in the project; they lie over the project's own mount.

    Args:
        paths: what to hide; may not exist any more.
        covers: what agents see instead of a file, where that is not an empty one.
    """
    for path in _outermost(path for path in paths if project in path.parents):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from ("--ro-bind", str(scratch.void), str(path))
        elif path.exists():
            yield from ("--ro-bind", str(covers.get(path) or _cover(scratch, path)), str(path))


def listening_sockets(home: Path) -> list[Path]:
    """Return the sockets by which programs of the user can be told what to do.

    A read-only mount keeps nobody from connecting to a socket.
    """
    found = {path for path in _CONTAINER_MANAGERS if path.is_socket()}
    with suppress(OSError):
        for line in _SOCKETS.read_text(errors="surrogateescape").splitlines()[1:]:
            _, slash, named = line.partition(" /")
            with suppress(OSError, ValueError, RuntimeError):
                path = Path(slash.strip() + named).resolve()
                if slash and path.is_relative_to(home) and path.is_socket():
                    found.add(path)
    return sorted(path for path in found if os.access(path, os.W_OK))


def folders_above(paths: Iterable[Path], project: Path) -> set[Path]:
    """Return the folders of the project that must not be renamed, so that `paths` stay hidden."""
    return {
        folder
        for path in paths
        if project in path.parents and path.exists()
        for folder in path.parents
        if project in folder.parents
    }


def _outside(paths: Iterable[Path], project: Path) -> list[Path]:
    return [p for p in paths if not p.is_relative_to(project) and not project.is_relative_to(p)]


def _outermost(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths that lie in none of the others, in order."""
    last: Path | None = None
    for path in sorted(set(paths)):
        if last is None or not path.is_relative_to(last):
            last = path
            yield path


def _mount_points() -> list[Path]:
    """Return where file systems are mounted in others on this machine."""
    found = []
    with suppress(OSError):
        for line in _MOUNTS.read_text(errors="surrogateescape").splitlines():
            place = line.split(" ")[4]
            for escaped, character in _ESCAPED:
                place = place.replace(escaped, character)
            found.append(Path(place))
    return found


def _cover(scratch: Scratch, path: Path) -> Path:
    text = "{}\n" if path.suffix == ".json" else _STANDS_FOR.get(path.name)
    if text is None:
        return scratch.empty
    cover = scratch.root / f"empty-{path.name if path.suffix != '.json' else 'json'}"
    if not cover.exists():
        cover.write_text(text, encoding="utf-8")
    return cover
