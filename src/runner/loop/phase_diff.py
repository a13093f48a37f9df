"""What changed in a project since a phase began."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.loop.ledger import PHASE, Checkpoint, Ledger
from runner.loop.repository import Repository
from runner.loop.shadow_git import ShadowGit, shadow_git
from runner.loop.snapshot import Snapshot, take_snapshot

_MAX_LINES = 20_000
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


class PhaseDiff:
    """The difference between the beginning of a phase and now.

    Attributes:
        base: the beginning.
        now: the work tree as it is.
        files: what differs, in the order of paths.
    """

    def __init__(self, repository: Repository, base: Checkpoint, ledger: Ledger) -> None:
        """Compare. Raises GitError, also when the beginning's objects are gone."""
        self.base = base
        self._repository = repository
        with shadow_git(repository) as git:
            ledger.prepare()
            self.now: Snapshot = take_snapshot(git, ledger.index)
            self.files = tuple(_changed(git, base.tree, self.now.tree))

    def patches(self, files: tuple[ChangedFile, ...]) -> Iterator[tuple[ChangedFile, str]]:
        """Yield the patch of each file; an empty one where it can't be shown. Raises GitError."""
        # Paths are the project's own, also where that is a folder of the repository.
        with shadow_git(self._repository, work_tree=self._repository.project) as git:
            for file in files:
                yield file, "" if file.is_binary or file.is_large else self._patch(git, file)

    def _patch(self, git: ShadowGit, file: ChangedFile) -> str:
        paths = dict.fromkeys((file.old_path, file.path))
        found = git.run(*_PATCH, self.base.tree, self.now.tree, "--", *paths)
        return found.decode("utf-8", errors="replace")


def phase_base(project_dir: Path, scope: str, phase_id: str) -> Checkpoint | None:
    """Return what was kept when a phase began, None when nothing was."""
    return Ledger(project_dir).find(PHASE, scope, phase_id)


def first_base(project_dir: Path, scope: str) -> Checkpoint | None:
    """Return what was kept when the first phase of a session began, None when nothing was."""
    entries = Ledger(project_dir).entries()
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
