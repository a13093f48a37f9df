"""Commit what a sync produced: status.json and the note, nothing else.

The repository is the user's, but agents can write most of it, and what its configuration includes
may lie in the project. So only those commands of git are used that start no program: no filter,
hook, editor or submodule has a say. Nothing is written through a link.
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.folder_digest import NOTE_NAME
from runner.checkpoints.repository import Repository, find_repository
from runner.deliverables.workspace import STATE_DIRECTORY, STATUS_FILE
from runner.errors import PrerequisiteError
from runner.files import read_regular
from runner.programs import outside_environment, require_program
from runner.reach import reach_of
from runner.text.messages import reason

_MESSAGE = "Sync deliverables with SPEC.md"
_NAMES = (f"{STATE_DIRECTORY}/{STATUS_FILE}", NOTE_NAME)
_MAX_BYTES = 64 * 1024 * 1024
_SECONDS = 300.0
_HINT = "The sync itself is saved; commit .runner/status.json yourself."
_PINNED = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
    "-c", "core.pager=cat", "-c", "submodule.recurse=false", "-c", "gc.auto=0",
)  # fmt: skip
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
_IDENTITY = frozenset({
    "EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
})  # fmt: skip


def commit_results(project: Path) -> None:
    """Commit the two files if they changed; leave the index otherwise as it is.

    Raises:
        PrerequisiteError: there is no repository or no git to be trusted, or git refused.
    """
    program = require_program("git", project, hint="Install it, or leave --commit out.")
    repository = find_repository(project)
    if repository is None or repository.git_dir is None or repository.common is None:
        raise PrerequisiteError(f"{project} is in no git repository.", hint=_HINT)
    git = _Git(program, repository, repository.git_dir, repository.common)
    parent = git.run("rev-parse", "--verify", "--quiet", "HEAD", accepted=(0, 1))
    entries = list(_entries(git, project))
    with tempfile.TemporaryDirectory(prefix="runner-index-") as folder:
        index = Path(folder, "index")
        git.run("read-tree", parent or "--empty", index=index)
        git.run("update-index", "--add", *entries, index=index)
        tree = git.run("write-tree", index=index)
    if parent and tree == git.run("rev-parse", f"{parent}^{{tree}}"):
        return
    parents = ("-p", parent) if parent else ()
    commit = git.run("commit-tree", tree, *parents, "-m", _MESSAGE)
    git.require_no_links()
    _add_to_index(git, entries)
    git.run("update-ref", "-m", f"commit: {_MESSAGE}", "HEAD", commit, parent or "0" * len(commit))


def _add_to_index(git: "_Git", entries: list[str]) -> None:
    """Put the files into the real index, and let it keep its modification time.

    git looks into a file only if its time is not older than that of the index. It is not shown
    the working tree here, so it can't mark what changed in the second of the last `git add`; with
    a newer index such a change would be missing from `git status`.
    """
    index = git.git_dir / "index"
    before = index.stat() if index.exists() else None
    git.run("update-index", "--add", *entries, index=index)
    if before is not None:
        os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns))


def _entries(git: "_Git", project: Path) -> list[str]:
    """Store the files' contents, byte by byte; return the words that put them into an index."""
    words = []
    for name in _NAMES:
        if (project / name).is_symlink():
            raise PrerequisiteError(f"{name} is a symbolic link, and is not committed.", hint=_HINT)
        if (project / name).is_file():
            try:
                content = read_regular(project / name, limit=_MAX_BYTES, within=project)
            except OSError as error:
                why = error.strerror or error
                raise PrerequisiteError(f"{name} can't be read: {why}.", hint=_HINT) from error
            blob = git.run("hash-object", "-w", "--stdin", stdin=content)
            words += ["--cacheinfo", f"100644,{blob},{git.repository.prefix}{name}"]
    return words


@dataclass(frozen=True, slots=True)
class _Git:
    """git in the real repository."""

    program: Path
    repository: Repository
    git_dir: Path
    common: Path

    def run(
        self,
        *arguments: str,
        index: Path | None = None,
        stdin: bytes = b"",
        accepted: tuple[int, ...] = (0,),
    ) -> str:
        """Return what a command prints. Raises PrerequisiteError with git's own words."""
        try:
            done = subprocess.run(
                [str(self.program), *_PINNED, *arguments],
                cwd=self.git_dir,
                env=self._environment(index),
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except OSError as error:
            raise PrerequisiteError(
                f"git could not be run: {reason(error)}.", hint=_HINT
            ) from error
        except subprocess.TimeoutExpired as error:
            raise PrerequisiteError(f"git took longer than {_SECONDS:g} s.", hint=_HINT) from error
        if done.returncode not in accepted:
            said = done.stderr.decode(errors="replace").strip()
            raise PrerequisiteError(f"git {arguments[0]} failed: {said}", hint=_HINT)
        return done.stdout.decode(errors="replace").strip()

    def _environment(self, index: Path | None) -> dict[str, str]:
        identity = {name: value for name, value in os.environ.items() if name in _IDENTITY}
        return {
            **outside_environment(reach_of(self.repository.project)),
            **identity,
            **_FIXED,
            "GIT_DIR": str(self.git_dir),
            "GIT_INDEX_FILE": str(index or os.devnull),
        }

    def require_no_links(self) -> None:
        """Refuse a repository where a reference, its log or the index is a link to elsewhere.

        Raises:
            PrerequisiteError: one is.
        """
        places = [self.git_dir / "index", *self._places_of("HEAD", self.git_dir)]
        branch = self.run("symbolic-ref", "--quiet", "HEAD", accepted=(0, 1))
        if branch:
            places += self._places_of(branch, self.common)
        for place in places:
            if place.is_symlink():
                raise PrerequisiteError(
                    f"{place} is a symbolic link; git would write through it.", hint=_HINT
                )

    def _places_of(self, reference: str, folder: Path) -> list[Path]:
        """Return the files that an update of a reference writes, and the folders they are in."""
        found = []
        for place in (folder / reference, folder / "logs" / reference):
            parts = [place, *place.parents]
            found += parts[: parts.index(folder)]
        return found
