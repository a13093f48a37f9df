"""What changed in a project since a phase began."""

import os
import posixpath
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from runner.checkpoints.checkpoints import with_commit
from runner.checkpoints.evidence import take_evidence
from runner.checkpoints.isolated_git import ShadowGit, shadow_git
from runner.checkpoints.ledger import OWN, PHASE, REVIEWED, Checkpoint, CheckpointLedger
from runner.checkpoints.old_objects import take_over
from runner.checkpoints.references import moved
from runner.checkpoints.repository import Repository, find_repository, folder_alone
from runner.checkpoints.sealing import Pair, differing, ids_of, objects, read_blob, sealed
from runner.checkpoints.snapshot import ALWAYS, names
from runner.checkpoints.unversioned import Differences, Manifest, compare
from runner.errors import RunnerError, StateError
from runner.text.messages import reason

_MAX_LINES = 20_000
_MAX_LINKS = 8
_LINK_MODE = b"120000"
_MAX_BEFORE_FILES = 5000
_MAX_BEFORE_BYTES = 256 * 1024 * 1024
_FILE_MODES = frozenset({b"100644", b"100755", b"120000"})
_PATCH = ("diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that is not what it was.

    Attributes:
        path: where it is now, or was, relative to the project.
        old_path: where it was, when it was moved.
        added: lines; None for a binary file, as is `removed`.
    """

    path: str
    old_path: str
    added: int | None
    removed: int | None

    @property
    def is_binary(self) -> bool:
        return self.added is None

    @property
    def is_large(self) -> bool:
        """Whether its lines are too many to be shown."""
        return (self.added or 0) + (self.removed or 0) > _MAX_LINES


class NoComparisonError(StateError):
    """A phase can't be compared with its beginning: what was kept is damaged, or git failed."""


class PhaseDiff:
    """The difference between the beginning of a phase and now.

    Attributes:
        base: the beginning.
        now: the project as it is.
        files: what differs: what lost lines first, then the rest, each in the order of paths.
        early: paths that differed already when the phase was entered.
        beside: what differs of the files that no tree holds; None where the beginning knows
            nothing of them.
        has_all_before: whether all files as they were are in `before`, not only the first ones.
        references: a line for each reference of git that is not what it was.
    """

    def __init__(self, repository: Repository, base: Checkpoint, ledger: CheckpointLedger) -> None:
        """Compare, and note in the ledger what the review sees.

        Raises:
            NoComparisonError: it could not be done.
        """
        self.base = base
        self._repository = repository
        self._ledger = ledger
        try:
            ledger.prepare()
            with shadow_git(repository) as git, git.store.lock():
                self._compare(git)
        except (RunnerError, OSError, ValueError) as error:
            raise NoComparisonError(
                f"What changed in the phase {base.name!r} can't be found out: {reason(error)}.",
                hint="Find out who changed what is in .runner/autonomy/checkpoints. "
                "`runner rollback`, or a new session, gives the phase a new beginning.",
            ) from error

    @property
    def before(self) -> str:
        """The folder with files as they were, relative to the project."""
        return self._ledger.before.relative_to(self._ledger.project).as_posix()

    def _compare(self, git: ShadowGit) -> None:
        base = self.base
        self._old = base.tree if base.store == OWN else take_over(git, base.tree)
        held = names(git.run("ls-tree", "-r", "-z", "--name-only", self._old))
        before = Manifest.decode(read_blob(git, base.manifest)) if base.manifest else None

        def take() -> Checkpoint:
            self.now = take_evidence(git, self._ledger, also=held)
            return with_commit(git, self._reviewed())

        seen = sealed(git, take, lambda made: (*made.heads, self._old), self._ledger.heads)
        self._new = seen.tree
        self._check(git)
        # What lost lines comes first: new files must not push it out of what is shown.
        changed = _changed(git, self._old, self._new)
        self.files = tuple(sorted(changed, key=lambda file: file.removed == 0))
        self.early = self._early(git)
        self.beside = self._beside(before)
        self.references = () if self.beside is None else moved(before, self.beside)
        self._ledger.add(seen)

    def _check(self, git: ShadowGit) -> None:
        """Check all objects that are compared, and put files as they were where they can be read."""
        pairs = differing(git, self._old, self._new)
        entered = self.base.entered
        early = differing(git, self._old, entered) if entered else []
        wanted = {self._old, self._new, *ids_of(pairs), *ids_of(early)}
        self.has_all_before = write_before(self._ledger.before, pairs, objects(git, wanted))

    def _beside(self, before: Manifest | None) -> Differences | None:
        if before is None or self.now.manifest is None:
            return None
        return compare(before, self.now.manifest, self.now.snapshot.paths)

    def _early(self, git: ShadowGit) -> frozenset[str]:
        """Return what was changed between the beginning and the first step of the phase."""
        if not self.base.entered:
            return frozenset()
        found = names(git.run("diff-tree", "-r", "-z", "--name-only", self._old, self.base.entered))
        return frozenset(os.fsdecode(name) for name in found - set(ALWAYS))

    def _reviewed(self) -> Checkpoint:
        now = self.now.snapshot
        return replace(
            self.base,
            kind=REVIEWED,
            tree=now.tree,
            ref="",
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            summary=f"{self.base.name} is reviewed",
            nested=now.nested,
            left_out=now.left_out,
            store=OWN,
            manifest=self.now.manifest_id,
            since="",
            entered="",
        )

    def patches(self, files: tuple[ChangedFile, ...]) -> Iterator[tuple[ChangedFile, str]]:
        """Yield the patch of each file; an empty one where it can't be shown. Raises GitError."""
        with shadow_git(self._repository) as git:
            for file in files:
                yield file, "" if file.is_binary or file.is_large else self._patch(git, file)

    def _patch(self, git: ShadowGit, file: ChangedFile) -> str:
        paths = dict.fromkeys((file.old_path, file.path))
        found = git.run(*_PATCH, self._old, self._new, "--", *paths)
        return found.decode("utf-8", errors="replace")


def write_before(
    folder: Path, pairs: Iterable[Pair], contents: Iterable[tuple[str, bytes]]
) -> bool:
    """Write changed and deleted files as they were, the first ones up to a limit.

    Args:
        folder: what is in it is removed first.
        contents: id and content of objects; all of them are consumed.

    Returns:
        Whether all of them were written.

    Raises:
        OSError: it could not be written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wanted: dict[str, list[bytes]] = {}
    files = [pair for pair in pairs if pair.old_mode in _FILE_MODES]
    for pair in files[:_MAX_BEFORE_FILES]:
        wanted.setdefault(pair.old, []).append(pair.path)
    room = _MAX_BEFORE_BYTES
    for name, content in contents:
        for path in wanted.get(name, ()):
            room -= len(content)
            if room >= 0:
                target = folder / os.fsdecode(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    return room >= 0 and len(files) <= _MAX_BEFORE_FILES


def phase_base(project_dir: Path, scope: str, phase_id: str) -> Checkpoint | None:
    """Return what was kept when a phase began, None when nothing was."""
    return CheckpointLedger(project_dir).find(PHASE, scope, phase_id)


def content_before(project_dir: Path, base: Checkpoint, path: str) -> bytes | None:
    """Return a file's content at a phase's beginning, None when there was none.

    A symbolic link is followed inside the project.

    Args:
        path: relative to the project, with slashes.

    Raises:
        GitError: git failed.
        DamageError: what was kept is damaged.
    """
    repository = find_repository(project_dir) or folder_alone(project_dir)
    with shadow_git(repository) as git, git.store.lock():
        tree = base.tree if base.store == OWN else take_over(git, base.tree)
        for _ in range(_MAX_LINKS):
            listed = git.run("ls-tree", "-z", "--full-tree", tree, "--", path)
            if not listed:
                return None
            mode, kind, blob = listed.split(b"\t", 1)[0].split()
            if kind != b"blob":
                return None
            content = read_blob(git, blob.decode())
            if mode != _LINK_MODE:
                return content
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), os.fsdecode(content)))
            if path.startswith(("/", "..")):
                return None
    return None


def first_base(project_dir: Path, scope: str) -> Checkpoint | None:
    """Return what was kept when the first phase of a session began, None when nothing was."""
    entries = CheckpointLedger(project_dir).entries()
    return next((e for e in entries if (e.kind, e.scope) == (PHASE, scope)), None)


def removed_lines(patch: str) -> list[str]:
    """Return the lines that a patch takes out."""
    return [line[1:] for line in _body(patch) if line.startswith("-")]


def added_lines(patch: str) -> list[str]:
    """Return the lines that a patch puts in."""
    return [line[1:] for line in _body(patch) if line.startswith("+")]


def _body(patch: str) -> Iterator[str]:
    """Yield the lines of a patch's hunks: before the first one, and between files, is no content."""
    in_hunk = False
    for line in patch.split("\n"):
        if line.startswith("@@"):
            in_hunk = True
        elif line.startswith("diff --git "):
            in_hunk = False
        elif in_hunk:
            yield line


def _changed(git: ShadowGit, old: str, new: str) -> Iterator[ChangedFile]:
    parts = iter(git.run("diff-tree", "-r", "-z", "-M", "--numstat", old, new).split(b"\0"))
    for part in parts:
        if not part:
            continue
        added, removed, path = part.split(b"\t", 2)
        old_path = path
        if not path:
            old_path, path = next(parts), next(parts)
        yield ChangedFile(
            os.fsdecode(path), os.fsdecode(old_path), _number(added), _number(removed)
        )


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)
