"""Folders of a run that only its agents write: temporary files, overlays, private state."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from platformdirs import user_cache_path

from runner.errors import PrerequisiteError
from runner.reach import steps

_PREFIX = "runner-scratch-"
_LOCK = "in-use"
_FOLDERS = ("void", "sessions", "channel")
_ACCOUNT_KEYS = (
    "oauthAccount", "userID", "primaryApiKey", "customApiKeyResponses", "hasCompletedOnboarding",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scratch:
    """The scratch folder of one run.

    Attributes:
        root: an existing folder outside the project, on one file system.
    """

    root: Path

    @property
    def tmp(self) -> Path:
        """What the agent sees as /tmp."""
        return self.root / "tmp"

    @property
    def var_tmp(self) -> Path:
        """What the agent sees as /var/tmp."""
        return self.root / "var-tmp"

    @property
    def void(self) -> Path:
        """An empty folder, to hide others behind."""
        return self.root / "void"

    @property
    def empty(self) -> Path:
        """An empty file, to hide others behind."""
        return self.root / "empty"

    @property
    def covers(self) -> Path:
        """What agents see instead of hidden files; made when there is something."""
        return self.root / "covers"

    @property
    def channel(self) -> Path:
        """What closes agents to their own commands (see channel.py)."""
        return self.root / "channel"

    @property
    def ignore(self) -> Path:
        """What git inside does not see as new."""
        return self.root / "ignore"

    def new_folder(self) -> Path:
        """Return a new folder that no agent has seen."""
        return Path(tempfile.mkdtemp(dir=self.root / "sessions"))


@contextmanager
def scratch(project: Path) -> Iterator[Scratch]:
    """Give a scratch folder; remove it at the end, and those of runs that were killed.

    Raises:
        PrerequisiteError: no folder for temporary files can be written.
    """
    base = _base(project)
    _sweep(base)
    root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base)).resolve()
    unlocked = root / f"{_LOCK}.new"
    lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # It takes its name once it is locked: a sweep must never find it free before.
        fcntl.flock(lock, fcntl.LOCK_EX)
        unlocked.rename(root / _LOCK)
        yield furnished(root)
    finally:
        os.close(lock)
        remove_tree(root)


def furnished(root: Path) -> Scratch:
    """Make the folders of a scratch folder in `root`, which is empty but for its lock."""
    made = Scratch(root)
    for name in _FOLDERS:
        (root / name).mkdir()
    new_temporary(root)
    made.empty.touch(0o400)
    return made


def new_temporary(folder: Path) -> Scratch:
    """Make empty folders for temporary files in `folder`."""
    made = Scratch(folder)
    for shared in (made.tmp, made.var_tmp):
        shared.mkdir()
        shared.chmod(0o1777)
    return made


def remove_tree(root: Path) -> None:
    """Remove a folder, whatever permissions stand in the way; what stays is no error.

    The kernel leaves folders without any permission in an overlay's work folder, and Go makes
    its module cache read-only. Agents can nest folders deeper than any recursion goes and any path
    reaches: so each folder is moved to the top before it is emptied.
    """
    if root.is_symlink():
        return
    pending, numbers, mark = [root], count(), os.urandom(8).hex()
    while pending:
        folder = pending.pop()
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)
            for entry in list(os.scandir(folder)):
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)  # noqa: PTH108 - a string here
                        continue
                    os.chmod(entry.path, stat.S_IRWXU)  # noqa: PTH101 - a string here
                    moved = root / f".removed-{mark}-{next(numbers)}"
                    os.rename(entry.path, moved)  # noqa: PTH104 - a string here
                    pending.append(moved)
        if folder != root:
            with suppress(OSError):
                folder.rmdir()
    with suppress(RecursionError):
        shutil.rmtree(root, ignore_errors=True)


def project_state(project: Path) -> Path | None:
    """Return the folder for what this project's agents keep from run to run, made on demand.

    Each project has one of its own: a shared cache would let one project's agent leave
    something for another's, or for the user. None where the user's cache can't be written, or
    would stand in a home folder that does not exist: a run makes nobody a home. None also where it
    would be reached through the project: agents could replace it by a link, and it is mounted writable.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name)[:40] or "project"
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
    folder = user_cache_path("runner") / "sandbox" / f"{slug}-{digest}"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home fails for users without any
    if folder.is_relative_to(home) and not home.is_dir():
        return None
    if any(Path(step).is_relative_to(project.resolve()) for step in steps(folder.absolute())):
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return folder.resolve() if os.access(folder, os.W_OK) else None


def claude_config(environ: Mapping[str, str], home: Path) -> tuple[Path, Path]:
    """Return the user's own folder of Claude Code and its `.claude.json`."""
    chosen = environ.get("CLAUDE_CONFIG_DIR")
    if chosen:
        return Path(chosen).resolve(), Path(chosen).resolve() / ".claude.json"
    return home / ".claude", home / ".claude.json"


def prepare_claude(folder: Path, account_file: Path, credentials: Path) -> None:
    """Make the agent's private folder of Claude Code, signed in as the user is.

    Only the account is taken over: hooks, MCP servers and transcripts of other projects stay
    out, and nothing that the agent writes is read by the user's own Claude Code.

    Args:
        folder: does not exist; no agent may have had its hands on the folder it goes into.
        account_file: the user's `.claude.json`.
        credentials: the user's `.credentials.json`; where it exists, a place to mount it is made.
    """
    folder.mkdir(mode=0o700)
    if credentials.is_file():
        (folder / credentials.name).touch(0o600)
    account = _account(account_file)
    if account:
        target = folder / ".claude.json"
        target.touch(0o600)
        target.write_text(json.dumps(account), encoding="utf-8")


def _account(path: Path) -> dict[str, object]:
    known = _json(path)
    return {key: known[key] for key in _ACCOUNT_KEYS if key in known}


def _json(path: Path) -> dict[str, object]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _base(project: Path) -> Path:
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
        folder = Path(place).resolve()
        if not folder.is_relative_to(project) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise PrerequisiteError(
        "No folder for temporary files can be written outside the project.",
        hint="Set TMPDIR to a folder outside the project that you may write.",
    )


def _sweep(base: Path) -> None:
    for old in base.glob(f"{_PREFIX}{os.getuid()}-*"):
        # Others may write in this folder too, and give our names to things of theirs.
        try:
            found = old.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            lock = os.open(old / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(old)
        except OSError:
            continue
        finally:
            os.close(lock)
