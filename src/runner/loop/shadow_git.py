"""git on a project's files and objects that obeys nothing the repository says.

This runs outside of the sandbox, on a repository whose files an agent can write. Its own
configuration, hooks, filters, attributes and submodules can name programs. So git gets a repository
of ours, made for the occasion and empty but for a configuration, and borrows from the real one
only where objects are stored. What git reads of the project then is data.

Only references are read and written in the real repository, by commands that start no program
but the reference hook, which is switched off.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.errors import StateError
from runner.loop.repository import Repository
from runner.programs import find_program, outside_environment
from runner.reach import reach_of

_PREFIX = "runner-git-"
_SECONDS = 300.0
_MAX_EXCLUDE_BYTES = 1024 * 1024
_IDENTITY = ("runner", "runner@localhost")
# Highest in rank of all attributes: files are taken and given back byte by byte.
_ATTRIBUTES = "* -text !eol !ident !filter !working-tree-encoding !diff !merge\n"
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.logAllRefUpdates": "false",
    "core.autocrlf": "false",
    "core.compression": "1",
    "core.quotePath": "false",
    "gc.auto": "0",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
}


class GitError(StateError):
    """git is missing, or refused."""


@dataclass(frozen=True, slots=True)
class ShadowGit:
    """git for one repository.

    Attributes:
        folder: the stand-in for `.git`.
        work_tree: what git takes for the root of the files.
    """

    repository: Repository
    program: str
    folder: Path
    work_tree: Path

    def run(
        self,
        *arguments: str,
        index: Path | None = None,
        stdin: bytes = b"",
        stamp: str | None = None,
    ) -> bytes:
        """Run git on the project's files and objects; return what it prints.

        Args:
            index: the index file; none is there when left out.
            stamp: the date of a commit, in git's own form.

        Raises:
            GitError: with git's own words.
        """
        environment = self.environment(index)
        if stamp is not None:
            environment |= {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        return self._call(arguments, environment, stdin, (0,))

    def environment(self, index: Path | None = None) -> dict[str, str]:
        """Return the environment that makes git use the stand-in."""
        return {
            **_environment(self.repository),
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(self.work_tree),
            "GIT_OBJECT_DIRECTORY": str(self.repository.objects),
            "GIT_INDEX_FILE": str(index or self.folder / "no-index"),
        }

    def references(self, *arguments: str, accepted: tuple[int, ...] = (0,)) -> str:
        """Run `rev-parse`, `update-ref` or `for-each-ref` in the real repository.

        Raises:
            GitError: with git's own words.
        """
        environment = {**_environment(self.repository), "GIT_DIR": str(self.repository.git_dir)}
        return self._call(arguments, environment, b"", accepted).decode(errors="replace").strip()

    def _call(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        stdin: bytes,
        accepted: tuple[int, ...],
    ) -> bytes:
        try:
            done = subprocess.run(
                [self.program, *arguments],
                cwd=self.repository.project,
                env=environment,
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(f"git {arguments[0]} took longer than {_SECONDS:g} s.") from error
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror or error}.") from error
        if done.returncode not in accepted:
            said = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            raise GitError(f"git {arguments[0]} failed: {said[:2000]}")
        return done.stdout


@contextmanager
def shadow_git(repository: Repository, *, work_tree: Path | None = None) -> Iterator[ShadowGit]:
    """Give git for the repository.

    Args:
        work_tree: the root of the files; the repository's own where None.

    Raises:
        GitError: git is not installed, or the stand-in can't be made.
        PrerequisiteError: git is only where agents can write.
    """
    program = find_program("git", repository.project)
    if program is None:
        raise GitError("git was not found.", hint="Install it.")
    try:
        _sweep()
        with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:
            git = ShadowGit(repository, str(program), Path(name), work_tree or repository.top)
            _furnish(git)
            yield git
    except OSError as error:
        raise GitError(f"git can't be prepared: {error.strerror or error}.") from error


def _sweep() -> None:
    """Remove the stand-ins of runners that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if ours and owner.isdecimal() and not _is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _furnish(git: ShadowGit) -> None:
    folder, repository = git.folder, git.repository
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    (folder / "config").write_text(_config(repository.object_format), encoding="ascii")
    (folder / "info" / "attributes").write_text(_ATTRIBUTES, encoding="ascii")
    own = repository.common / "info" / "exclude"
    if own.is_file() and not own.is_symlink():
        (folder / "info" / "exclude").write_bytes(own.read_bytes()[:_MAX_EXCLUDE_BYTES])
    users = _users_excludes(git)
    if users:
        git.run("config", "--file", str(folder / "config"), "core.excludesFile", users)


def _config(object_format: str) -> str:
    if object_format == "sha1":
        return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
    return (
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
        f"[extensions]\n\tobjectFormat = {object_format}\n"
    )


def _users_excludes(git: ShadowGit) -> str:
    """Return what the user's own configuration ignores in all projects, "" for git's default."""
    environment = git.environment()
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        del environment[name]
    words = ("config", "--global", "--type=path", "--get", "core.excludesFile")
    found = git._call(words, environment, b"", (0, 1, 128))  # noqa: SLF001 - a part of it
    return os.fsdecode(found).strip()


def _environment(repository: Repository) -> dict[str, str]:
    """Little of the caller's, nothing that steers git, and what keeps it from wandering."""
    settings = {"GIT_CONFIG_COUNT": str(len(_SETTINGS))}
    for number, (key, value) in enumerate(_SETTINGS.items()):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    name, address = _IDENTITY
    return {
        **outside_environment(reach_of(repository.project)),
        **settings,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # what older ones would fetch through
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": address,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": address,
    }
