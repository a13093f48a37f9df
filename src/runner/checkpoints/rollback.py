"""Bring a work tree back to what a checkpoint holds, and lose nothing that is there now.

Everything that would be changed is kept first, as a stash. The repository stays as it is; git itself writes the files, so that no link leads it out of
the project and nothing that git does not know is overwritten.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from runner.checkpoints.checkpoints import repository_of, with_commit
from runner.checkpoints.isolated_git import GitError, ShadowGit, shadow_git
from runner.checkpoints.ledger import OWN, STASH, STEP, Checkpoint, CheckpointLedger
from runner.checkpoints.old_objects import take_over
from runner.checkpoints.repository import find_repository, folder_alone
from runner.checkpoints.sealing import DamageError, differing, ids_of, require_intact, sealed
from runner.checkpoints.snapshot import MAX_FILE_BYTES, names, take_snapshot
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.workspace import status_path
from runner.errors import PrerequisiteError, UsageError
from runner.files import locked, walk_folders

_LETTERS = {"A": "created", "D": "deleted", "M": "changed", "T": "changed"}
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Changes:
    """What a rollback does to the project's files, relative paths in order.

    Attributes:
        kept: large files that the checkpoint does not hold; they are left alone.
    """

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.created) + len(self.changed) + len(self.deleted)


def restorable(project_dir: Path) -> tuple[Checkpoint, ...]:
    """Return what can be gone back to, oldest first: steps and stashes."""
    return tuple(e for e in CheckpointLedger(project_dir).entries() if e.kind in (STEP, STASH))


def find_checkpoint(project_dir: Path, name: str) -> Checkpoint:
    """Return the checkpoint with this name, or whose name alone begins so.

    Raises:
        UsageError: there is none, or more than one.
    """
    entries = restorable(project_dir)
    found = [e for e in entries if e.name == name] or [
        e for e in entries if e.name.startswith(name)
    ]
    if not name or not found:
        raise UsageError(
            f"There is no checkpoint {name[:80]!r}.", hint="`runner rollback --list` shows them."
        )
    if len({e.name for e in found}) > 1:
        some = ", ".join(e.name for e in found[:_NAMED])
        raise UsageError(
            f"More than one checkpoint begins with {name[:80]!r}: {some}.",
            hint="Give more of its name.",
        )
    return found[-1]


class Rollback:
    """A rollback that was prepared; nothing is changed yet.

    Attributes:
        target: what is gone back to.
        changes: what `apply` is going to do.
        stash: what holds the work tree as it was; its commit is there once `keep_now` was called.
    """

    def __init__(
        self, git: ShadowGit, ledger: CheckpointLedger, target: Checkpoint, stash: Checkpoint
    ) -> None:
        self._git = git
        self._ledger = ledger
        self.target = target
        self.stash = stash
        self.changes = _load(git, target, stash)
        _require_intact(git, target, stash)
        try:
            _merge(git, target, dry=True)
        except GitError as error:
            raise _in_the_way(target, error.message.rstrip(".")) from error

    def keep_now(self) -> None:
        """Keep what is there now, under the stash's name.

        Raises:
            GitError: git could not do it.
            StateWriteError: the ledger could not be written.
        """
        git, ledger = self._git, self._ledger
        with git.store.lock():
            self.stash = sealed(
                git,
                lambda: with_commit(git, self.stash),
                lambda stash: (*stash.heads, self.target.tree),
                ledger.heads,
            )
            ledger.add(self.stash)

    def apply(self) -> None:
        """Change the files, those that are still as they were when this was prepared.

        Raises:
            GitError: one of them was changed meanwhile; then none is.
            LockTimeoutError: another process is writing `status.json`.
            StateWriteError: the files are back; which SPEC.md they belong to can't be noted.
        """
        project = self._git.repository.project
        with locked(StatusRepository(status_path(project)).lock_path):
            _merge(self._git, self.target, dry=False)
            if self.target.spec is not None:
                # The plan is the old one again; a sync since then has noted a later text.
                SpecText(project).note(self.target.spec)


@contextmanager
def prepared(project_dir: Path, target: Checkpoint, at: datetime) -> Iterator[Rollback]:
    """Find out what going back would do. The caller holds the run lock.

    Raises:
        GitError: git could not do it.
        PrerequisiteError: the checkpoint's content is gone, or something stands in the way.
        StateWriteError: there is no place for the ledger.
    """
    own = target.store == OWN
    repository = find_repository(project_dir) if own else repository_of(project_dir)
    ledger = CheckpointLedger(project_dir)
    ledger.prepare()
    with shadow_git(repository or folder_alone(project_dir)) as git:
        with git.store.lock():
            target = _found(git, target)
            stash = _stash(git, ledger, target, at)
        yield Rollback(git, ledger, target, stash)


def _found(git: ShadowGit, target: Checkpoint) -> Checkpoint:
    """Return the checkpoint with a tree that is in the store."""
    try:
        tree = target.tree if target.store == OWN else take_over(git, target.tree)
        git.run("cat-file", "-e", f"{tree}^{{tree}}")
        git.run("rev-list", "--objects", "--quiet", tree)
    except (GitError, DamageError) as error:
        raise _gone(target) from error
    return replace(target, tree=tree)


def _require_intact(git: ShadowGit, target: Checkpoint, stash: Checkpoint) -> None:
    pairs = differing(git, stash.tree, target.tree)
    try:
        require_intact(git, {stash.tree, target.tree, *ids_of(pairs)})
    except DamageError as error:
        raise _gone(target) from error


def _gone(target: Checkpoint) -> PrerequisiteError:
    return PrerequisiteError(
        f"What {target.name} held is damaged, or no longer there.",
        hint="Nothing was changed. Choose another: `runner rollback --list`.",
    )


def _stash(
    git: ShadowGit, ledger: CheckpointLedger, target: Checkpoint, at: datetime
) -> Checkpoint:
    """Take everything that a rollback could touch: also what is ignored now or very large."""
    wanted = names(git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", target.tree))
    project = git.repository.project
    also = wanted | _instead_of_folders(project, wanted)
    for path in wanted:
        also |= _instead_of_file(project, path, target)
    snapshot = take_snapshot(git, ledger.index, max_file_bytes=None, also=also)
    lost = [path for path in snapshot.left_out if os.fsencode(path) in also]
    if lost:
        raise _in_the_way(target, f"{lost[0]} can't be read, so it can't be kept")
    name = _free_name(ledger, at)
    return Checkpoint(
        kind=STASH,
        name=name,
        scope=STASH,
        commit="",
        tree=snapshot.tree,
        ref="",
        at=at.isoformat(timespec="seconds"),
        summary=f"before going back to {target.name}",
        nested=snapshot.nested,
        left_out=snapshot.left_out,
        spec=SpecText(project).noted,
        store=OWN,
    )


def _free_name(ledger: CheckpointLedger, at: datetime) -> str:
    stamp = f"{STASH}-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    taken = {entry.name for entry in ledger.entries()}
    later = (f"{stamp}-{number}" for number in count(2))
    return next(name for name in chain((stamp,), later) if name not in taken)


def _instead_of_folders(project: Path, paths: set[bytes]) -> set[bytes]:
    """Return what stands now where the paths have a folder, and is none."""
    folders: set[bytes] = set()
    for path in paths:
        parent = os.path.dirname(path)  # noqa: PTH120 - bytes
        while parent and parent not in folders:
            folders.add(parent)
            parent = os.path.dirname(parent)  # noqa: PTH120 - bytes
    there = {folder: project / os.fsdecode(folder) for folder in folders}
    return {folder for folder, path in there.items() if path.is_symlink() or path.is_file()}


def _instead_of_file(project: Path, path: bytes, target: Checkpoint) -> set[bytes]:
    """Return all files in the folder that stands now where the checkpoint has a file.

    Git takes the ignored ones among them for expendable.
    """
    top = project / os.fsdecode(path)
    if top.is_symlink() or not top.is_dir():
        return set()
    found = set()
    for folder, folders, files in walk_folders(top):
        if ".git" in (*folders, *files):
            raise _in_the_way(target, f"{folder} is a repository of its own")
        found |= {os.fsencode(Path(folder, name).relative_to(project)) for name in files}
    return found


def _in_the_way(target: Checkpoint, what: str) -> PrerequisiteError:
    return PrerequisiteError(
        f"Something stands in the way of {target.name}: {what}.",
        hint="Nothing was changed. Move it away, then try again.",
    )


def _load(git: ShadowGit, target: Checkpoint, stash: Checkpoint) -> Changes:
    """Give git an index of what is there now, without what shall be left alone."""
    index = _index(git)
    git.run("read-tree", stash.tree, index=index)
    git.run("update-index", "-q", "--refresh", index=index)
    found = _difference(git, stash.tree, target.tree)
    kept = {path for path in found["deleted"] if _is_large(git.repository.project, path)}
    if kept:
        lines = b"".join(path + b"\0" for path in sorted(kept))
        git.run("update-index", "-z", "--force-remove", "--stdin", index=index, stdin=lines)
    return Changes(
        created=_texts(found["created"]),
        changed=_texts(found["changed"]),
        deleted=_texts(found["deleted"] - kept),
        kept=_texts(kept),
    )


def _merge(git: ShadowGit, target: Checkpoint, *, dry: bool) -> None:
    index = _index(git)
    now = git.run("write-tree", index=index).decode().strip()
    words = ("read-tree", "-m", "-u", *(("-n",) if dry else ()), now, target.tree)
    git.run(*words, index=index)


def _difference(git: ShadowGit, old: str, new: str) -> dict[str, set[bytes]]:
    words = ("diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new)
    parts = git.run(*words).split(b"\0")
    found: dict[str, set[bytes]] = {"created": set(), "changed": set(), "deleted": set()}
    for letter, path in zip(parts[::2], parts[1::2], strict=False):
        found[_LETTERS[letter.decode()]].add(path)
    return found


def _is_large(project: Path, path: bytes) -> bool:
    try:
        return (project / os.fsdecode(path)).lstat().st_size > MAX_FILE_BYTES
    except OSError:
        return False


def _index(git: ShadowGit) -> Path:
    return git.folder / "index"


def _texts(paths: set[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in sorted(paths))
