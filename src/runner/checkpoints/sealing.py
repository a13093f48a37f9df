"""Make the objects of a snapshot durable, and check them when they are read again.

git does not compare an object with its name on reading. So whoever relies on objects has their
hashes computed here first.
"""

import hashlib
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TypeVar

from runner.checkpoints.isolated_git import GitError, ShadowGit
from runner.errors import StateError

T = TypeVar("T")

_MAX_PACKS = 50
_CHUNK_BYTES = 1024 * 1024
_NO_OBJECT = frozenset("0")


class DamageError(StateError):
    """An object is missing, or is not what its name says."""


def sealed(
    git: ShadowGit,
    make: Callable[[], T],
    heads: Callable[[T], Iterable[str]],
    kept: Collection[str],
) -> T:
    """Make objects, and see to it that they survive a crash. Returns what `make` returned.

    The caller holds the store's lock, and names the objects in the ledger afterwards.

    Args:
        make: writes objects; is called again when a loose one turns out to be torn.
        heads: returns the ids of commits, trees and blobs that lead to all of them.
        kept: further ids whose objects must never be lost.

    Raises:
        GitError: it could not be done.
    """
    try:
        made = make()
        _seal(git, heads(made))
    except GitError:
        # A loose object may be torn since a crash, and git does not write it again.
        git.store.reset()
        made = make()
        _seal(git, heads(made))
    if len(git.store.packs()) > _MAX_PACKS:
        _consolidate(git, {*heads(made), *kept})
    return made


def _seal(git: ShadowGit, heads: Iterable[str]) -> None:
    """Write what is reachable from `heads`, and is in no pack, into one that is flushed."""
    _pack(git, sorted(set(heads)), "--unpacked", "--incremental", "--window=0")
    git.store.drop_loose()


def _consolidate(git: ShadowGit, heads: set[str]) -> None:
    """Make one pack of all that is needed. Where that fails the many packs stay."""
    packs = git.store.packs()
    with suppress(GitError, OSError):
        made = _pack(git, sorted(heads))
        for pack in packs if made else ():
            if pack.stem != made:
                git.store.drop_pack(pack)


def write_blob(git: ShadowGit, data: bytes) -> str:
    """Write data as an object, and return its id. Raises GitError."""
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def read_blob(git: ShadowGit, name: str) -> bytes:
    """Return the data of an object, checked.

    Raises:
        DamageError: it is missing, or not what its name says.
    """
    data = b""
    for found, content in objects(git, [name]):
        data = content if found == name else b""
    return data


def require_intact(git: ShadowGit, ids: Iterable[str]) -> None:
    """Check that objects are what their names say.

    Raises:
        DamageError: one is missing or is not.
    """
    for _ in objects(git, ids):
        pass


@dataclass(frozen=True, slots=True)
class Pair:
    """What two trees have under one path, folders included.

    Attributes:
        old_mode: in octal digits, `000000` where there was nothing.
        old: the id of the object; zeros likewise.
        new: likewise.
    """

    path: bytes
    old_mode: bytes
    old: str
    new: str


def differing(git: ShadowGit, old: str, new: str) -> list[Pair]:
    """Return what differs between two trees. Raises GitError."""
    words = ("diff-tree", "-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames", old, new)
    parts = git.run(*words).split(b"\0")
    found = []
    for description, path in zip(parts[::2], parts[1::2], strict=False):
        mode, _, before, after = description[1:].split(b" ")[:4]
        found.append(Pair(path, mode, before.decode("ascii"), after.decode("ascii")))
    return found


def ids_of(pairs: Iterable[Pair]) -> set[str]:
    """Return all objects that a comparison of two trees reads, but for the trees themselves.

    What both trees have under the same id is not read, and is the same by its hash.
    """
    found = {name for pair in pairs for name in (pair.old, pair.new)}
    return {name for name in found if set(name) != _NO_OBJECT}


def objects(git: ShadowGit, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield id and content of objects, each checked against its id; all of them are read.

    Raises:
        DamageError: one is missing, or is not what its name says.
    """
    wanted = list(dict.fromkeys(ids))
    with tempfile.TemporaryFile() as names, tempfile.TemporaryFile() as said:
        names.write("".join(f"{name}\n" for name in wanted).encode("ascii"))
        names.seek(0)
        with subprocess.Popen(
            [git.program, "cat-file", "--batch"],
            cwd=git.folder,
            env=git.environment(),
            stdin=names,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as child:
            try:
                assert child.stdout is not None  # noqa: S101 - it is a pipe
                for name in wanted:
                    yield name, _checked(git.object_format, name, child.stdout)
            finally:
                child.kill()


def _checked(object_format: str, name: str, stream: IO[bytes]) -> bytes:
    words = stream.readline(_CHUNK_BYTES).split()
    if len(words) != 3 or not words[2].isdigit():
        raise _damaged(name, "is missing or can't be read")
    size = int(words[2])
    content = stream.read(size + 1)
    digest = hashlib.new(object_format, usedforsecurity=False)
    digest.update(words[1] + b" " + words[2] + b"\0" + content[:size])
    if len(content) != size + 1 or digest.hexdigest() != name:
        raise _damaged(name, "is not what its name says")
    return content[:size]


def _damaged(name: str, how: str) -> DamageError:
    return DamageError(f"The kept object {name[:12]} {how}.")


def _pack(git: ShadowGit, heads: Collection[str], *options: str) -> str:
    """Make a pack of what is reachable from `heads`, and return its name; "" for none."""
    target = git.objects / "pack" / "pack"
    words = ("pack-objects", "-q", "--revs", "--non-empty", *options, str(target))
    made = git.run(*words, stdin="".join(f"{name}\n" for name in heads).encode("ascii"))
    return f"pack-{made.decode().strip()}" if made.strip() else ""
