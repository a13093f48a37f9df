"""git on a project's files that obeys nothing the repository says.

This runs outside of the sandbox, on a project whose files an agent can write. The repository's own
configuration, hooks, filters, attributes and submodules can name programs. So git gets a folder of
ours in place of `.git`, made for the occasion and empty but for a configuration. Objects come from
the runner's own store. What git reads of the project then is data, and nothing is written into the
project's repository.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.object_store import FORMATS, ObjectStore
from runner.checkpoints.repository import Repository
from runner.errors import StateError
from runner.files import read_regular
from runner.programs import find_program, outside_environment
from runner.reach import reach_of

_PREFIX = "runner-git-"
_SECONDS = 300.0
_MAX_EXCLUDE_BYTES = 1024 * 1024
_FREE_SPACE = "Free some disk space, then run again."
_NO_SPACE = ("No space left on device", "Disk quota exceeded")
_MAX_SAID_BYTES = 16 * 1024
_IDENTITY = ("runner", "runner@localhost")
# Highest in rank of all attributes: files are taken and given back byte by byte.
_ATTRIBUTES = "* -text !eol !ident !filter !working-tree-encoding !diff !merge\n"
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.logAllRefUpdates": "false",
    "core.trustctime": "true",
    "core.checkStat": "default",
    # Packs are flushed to the disk (see `sealing`); to flush each loose object takes minutes.
    "core.fsync": "committed,-loose-object",
    "core.autocrlf": "false",
    "core.compression": "1",
    "core.quotePath": "false",
    "gc.auto": "0",
    "fastimport.unpackLimit": "0",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
}


class GitError(StateError):
    """git is missing, or refused."""


@dataclass(frozen=True, slots=True)
class ShadowGit:
    """git for one project.

    Attributes:
        folder: the stand-in for `.git`.
        work_tree: what git takes for the root of the files.
        objects: where objects are read and written.
        object_format: `sha1` or `sha256`.
    """

    repository: Repository
    program: str
    folder: Path
    work_tree: Path
    objects: Path
    object_format: str

    @property
    def store(self) -> ObjectStore:
        """The runner's own objects of this project."""
        return ObjectStore(self.repository.project)

    def run(
        self,
        *arguments: str,
        index: Path | None = None,
        stdin: bytes = b"",
        stamp: str | None = None,
        seconds: float = _SECONDS,
    ) -> bytes:
        """Run git on the project's files and objects; return what it prints.

        Args:
            index: the index file; none is there when left out.
            stamp: the date of a commit, in git's own form.
            seconds: how long it may take.

        Raises:
            GitError: with git's own words.
        """
        environment = self.environment(index)
        if stamp is not None:
            environment |= {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        return self._call(arguments, environment, stdin, (0,), seconds)

    def feed(self, arguments: tuple[str, ...], chunks: Iterable[bytes]) -> None:
        """Run git, and give it what is too much for memory.

        Raises:
            GitError: with git's own words.
        """
        with tempfile.TemporaryFile() as said:
            try:
                with subprocess.Popen(
                    [self.program, *arguments],
                    cwd=self.repository.project,
                    env=self.environment(),
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=said,
                ) as child:
                    assert child.stdin is not None  # noqa: S101 - it is a pipe
                    with suppress(BrokenPipeError), child.stdin:
                        for chunk in chunks:
                            child.stdin.write(chunk)
            except OSError as error:
                raise GitError(f"git could not be started: {error.strerror or error}.") from error
            if child.returncode != 0:
                said.seek(0)
                raise _failed(arguments[0], said.read(_MAX_SAID_BYTES), child.returncode)

    def environment(self, index: Path | None = None) -> dict[str, str]:
        """Return the environment that makes git use the stand-in."""
        return {
            **_environment(self.repository),
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(self.work_tree),
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_INDEX_FILE": str(index or self.folder / "no-index"),
        }

    def _call(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        stdin: bytes,
        accepted: tuple[int, ...],
        seconds: float = _SECONDS,
    ) -> bytes:
        try:
            done = subprocess.run(
                [self.program, *arguments],
                cwd=self.repository.project,
                env=environment,
                input=stdin,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(f"git {arguments[0]} took longer than {seconds:g} s.") from error
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror or error}.") from error
        if done.returncode not in accepted:
            raise _failed(arguments[0], done.stderr, done.returncode)
        return done.stdout


def _failed(command: str, stderr: bytes, status: int) -> GitError:
    said = stderr.decode(errors="replace").strip() or f"status {status}"
    hint = _FREE_SPACE if any(text in said for text in _NO_SPACE) else None
    return GitError(f"git {command} failed: {said[:2000].rstrip('.')}.", hint=hint)


@contextmanager
def shadow_git(repository: Repository, *, work_tree: Path | None = None) -> Iterator[ShadowGit]:
    """Give git on the project's files and the runner's own objects.

    Args:
        work_tree: the root of the files; the project where None.

    Raises:
        GitError: git is not installed, or the stand-in can't be made.
        StateWriteError: the object store can't be made.
    """
    program, store = _program(repository), ObjectStore(repository.project)
    with _stand_in() as folder:
        known = store.object_format or _best_format(program, repository, folder)
        store.prepare(known)
        top = work_tree or repository.project
        _furnish(folder, known)
        yield ShadowGit(repository, program, folder, top, store.objects, known)


@contextmanager
def project_git(repository: Repository) -> Iterator[ShadowGit]:
    """Give git that sees the files as the project's repository does: what is ignored or tracked.

    Its objects are those of the project, which agents can forge: nothing that is read of them
    is believed without a look at its hash.

    Raises:
        GitError: git is not installed, or the stand-in can't be made.
        PrerequisiteError: git is only where agents can write.
    """
    program = _program(repository)
    with _stand_in() as folder:
        known = repository.object_format
        objects = repository.objects or folder / "objects"
        git = ShadowGit(repository, program, folder, repository.top, objects, known)
        _furnish(folder, known)
        _exclude(git)
        yield git


def _program(repository: Repository) -> str:
    program = find_program("git", repository.project)
    if program is None:
        raise GitError("git was not found.", hint="Install it.")
    return str(program)


@contextmanager
def _stand_in() -> Iterator[Path]:
    """Give an empty folder."""
    try:
        _sweep()
        with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:
            yield Path(name)
    except OSError as error:
        raise GitError(f"git can't be prepared: {error.strerror or error}.") from error


def _best_format(program: str, repository: Repository, folder: Path) -> str:
    """Return the best format of objects that this git knows."""
    for known in FORMATS[:-1]:
        trial = folder / known
        trial.mkdir()
        _furnish(trial, known)
        try:
            ShadowGit(repository, program, trial, trial, trial / "objects", known).run(
                "hash-object", "--stdin"
            )
        except GitError:
            continue
        return known
    return FORMATS[-1]


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


def _furnish(folder: Path, object_format: str) -> None:
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    write_config(folder, object_format)
    (folder / "info" / "attributes").write_text(_ATTRIBUTES, encoding="ascii")


def write_config(folder: Path, object_format: str) -> None:
    """Write the configuration of a repository of ours: nothing but its format. Raises OSError."""
    (folder / "config").write_text(_config(object_format), encoding="ascii")


def _exclude(git: ShadowGit) -> None:
    """Have git ignore what the repository and the user's own configuration ignore."""
    if git.repository.exclude is not None:
        with suppress(OSError):
            text = read_regular(git.repository.exclude, limit=_MAX_EXCLUDE_BYTES)
            (git.folder / "info" / "exclude").write_bytes(text)
    users = _users_excludes(git)
    if users:
        git.run("config", "--file", str(git.folder / "config"), "core.excludesFile", users)


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
