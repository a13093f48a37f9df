"""What git holds of the protected files, read from its own files without starting git.

Reads references, the index, loose objects and packs (hashes of 20 bytes). What it does not
understand is None: unknown, never "nothing".
"""

import hashlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from runner.shell_policy.git_objects import (
    TREE,
    GitObjectReader,
    UnknownError,
    entries,
    file_bytes,
    varint,
)
from runner.shell_policy.paths import GUARDED, folded

# Path below the project, and the hash of its content (with the mode of what is no plain file).
Guarded = frozenset[tuple[str, str]]

INDEX = "index"
_PACKED_DASH = re.compile(rb"refs/(?:heads|tags)/-")
_MAX_FILES = 5_000
_MAX_DEPTH = 40
_OTHER_HASH = re.compile(rb"objectformat\s*=\s*(?!sha1\b)\S", re.IGNORECASE)
_HASH = re.compile(r"[0-9a-f]{40}")
_SHORT = re.compile(r"[0-9a-f]{4,39}")
_STEP = re.compile(r"(.*?)((?:~\d*|\^\d?|\^\{(?:commit|tree)?\}|@\{\d+\})*)", re.DOTALL)
_ONE_STEP = re.compile(r"~(\d*)|\^(\d?)(?!\{)|\^\{(?:commit|tree)?\}|@\{(\d+)\}")
_MOVED = re.compile(rb"\tcheckout: moving from (\S+) to ")


@dataclass(frozen=True, slots=True)
class _Indexed:
    """An entry of the index that is about a protected file."""

    path: str
    mode: int
    oid: str
    size: int
    stage: int
    special: bool


@dataclass(frozen=True, slots=True)
class GitFacts:
    """A repository as its files are now.

    Attributes:
        folder: the repository's folder (that of the work tree, for a linked one); None without one.
        common: the folder with objects and references.
        top: the root of the work tree.
        prefix: the project below `top`, with a slash at the end, or nothing.
    """

    folder: Path | None
    common: Path
    top: Path
    prefix: str = ""
    _read: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    @property
    def objects(self) -> GitObjectReader:
        """The objects of the repository."""
        return GitObjectReader(self.common / "objects", self._read)

    @classmethod
    def of(cls, project: str) -> "GitFacts":
        """Return the repository that a project is in."""
        here = Path(project)
        for top in (here, *here.parents):
            if os.path.lexists(top / ".git"):
                folder = _git_folder(top / ".git")
                rest = here.relative_to(top).as_posix()
                prefix = "" if rest == "." else rest + "/"
                return cls(folder, _common_folder(folder) if folder else here, top, prefix)
        return cls(None, here, here)

    def has_option_like_refs(self) -> bool:
        """Whether a branch or tag begins with a dash. What can't be read counts as such.

        git makes no such names, but a repository that was cloned may bring them along
        (`--output=/path`).
        """
        if self.folder is None:
            return False
        try:
            loose = (self.common / "refs" / kind for kind in ("heads", "tags"))
            if any(e.name.startswith("-") for one in loose if one.is_dir() for e in one.iterdir()):
                return True
            packed = self.common / "packed-refs"
            return packed.is_file() and _PACKED_DASH.search(file_bytes(packed)) is not None
        except (OSError, UnknownError):
            return True

    def guarded_files(self, where: str) -> Guarded | None:
        """Return the protected files in the index or in a revision; None when unknown."""
        if not self._is_repository():
            return frozenset()
        try:
            self._require_known_format()
            if where == INDEX:
                return frozenset((e.path, _named(e.mode, e.oid)) for e in self._index())
            if where == "HEAD" and self._reference("HEAD") is None:
                return frozenset()  # no commit yet
            return frozenset(self._guarded_in(self._resolve(where)))
        except (OSError, ValueError, IndexError, struct.error, zlib.error, UnknownError):
            return None

    def guarded_unchanged(self) -> bool:
        """Whether the protected files on disk and in HEAD are those of the index."""
        if not self._is_repository():
            return True
        try:
            return self.guarded_files(INDEX) == self.guarded_files("HEAD") and all(
                self._is_clean(entry) for entry in self._index()
            )
        except (OSError, ValueError, IndexError, struct.error, UnknownError):
            return False

    def guarded_stashed(self) -> bool:
        """Whether a stash changes protected files, or holds untracked ones; True when unknown."""
        log = self.common / "logs/refs/stash"
        if not self._is_repository() or not log.is_file():
            return False
        try:
            commits = [line[41:81].decode("ascii") for line in file_bytes(log).splitlines()]
        except (OSError, UnknownError):
            return True
        return any(self._stashes(commit) for commit in commits)

    def _stashes(self, commit: str) -> bool:
        base = self.guarded_files(f"{commit}^1")
        if base is None or any(self.guarded_files(one) != base for one in (commit, f"{commit}^2")):
            return True
        try:
            untracked = self._parent(commit, 3)
        except IndexError:
            return False
        except (OSError, ValueError, struct.error, zlib.error, UnknownError):
            return True
        return self.guarded_files(untracked) != frozenset()

    def _is_repository(self) -> bool:
        return self.folder is not None and (self.folder / "HEAD").exists()

    def _require_known_format(self) -> None:
        config = self.common / "config"
        settings = file_bytes(config) if config.is_file() else b""
        if (self.common / "reftable").exists() or _OTHER_HASH.search(settings):
            raise UnknownError

    def _is_clean(self, entry: _Indexed) -> bool:
        if entry.stage or entry.special or not stat.S_ISREG(entry.mode):
            return False
        path = self.top / self.prefix / entry.path
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != entry.size:
            return False
        content = file_bytes(path)
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == entry.oid  # noqa: S324

    # ------------------------------------------------------------ the index

    def _index(self) -> list[_Indexed]:
        if self.folder is None or not (self.folder / "index").exists():
            return []
        data = file_bytes(self.folder / "index")
        signature, version, count = struct.unpack_from(">4sII", data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            raise UnknownError
        found = []
        position, name = 12, b""
        for _ in range(count):
            name, entry, position = self._entry(data, position, version, name)
            if entry is not None:
                found.append(entry)
        if _has_shared_index(data, position):
            raise UnknownError
        return found

    def _entry(
        self, data: bytes, start: int, version: int, before: bytes
    ) -> tuple[bytes, _Indexed | None, int]:
        flags = struct.unpack_from(">H", data, start + 60)[0]
        extended = bool(flags & 0x4000)
        position = start + (64 if extended else 62)
        special = bool(extended and struct.unpack_from(">H", data, start + 62)[0] & 0x6000)
        special = special or bool(flags & 0x8000)
        if version == 4:
            cut, position = varint(data, position)
            end = data.index(b"\0", position)
            name = before[: len(before) - cut] + data[position:end]
            position = end + 1
        else:
            end = data.index(b"\0", position)
            name = data[position:end]
            position = start + ((end - start) // 8 + 1) * 8
        path = name.decode("utf-8", "surrogateescape").removeprefix(self.prefix)
        if not name.startswith(os.fsencode(self.prefix)) or not _is_guarded(path):
            return name, None, position
        mode, size = (struct.unpack_from(">I", data, start + offset)[0] for offset in (24, 36))
        oid = data[start + 40 : start + 60].hex()
        stage = (flags >> 12) & 3
        return name, _Indexed(path, mode, oid, size, stage, special), position

    # ------------------------------------------------------------ revisions

    def _resolve(self, text: str) -> str:
        """Return the commit or tree that a revision names."""
        if text == "-":
            text = "@{-1}"
        if text == "@{-1}":
            return self._resolve(self._branch_before())
        match = _STEP.fullmatch(text)
        if match is None:
            raise UnknownError
        name, steps = match[1], match[2]
        oid = ""
        for step in _ONE_STEP.finditer(steps):
            if step[3] is not None:
                oid = self._from_log(name or "HEAD", int(step[3]))
                continue
            oid = oid or self._named(name)
            if step[1] is not None:
                for _ in range(int(step[1] or 1)):
                    oid = self._parent(oid, 1)
            elif step[2] is not None:
                oid = self._parent(oid, int(step[2] or 1))
        return oid or self._named(name)

    def _named(self, name: str) -> str:
        if name == "@":
            name = "HEAD"
        if _HASH.fullmatch(name):
            return name
        if (
            not name
            or ".." in name
            or name.startswith(("/", "-"))
            or re.search(r"[\s:?*\[\\]", name)
        ):
            raise UnknownError
        forms = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}")
        for form in (*forms, "refs/remotes/{}/HEAD"):
            oid = self._reference(form.format(name))
            if oid is not None:
                return oid
        if _SHORT.fullmatch(name):
            found = {oid for oid in self.objects.starting_with(name) if oid.startswith(name)}
            if len(found) == 1:
                return found.pop()
        raise UnknownError

    def _reference(self, name: str, depth: int = 0) -> str | None:
        if depth > 5 or self.folder is None:
            raise UnknownError
        per_tree = not name.startswith("refs/")
        path = (self.folder if per_tree else self.common) / name
        if per_tree and not re.fullmatch(r"[A-Z_]+", name):
            return None
        if path.is_file():
            text = file_bytes(path).decode("ascii", "replace").strip()
            if text.startswith("ref:"):
                return self._reference(text[4:].strip(), depth + 1)
            return text if _HASH.fullmatch(text) else None
        packed = self.common / "packed-refs"
        if packed.is_file():
            for line in file_bytes(packed).splitlines():
                if line[41:] == name.encode() and line[40:41] == b" ":
                    return line[:40].decode("ascii")
        return None

    def _from_log(self, name: str, number: int) -> str:
        path = self.common / "logs"
        forms = [self.folder / "logs/HEAD"] if name in ("HEAD", "@") and self.folder else []
        for one in (*forms, path / "refs" / name, path / "refs/heads" / name):
            if one.is_file():
                oid = file_bytes(one).splitlines()[-1 - number][41:81].decode("ascii")
                if _HASH.fullmatch(oid):
                    return oid
        raise UnknownError

    def _branch_before(self) -> str:
        if self.folder is None:
            raise UnknownError
        for line in reversed(file_bytes(self.folder / "logs/HEAD").splitlines()):
            match = _MOVED.search(line)
            if match:
                return match[1].decode("utf-8", "surrogateescape")
        raise UnknownError

    def _parent(self, oid: str, number: int) -> str:
        kind, content = self._peeled(oid)
        if kind != "commit":
            raise UnknownError
        if number == 0:
            return oid
        header = content.partition(b"\n\n")[0]
        parents = [line[7:47] for line in header.splitlines() if line.startswith(b"parent ")]
        return parents[number - 1].decode("ascii")

    def _peeled(self, oid: str) -> tuple[str, bytes]:
        """The object, with annotated tags followed."""
        for _ in range(5):
            kind, content = self.objects.read(oid)
            if kind != "tag":
                return kind, content
            oid = content[7:47].decode("ascii")
        raise UnknownError

    # ------------------------------------------------------------ trees

    def _guarded_in(self, oid: str) -> Iterator[tuple[str, str]]:
        kind, content = self._peeled(oid)
        if kind == "commit":
            kind, content = self.objects.read(content[5:45].decode("ascii"))
        for part in self.prefix.split("/")[:-1]:
            named = {name: (mode, one) for mode, name, one in entries(content)}
            if part not in named or named[part][0] != TREE:
                return
            kind, content = self.objects.read(named[part][1])
        yield from self._guarded_below(content)

    def _guarded_below(self, content: bytes) -> Iterator[tuple[str, str]]:
        """The protected names at the top of the project, with all that is below them."""
        seen = 0
        pending = [(name, mode, oid) for mode, name, oid in entries(content) if _is_guarded(name)]
        while pending:
            path, mode, oid = pending.pop()
            seen += 1
            if seen > _MAX_FILES or path.count("/") > _MAX_DEPTH:
                raise UnknownError
            if mode != TREE:
                yield path, _named(mode, oid)
                continue
            pending += [(f"{path}/{n}", m, o) for m, n, o in entries(self.objects.read(oid)[1])]


def _named(mode: int, oid: str) -> str:
    return oid if mode in (0o100644, 0o100755) else f"{mode:o} {oid}"


def _is_guarded(path: str) -> bool:
    return folded(path.partition("/")[0]) in GUARDED


def _has_shared_index(data: bytes, position: int) -> bool:
    """Whether entries are in another file (split index), or folders stand for their files."""
    while position + 28 <= len(data):
        name, size = struct.unpack_from(">4sI", data, position)
        if name in (b"link", b"sdir"):
            return True
        position += 8 + size
    return False


def _git_folder(git: Path) -> Path | None:
    """The repository's folder, also where `.git` is a file (work tree, submodule)."""
    if git.is_file():
        text = git.read_text(encoding="utf-8", errors="surrogateescape")
        git = git.parent / text.removeprefix("gitdir:").strip()
    return git


def _common_folder(folder: Path) -> Path:
    common = folder / "commondir"
    if common.is_file():
        return folder / common.read_text(encoding="utf-8", errors="surrogateescape").strip()
    return folder
