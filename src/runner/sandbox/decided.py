"""What a run hides, decided once before its first session.

Agents write the project, and with it what the user's variables name there: they can replace a link
on the way to a credential file, and add any name to git's index. So what is found at the start
stays hidden until the run ends. Where a way leads through a link in the project, its end is also
noted for later runs. A file of the project is left as it is only where git holds exactly its
content, which agents can read in the repository anyhow.
"""

import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runner.autonomy.store.layout import user_state_directory, workspace_directory
from runner.checkpoints.hidden_files import note_hidden
from runner.checkpoints.isolated_git import ShadowGit, project_git
from runner.checkpoints.repository import find_repository
from runner.errors import PrerequisiteError, RunnerError
from runner.files import read_regular, walk_folders, write_atomic
from runner.reach import steps
from runner.sandbox.scratch import Scratch
from runner.sandbox.secrets import SecretPlace
from runner.text.messages import reason

_NOTES = "hidden-files.json"
_MOST_BYTES = 1024 * 1024
_MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided at the start of a run.

    Attributes:
        hidden: what stays hidden, whatever the paths that lead there lead to later.
        shown: files and folders of the project that are not hidden themselves.
        covers: what agents see instead of a file that git holds with another content.
    """

    hidden: frozenset[Path] = frozenset()
    shown: frozenset[Path] = frozenset()
    covers: Mapping[Path, Path] = field(default_factory=dict)


def decide(
    project: Path,
    places: Collection[SecretPlace],
    spelled: Collection[Path],
    scratch: Scratch,
) -> Decided:
    """Return what a run hides of these places, and of what earlier runs have noted.

    Args:
        project: absolute, links resolved.
        places: what exists now.
        spelled: every path that is looked at, also of what does not exist.

    Raises:
        PrerequisiteError: what has to be noted for later runs can't be.
    """
    noted = _noted(project, places, spelled)
    found = {place.real for place in places} | {path for path in noted if path.exists()}
    found |= _other_names(found, project)
    inside = sorted(path for path in found if project in path.parents)
    shown: set[Path] = set()
    covers: dict[Path, Path] = {}
    for path in inside:
        found |= _judge(path, project, scratch, shown, covers)
    _note_for_snapshots(project, found - shown)
    return Decided(frozenset(found - shown), frozenset(shown), covers)


def _note_for_snapshots(project: Path, hidden: Collection[Path]) -> None:
    try:
        note_hidden(project, hidden)
    except (OSError, RunnerError) as error:
        raise PrerequisiteError(
            f"Which files of the project are hidden from agents can't be noted: {reason(error)}.",
            hint=f"Make {project / '.runner'} writable, or keep credentials outside of the project.",
        ) from error


def _judge(
    path: Path, project: Path, scratch: Scratch, shown: set[Path], covers: dict[Path, Path]
) -> set[Path]:
    """Add a path of the project to what is shown or covered; return files to hide one by one."""
    held = _held_by_git(path, project)
    if not held:
        return set()
    if not path.is_dir():
        if held.get(path) == _content(path):
            shown.add(path)
        else:
            covers[path] = _new_cover(scratch, held.get(path) or b"")
        return set()
    files = [Path(folder, name) for folder, _, names in walk_folders(path) for name in names]
    if len(files) > _MOST_FILES:
        return set()
    shown.add(path)
    for file in files:
        content = held.get(file)
        if content is not None and content == _content(file):
            shown.add(file)
        elif content is not None:
            covers[file] = _new_cover(scratch, content)
    return set(files)


def _held_by_git(path: Path, project: Path) -> dict[Path, bytes]:
    """Return the content that git's index has of a file, or of the files of a folder.

    Agents can write the index and the objects. What they can't do is to write the content of a
    file that they can't read.
    """
    repository = find_repository(project)
    if repository is None or repository.index is None:
        return {}
    with suppress(OSError, RunnerError), project_git(repository) as git:
        name = str(path.relative_to(project))
        listed = git.run("ls-files", "-s", "-z", "--", name, index=repository.index)
        entries = [entry for entry in listed.split(b"\0") if entry][:_MOST_FILES]
        return dict(_entries(git, entries, project))
    return {}


def _entries(git: ShadowGit, entries: list[bytes], project: Path) -> Iterator[tuple[Path, bytes]]:
    for entry in entries:
        about, _, name = entry.partition(b"\t")
        oid = about.split()[1].decode("ascii")
        content = b""
        with suppress(RunnerError):  # an object that is missing or damaged
            if int(git.run("cat-file", "-s", oid)) <= _MOST_BYTES:
                content = git.run("cat-file", "blob", oid)
        yield project / os.fsdecode(name), content


def _content(path: Path) -> bytes | None:
    try:
        content = read_regular(path, limit=_MOST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= _MOST_BYTES else None


def _new_cover(scratch: Scratch, content: bytes) -> Path:
    scratch.covers.mkdir(exist_ok=True)
    cover = scratch.covers / str(len(list(scratch.covers.iterdir())))
    cover.write_bytes(content)
    return cover


def _other_names(paths: Collection[Path], project: Path) -> set[Path]:
    """Return the hard links in the project to one of these files."""
    shared = set()
    for path in paths:
        with suppress(OSError):
            found = path.lstat()
            if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                shared.add((found.st_dev, found.st_ino))
    if not shared:
        return set()
    return {path for path in _files(project) if _identity(path) in shared}


def _files(project: Path) -> Iterator[Path]:
    for folder, _, names in walk_folders(project):
        for name in names:
            yield Path(folder, name)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _noted(project: Path, places: Collection[SecretPlace], spelled: Collection[Path]) -> set[Path]:
    """Return the ends that ways through the project have, and had; note new ones."""
    path = workspace_directory(user_state_directory(), project) / _NOTES
    notes = _read(path)
    through = [(str(p.spelled), str(p.real)) for p in places if _leads_through(p, project)]
    added = [(name, real) for name, real in through if real not in notes.get(name, [])]
    for name, real in added:
        notes.setdefault(name, []).append(real)
    if added:
        _write(path, notes)
    looked_at = {str(name) for name in spelled}
    return {Path(end) for name, ends in notes.items() if name in looked_at for end in ends}


def _leads_through(place: SecretPlace, project: Path) -> bool:
    """Whether a link in the project decides what a path leads to."""
    if place.spelled == place.real:
        return False
    inside = (Path(step) for step in steps(place.spelled))
    return any(step.is_symlink() for step in inside if project in step.parents)


def _read(path: Path) -> dict[str, list[str]]:
    try:
        notes = json.loads(read_regular(path, limit=_MOST_BYTES))
        return {name: [str(end) for end in ends] for name, ends in notes.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise PrerequisiteError(
            f"{path} says what is hidden from agents, and can't be read: {reason(error)}.",
            hint="Remove it where no link in the project leads to credentials.",
        ) from error


def _write(path: Path, notes: Mapping[str, list[str]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, json.dumps(notes, indent=1), mode=0o600)
    except (OSError, RunnerError) as error:
        raise PrerequisiteError(
            f"A link in the project leads to credentials, and {path}, which has to say so, can't be "
            f"written: {reason(error)}.",
            hint="Name another folder with AUTORUNNER_STATE_DIR, or the credentials without that link.",
        ) from error
