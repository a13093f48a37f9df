"""Keep the work tree of every completed step as a commit under `refs/runner/`.

Branch, index, HEAD and work tree stay as they are; see `shadow_git` for why nothing of the
repository's configuration is obeyed.
"""

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import RunnerError
from runner.loop.drift import SpecText
from runner.loop.ledger import PHASE, STEP, Checkpoint, Ledger
from runner.loop.repository import Repository, find_repository
from runner.loop.shadow_git import GitError, ShadowGit, shadow_git
from runner.loop.snapshot import ALWAYS, names, take_snapshot
from runner.text.safe import inert, visible
from runner.wording import reason

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_MAX_SUMMARY = 200
_MAX_TOUCHED = 50
_MAX_NAME = 200
_NO_REPOSITORY = (
    "There is no git repository here that can be used: steps are not kept, `runner rollback` "
    "has nothing to go back to, and reviews see no diff. `git init` gives one."
)

_LOST_REPOSITORY = (
    "The git repository that was here when the session began is gone or can't be used any more: "
    "steps are not kept, and reviews see no diff. If it was not you, stop the run, look at what "
    "is left of `.git`, and bring it back from a clone or a backup."
)


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
        self._ledger = Ledger(project_dir)
        self._warned: set[str] = set()

    def record(self, step_id: str, phase_id: str | None, summary: str) -> None:
        """See `Checkpoints.record`. A later call for the same step replaces the earlier one."""
        self._keep(STEP, step_id, phase_id, summary)

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
        repository = find_repository(self._project) if base is not None else None
        if base is None or repository is None:
            return ()
        self._ledger.prepare()
        with shadow_git(repository) as git:
            now = take_snapshot(git, self._ledger.index)
            words = ("diff-tree", "-r", "-z", "--name-only", base.tree, now.tree)
            changed = sorted(names(git.run(*words)) - set(ALWAYS))
        shown = (visible(os.fsdecode(name), "") for name in changed[:_MAX_TOUCHED])
        return tuple(name[:_MAX_NAME] for name in shown)

    def _last_kept(self) -> Checkpoint | None:
        ours = [e for e in self._ledger.entries() if e.scope == self._scope]
        return ours[-1] if ours else None

    def _keep(self, kind: str, name: str, phase_id: str | None, summary: str) -> None:
        try:
            repository = find_repository(self._project)
            if repository is None:
                had = self._last_kept() is not None
                self._warn_once(_LOST_REPOSITORY if had else _NO_REPOSITORY)
                return
            with shadow_git(repository) as git:
                keep(
                    git,
                    self._ledger,
                    kind=kind,
                    name=name,
                    scope=self._scope,
                    phase_id=phase_id,
                    summary=summary,
                    at=self._clock(),
                )
        except (RunnerError, OSError, ValueError) as error:
            self._warn_once(f"This step could not be kept for `runner rollback`: {reason(error)}.")

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


def keep(
    git: ShadowGit,
    ledger: Ledger,
    *,
    kind: str,
    name: str,
    scope: str,
    at: datetime,
    phase_id: str | None = None,
    summary: str = "",
) -> Checkpoint:
    """Keep the work tree as it is now.

    Raises:
        GitError: git could not do it.
        StateWriteError: the ledger could not be written.
    """
    ledger.prepare()
    snapshot = take_snapshot(git, ledger.index)
    title = inert(summary, _MAX_SUMMARY)
    checkpoint = Checkpoint(
        kind=kind,
        name=name,
        scope=scope,
        commit="",
        tree=snapshot.tree,
        ref=f"refs/runner/{_ref_part(scope)}/{_ref_name(kind, name)}",
        at=at.isoformat(timespec="seconds"),
        phase_id=phase_id,
        summary=title,
        nested=snapshot.nested,
        left_out=snapshot.left_out,
        spec=SpecText(git.repository.project).noted,
    )
    return write_down(git, ledger, checkpoint)


def write_down(git: ShadowGit, ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint:
    """Give a tree its commit, then the reference, then its place in the ledger.

    Returns the checkpoint with the commit.

    Raises:
        GitError: git could not do it.
        StateWriteError: the ledger could not be written.
    """
    name = inert(checkpoint.name)
    message = f"runner: {checkpoint.summary or name}\n\n{checkpoint.kind}: {name}\n"
    made = replace(checkpoint, commit=_commit(git, checkpoint, message))
    try:
        git.references("update-ref", made.ref, made.commit)
    except GitError:
        # A killed git leaves its lock. Nobody else writes these references while the run lock
        # is held.
        (git.repository.common / f"{made.ref}.lock").unlink(missing_ok=True)
        git.references("update-ref", made.ref, made.commit)
    ledger.add(made)
    return made


def repository_of(project_dir: Path) -> Repository:
    """Return the project's repository. Raises GitError when there is none that can be used."""
    found = find_repository(project_dir)
    if found is None:
        raise GitError(f"{project_dir} is in no git repository that can be used.")
    return found


def _commit(git: ShadowGit, checkpoint: Checkpoint, message: str) -> str:
    """Make the commit, on top of what is checked out where that can be told."""
    text = message.encode()
    words = ("rev-parse", "--verify", "--quiet", "HEAD")
    head = git.references(*words, accepted=(0, 1, 128))
    tree = checkpoint.tree
    stamp = f"{int(datetime.fromisoformat(checkpoint.at).timestamp())} +0000"
    if head:
        try:
            parent = ("commit-tree", tree, "-p", head)
            return git.run(*parent, stdin=text, stamp=stamp).decode().strip()
        except GitError:  # HEAD names what is not there
            pass
    return git.run("commit-tree", tree, stdin=text, stamp=stamp).decode().strip()


def _ref_name(kind: str, name: str) -> str:
    return f"phase/{_ref_part(name)}" if kind == PHASE else _ref_part(name)


def _ref_part(text: str) -> str:
    """Return a part of a reference's name: the text where git allows it, else a digest."""
    if _PLAIN.fullmatch(text):
        return text
    return f"x-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
