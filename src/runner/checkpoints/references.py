"""What the references of a project's repository name, as files say: data that agents can write.

Commands of a clean room see them, so a review compares them: a check that asks git what differs
from a branch or a tag looks at less when that was moved.
"""

import hashlib
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from runner.checkpoints.repository import Repository
from runner.checkpoints.unversioned import Differences, Manifest, UnversionedEntry
from runner.files import read_regular, walk_folders

REPLACEMENTS = "refs/replace/"
"""References by which git shows another object than the one that is asked for."""

_OWN = "refs/runner/"
_REFERENCE = re.compile(r"[0-9a-f]{40,64} refs/[^\s\x00-\x20~^:?*\[\\\ud800-\udfff]+")
_ID = re.compile(r"[0-9a-f]{40,64}")
_HEAD = re.compile(r"refs/heads/[^\s\x00-\x20~^:?*\[\\]+")
_MOST = 20_000
_SMALL_BYTES = 1024 * 1024
_FOLDER = b".git/"
_HEAD_PATH = _FOLDER + b"HEAD"
_SHALLOW_PATH = _FOLDER + b"shallow"
_REFS = _FOLDER + b"refs/"


def references(repository: Repository) -> dict[str, str]:
    """Return the object that each reference names, as files of the repository say."""
    found: dict[str, str] = {}
    common = repository.common
    if common is None:
        return found
    lines: list[str] = []
    with suppress(OSError):
        lines += small_file(repository, "packed-refs").decode("utf-8", "replace").splitlines()
    for folder, _, files in walk_folders(common / "refs"):
        for file in files[:_MOST]:
            name = Path(folder, file).relative_to(common).as_posix()
            with suppress(OSError):
                text = small_file(repository, name).decode("utf-8", "replace")
                lines.append(f"{text.strip()} {name}")
    for line in lines[:_MOST]:
        if _REFERENCE.fullmatch(line) and f" {_OWN}" not in line:
            name, reference = line.split(" ", 1)
            found[reference] = name
    return found


def head(repository: Repository) -> str:
    """Return what `HEAD` says; the name of a branch that may not be there where it says nothing."""
    default = "ref: refs/heads/main\n"
    if repository.git_dir is None:
        return default
    try:
        content = read_regular(
            repository.git_dir / "HEAD", limit=_SMALL_BYTES, within=repository.git_dir
        )
    except OSError:
        return default
    text = content.decode("utf-8", "replace").strip()
    is_branch = _HEAD.fullmatch(text.removeprefix("ref: ")) is not None
    return f"{text}\n" if is_branch or _ID.fullmatch(text) else default


def small_file(repository: Repository, name: str) -> bytes:
    """Return a small file of the repository's common folder. Raises OSError."""
    assert repository.common is not None  # noqa: S101 - the callers have looked
    return read_regular(repository.common / name, limit=_SMALL_BYTES, within=repository.common)


def with_references(manifest: Manifest, repository: Repository) -> Manifest:
    """Return a manifest that also holds what the references name, if the project has its own."""
    if repository.common is None or repository.top != repository.project:
        return manifest
    texts = {_FOLDER + name.encode(): named for name, named in references(repository).items()}
    texts[_HEAD_PATH] = head(repository).strip()
    with suppress(OSError):
        content = small_file(repository, "shallow")
        texts[_SHALLOW_PATH] = hashlib.sha256(content).hexdigest()
    made = {path: _entry(text) for path, text in texts.items()}
    return Manifest({**manifest.entries, **made}, manifest.is_complete)


def moved(before: Manifest | None, found: Differences) -> tuple[str, ...]:
    """Return a line for each reference that is not what it was, those that are new last.

    Args:
        before: the earlier manifest; nothing is known where it has no references.
        found: all differences.
    """
    if before is None or _HEAD_PATH not in before.entries:
        return ()
    # New ones come last: an agent can make any number of them, and a long list is cut off.
    lines = [
        _line("changed", path, _text(before.entries[path]), _text(entry))
        for path, entry in _of(found.changed)
    ]
    lines += [_line("removed", path, _text(entry), "") for path, entry in _of(found.removed)]
    lines += [_line("made", path, "", _text(entry)) for path, entry in _of(found.added)]
    return tuple(lines)


def without_references(entries: Mapping[bytes, UnversionedEntry]) -> dict[bytes, UnversionedEntry]:
    """Return the entries that are files, in their order."""
    return {path: entry for path, entry in entries.items() if not _is_reference(path)}


def _of(entries: Mapping[bytes, UnversionedEntry]) -> list[tuple[bytes, UnversionedEntry]]:
    return [(path, entry) for path, entry in entries.items() if _is_reference(path)]


def _is_reference(path: bytes) -> bool:
    return path in (_HEAD_PATH, _SHALLOW_PATH) or path.startswith(_REFS)


def _entry(text: str) -> UnversionedEntry:
    return UnversionedEntry(stat.S_IFREG, 0, (0, 0, 0), text.encode().hex())


def _text(entry: UnversionedEntry) -> str:
    return bytes.fromhex(entry.digest).decode("utf-8", "replace")


def _line(change: str, path: bytes, old: str, new: str) -> str:
    name = path.removeprefix(_FOLDER).decode("utf-8", "replace")
    return f"{change:<8} {name}: {old or 'nothing'} -> {new or 'nothing'}"
