"""Keep the work tree of every completed step in the runner's own object store.

The project's repository stays as it is; see `shadow_git` for why nothing of its configuration is
obeyed.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from runner.checkpoints.evidence import TreeEvidence, take_evidence
from runner.checkpoints.isolated_git import GitError, ShadowGit, shadow_git
from runner.checkpoints.ledger import (
    OWN,
    PHASE,
    PLANNING,
    REVIEWED,
    STEP,
    Checkpoint,
    CheckpointLedger,
)
from runner.checkpoints.repository import Repository, find_repository, folder_alone
from runner.checkpoints.sealing import sealed
from runner.checkpoints.snapshot import ALWAYS, names, take_snapshot
from runner.deliverables.spec_text import SpecText
from runner.errors import RunnerError
from runner.text.messages import reason
from runner.text.safe import inert, visible

_MAX_SUMMARY = 200
_MAX_TOUCHED = 50
_MAX_NAME = 200
_NO_REPOSITORY = (
    "There is no git repository here that can be used: steps are not kept, `runner rollback` "
    "has nothing to go back to, and reviews see no diff. `git init` gives one."
)

_LOST_REPOSITORY = (
    "The git repository that was here when the session began is gone. Steps are kept all the same. "
    "If it was not you, stop the run, look at what is left of `.git`, and bring it back from a "
    "clone or a backup."
)
_NOT_KEPT = {
    STEP: "This step could not be kept for `runner rollback`",
    PHASE: "What this phase begins with could not be kept, so its review will have no diff",
    PLANNING: "The project could not be kept before planning, so no review will show what planning "
    "changes",
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class GitCheckpoints:
    """Keeps the work tree of every completed step. Implements `Checkpoints`.

    Args:
        project_dir: absolute.
        scope: what step and phase ids are unique in: the autonomous session's id.
        warn: is told, in a sentence, why something could not be kept; each cause once.
        clock: returns the time, timezone-aware.
    """

    def __init__(
        self,
        project_dir: Path,
        scope: str,
        *,
        warn: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._project = project_dir
        self._scope = scope
        self._warn = warn
        self._clock = clock
        self._ledger = CheckpointLedger(project_dir)
        self._warned: set[str] = set()

    def record(self, step_id: str, phase_id: str | None, summary: str) -> None:
        """See `Checkpoints.record`. A later call for the same step replaces the earlier one."""
        self._keep(STEP, step_id, phase_id, summary)

    def planning_started(self) -> None:
        """See `Checkpoints.planning_started`."""
        if _unused_planning(self._ledger.entries()) is None:
            self._keep(PLANNING, PLANNING, None, "before planning")

    def phase_started(self, phase_id: str) -> None:
        """See `Checkpoints.phase_started`."""
        if self._ledger.find(PHASE, self._scope, phase_id) is None:
            self._keep(PHASE, phase_id, phase_id, f"{phase_id} begins")

    def touched(self) -> tuple[str, ...]:
        """See `Checkpoints.touched`; neither the note nor anything in `.runner` is named."""
        try:
            return self._touched()
        except (RunnerError, OSError, ValueError) as error:
            self._warn_once(f"Which files were changed can't be told: {reason(error)}.")
            return ()

    def _touched(self) -> tuple[str, ...]:
        base = self._last_kept()
        if base is None or base.store != OWN:
            return ()
        self._ledger.prepare()
        with shadow_git(self._repository() or folder_alone(self._project)) as git, git.store.lock():
            now = take_snapshot(git, self._ledger.index)
            words = ("diff-tree", "-r", "-z", "--name-only", base.entered or base.tree, now.tree)
            changed = sorted(names(git.run(*words)) - set(ALWAYS))
        inside = tuple(f"{folder}/" for folder in {*base.nested, *now.nested})
        named = (os.fsdecode(name) for name in changed)
        shown = [name for name in named if not name.startswith(inside)][:_MAX_TOUCHED]
        return tuple(visible(name, "")[:_MAX_NAME] for name in shown)

    def _last_kept(self) -> Checkpoint | None:
        ours = [e for e in self._ledger.entries() if e.scope == self._scope]
        return ours[-1] if ours else None

    def _repository(self) -> Repository | None:
        return find_repository(self._project)

    def _keep(self, kind: str, name: str, phase_id: str | None, summary: str) -> None:
        try:
            repository = self._repository()
            if repository is None:
                if kind == PLANNING:
                    return  # the first phase warns
                had = self._last_kept() is not None
                self._warn_once(_LOST_REPOSITORY if had else _NO_REPOSITORY)
                if not had:
                    return
            with shadow_git(repository or folder_alone(self._project)) as git:
                keep(
                    git,
                    self._ledger,
                    kind=kind,
                    name=name,
                    scope=PLANNING if kind == PLANNING else self._scope,
                    phase_id=phase_id,
                    summary=summary,
                    at=self._clock(),
                )
        except (RunnerError, OSError, ValueError) as error:
            self._warn_once(f"{_NOT_KEPT[kind]}: {reason(error)}.")

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


def keep(
    git: ShadowGit,
    ledger: CheckpointLedger,
    *,
    kind: str,
    name: str,
    scope: str,
    at: datetime,
    phase_id: str | None = None,
    summary: str = "",
) -> Checkpoint:
    """Keep the project as it is now.

    What a phase begins with is what nobody has reviewed anything after: the tree before planning,
    or that of the last review.

    Raises:
        GitError: git could not do it.
        StateWriteError: the ledger could not be written.
    """
    ledger.prepare()
    origin = _origin(ledger.entries(), scope) if kind == PHASE else None
    compares = kind in (PHASE, PLANNING) and origin is None

    def make() -> Checkpoint:
        taken = take_evidence(git, ledger) if compares else _tree_alone(git, ledger)
        made = Checkpoint(
            kind=kind,
            name=name,
            scope=scope,
            commit="",
            tree=taken.snapshot.tree,
            ref="",
            at=at.isoformat(timespec="seconds"),
            phase_id=phase_id,
            summary=inert(summary, _MAX_SUMMARY),
            nested=taken.snapshot.nested,
            left_out=taken.snapshot.left_out,
            spec=SpecText(git.repository.project).noted,
            store=OWN,
            manifest=taken.manifest_id,
        )
        return with_commit(git, made if origin is None else _from_origin(made, origin))

    with git.store.lock():
        made = sealed(git, make, lambda checkpoint: checkpoint.heads, ledger.heads)
        ledger.add(made)
    return made


def with_commit(git: ShadowGit, checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint with a commit of its tree, for people to look at. Raises GitError."""
    name = inert(checkpoint.name)
    message = f"runner: {checkpoint.summary or name}\n\n{checkpoint.kind}: {name}\n".encode()
    stamp = f"{int(datetime.fromisoformat(checkpoint.at).timestamp())} +0000"
    made = git.run("commit-tree", checkpoint.tree, stdin=message, stamp=stamp)
    return replace(checkpoint, commit=made.decode().strip())


def repository_of(project_dir: Path) -> Repository:
    """Return the project's repository. Raises GitError when there is none."""
    found = find_repository(project_dir)
    if found is None:
        raise GitError(f"{project_dir} is in no git repository.")
    return found


def _tree_alone(git: ShadowGit, ledger: CheckpointLedger) -> TreeEvidence:
    return TreeEvidence(take_snapshot(git, ledger.index))


def _from_origin(now: Checkpoint, origin: Checkpoint) -> Checkpoint:
    """Return the beginning of a phase that is compared with an earlier moment."""
    return replace(
        now,
        tree=origin.tree,
        at=origin.at,
        nested=origin.nested,
        left_out=origin.left_out,
        manifest=origin.manifest,
        since=origin.kind,
        entered=now.tree,
    )


def _origin(entries: tuple[Checkpoint, ...], scope: str) -> Checkpoint | None:
    """Return the last moment before which all has been reviewed, None for now."""
    ours = [e for e in entries if e.scope == scope and e.store == OWN]
    reviewed = [e for e in ours if e.kind == REVIEWED]
    if reviewed:
        return reviewed[-1]
    begun = [e for e in ours if e.kind == PHASE]
    if begun:  # phases without a review
        return replace(begun[0], kind=begun[0].since or PHASE)
    return _unused_planning(entries)


def _unused_planning(entries: tuple[Checkpoint, ...]) -> Checkpoint | None:
    """Return what was kept before a planning whose first phase has not begun yet."""
    marks = [e for e in entries if e.kind in (PLANNING, PHASE)]
    return marks[-1] if marks and marks[-1].kind == PLANNING else None
