"""Where the runner keeps its git objects: a repository of its own that agents can't write.

It is below `.runner/autonomy`, which is read-only in the sandbox. An object in a pack is durable:
the ledger names nothing else. A loose object is not durable yet, and can be removed at any time
while the store is locked.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import StateWriteError
from runner.files import locked, read_regular, write_atomic, write_error

CHECKPOINTS = ("autonomy", "checkpoints")
"""Where the ledger and the store are, below `.runner`."""

FORMATS = ("sha256", "sha1")
"""Object formats, the preferred one first; git before 2.29 knows only the last."""

INDEX = "tree-index"
"""The git index of the snapshots, beside the store."""

_NAME = "store.git"
_FOLDERS = ("objects", "objects/pack", "objects/info", "refs")
_FORMAT = re.compile(r"^\s*objectformat\s*=\s*(\w+)\s*$", re.MULTILINE | re.IGNORECASE)
_LOOSE = re.compile(r"[0-9a-f]{2}")
_LOCK_SECONDS = 300.0
_SMALL = 64 * 1024


class ObjectStore:
    """The object store of one project.

    Attributes:
        folder: a bare git repository, which people can look into with `git --git-dir`.
    """

    def __init__(self, project_dir: Path) -> None:
        self._project = project_dir
        self.folder = project_dir.joinpath(STATE_DIRECTORY, *CHECKPOINTS, _NAME)

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def object_format(self) -> str | None:
        """The format of the objects; None while there is no store."""
        try:
            text = read_regular(self.folder / "config", limit=_SMALL).decode("ascii")
        except (OSError, ValueError):
            return None
        found = _FORMAT.search(text)
        return found[1] if found else "sha1"

    def prepare(self, object_format: str) -> None:
        """Make the store where it is missing.

        Args:
            object_format: for a store that is new.

        Raises:
            StateWriteError: it can't be made, or a symbolic link leads out of it.
        """
        state = ensure_state_directory(self._project)
        if not self.folder.parent.resolve().is_relative_to(state.resolve()):
            raise _leads_out(self.folder.parent)
        for folder in self._folders():
            if folder.is_symlink():
                raise _leads_out(folder)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise write_error(folder, error) from error
        self._require_no_links()
        ignored = self.folder.parent / ".gitignore"
        if not ignored.exists():  # the user's own rules for `.runner` may forget it
            write_atomic(ignored, "*\n")
        if self.object_format is None:
            write_atomic(self.folder / "HEAD", "ref: refs/heads/none\n")
            write_atomic(self.folder / "config", _config(object_format))

    def lock(self) -> AbstractContextManager[None]:
        """Return what keeps other processes from writing objects."""
        return locked(self.folder / "runner.lock", timeout=_LOCK_SECONDS)

    def packs(self) -> list[Path]:
        """Return the complete packs."""
        folder = self.objects / "pack"
        return sorted(path for path in folder.glob("*.pack") if path.with_suffix(".idx").exists())

    def drop_loose(self) -> None:
        """Remove every object that is not in a pack. The caller holds the lock."""
        for folder in self._loose_folders():
            shutil.rmtree(folder, ignore_errors=True)
        for left in (self.objects / "pack").glob("tmp_*"):
            with suppress(OSError):
                left.unlink()

    def reset(self) -> None:
        """Remove what a crash may have torn: loose objects, and the indexes that count on them.

        The caller holds the lock. The next snapshot reads all files again.
        """
        self.drop_loose()
        for path in self.folder.parent.glob(f"*{INDEX}*"):
            with suppress(OSError):
                path.unlink()

    def drop_pack(self, pack: Path) -> None:
        """Remove a pack. The caller holds the lock and knows that its objects are elsewhere."""
        for path in (pack.with_suffix(".idx"), *pack.parent.glob(f"{pack.stem}.*")):
            path.unlink(missing_ok=True)

    def _folders(self) -> Iterator[Path]:
        yield self.folder
        for name in _FOLDERS:
            yield self.folder / name

    def _loose_folders(self) -> Iterator[Path]:
        with os.scandir(self.objects) as entries:
            for entry in entries:
                if _LOOSE.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield Path(entry.path)

    def _require_no_links(self) -> None:
        for folder in self._folders():
            with os.scandir(folder) as entries:
                for entry in entries:
                    if stat.S_ISLNK(entry.stat(follow_symlinks=False).st_mode):
                        raise _leads_out(Path(entry.path))


def _config(object_format: str) -> str:
    """Return a configuration with which no git command throws objects away."""
    named = "" if object_format == "sha1" else f"\tobjectFormat = {object_format}\n"
    return (
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
        f"[extensions]\n\tpreciousObjects = true\n{named}[gc]\n\tauto = 0\n"
    )


def _leads_out(path: Path) -> StateWriteError:
    return StateWriteError(
        f"{path} leads out of the project.", hint="Replace the symbolic link by a folder."
    )
