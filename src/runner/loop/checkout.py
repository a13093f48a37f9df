"""A project's files as a commit of everything would hold them, laid out in a folder of ours.

Tracked and untracked files are in it, and those of submodules; ignored ones, byte code that Python
cached, and other nested repositories are not. The folder is written by this module alone, so that a later state of the project
is laid out by its difference to the one before.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.deliverables.workspace import STATE_DIRECTORY
from runner.files import read_regular
from runner.loop.ledger import Ledger
from runner.loop.repository import Repository, find_repository
from runner.loop.shadow_git import GitError, ShadowGit, shadow_git
from runner.loop.snapshot import Snapshot, names, take_snapshot

_BYTE_CODE = b"__pycache__"
# What is generated in projects that no .gitignore describes: they are in no repository.
_GENERATED = (
    "__pycache__/", ".venv/", "venv/", "node_modules/", ".tox/", ".nox/", ".pytest_cache/",
    ".mypy_cache/", ".ruff_cache/", ".hypothesis/", ".eggs/", "*.egg-info/", ".gradle/", ".bundle/",
    "target/", ".env",
)  # fmt: skip
_REFERENCE = re.compile(r"[0-9a-f]{40,64} refs/[^\s\x00-\x20~^:?*\[\\]+")
_HEAD = re.compile(r"refs/heads/[^\s\x00-\x20~^:?*\[\\]+")
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_SMALL_BYTES = 1024 * 1024
_MAX_LARGE_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files of a project at one moment.

    Attributes:
        files: the folder that they lie in.
        key: the same text for the same files.
        tree: the id of their git tree.
        nested: folders with a repository of their own, which are not in it.
        objects: what the `.git` in it borrows objects from; None where it has no `.git`.
    """

    files: Path
    index: Path
    key: str
    tree: str
    nested: tuple[str, ...]
    objects: Path | None
    repository: Repository


def check_out(project: Path, place: Path, *, borrowed: Path | None = None) -> Checkout:
    """Lay the project's files out below `place`; what an earlier call left there is updated.

    Args:
        project: absolute, links resolved.
        place: an existing folder of ours, outside of the project.
        borrowed: where the objects of the project's repository are seen by those who use the
            checkout; their own place where None.

    Raises:
        GitError: git is missing, or the files can't be told or written.
        StateWriteError: the project's state folder can't be written.
    """
    found = find_repository(project)
    repository = found or _stand_in(project, place / "store")
    index = _snapshots_index(project) if found else place / "store" / "snapshot.index"
    try:
        with shadow_git(repository) as git:
            snapshot = take_snapshot(git, index)
        files = place / "files"
        files.mkdir(exist_ok=True)
        with shadow_git(repository, work_tree=files) as git:
            _lay_out(git, snapshot.tree, place / "checkout.index")
            _clear(git, place / "checkout.index")
            own = found is not None and found.top == project
            if own:
                _make_repository(git, files / ".git", place / "checkout.index", borrowed)
        (files / STATE_DIRECTORY).mkdir(exist_ok=True)
        submodules = dict(_lay_out_submodules(project, place, snapshot))
        large = _copy_large(project, files, snapshot)
        key = "\n".join((snapshot.tree, *map(" ".join, submodules.items()), *large))
    except OSError as error:
        raise GitError(f"The files can't be laid out: {error.strerror or error}.") from error
    return Checkout(
        files,
        place / "checkout.index",
        key,
        snapshot.tree,
        tuple(name for name in snapshot.nested if name not in submodules),
        repository.objects if own else None,
        repository,
    )


def changed_files(checkout: Checkout) -> tuple[str, ...]:
    """Return which files of the tree are not as they were laid out. Raises GitError."""
    with shadow_git(checkout.repository, work_tree=checkout.files) as git:
        found = names(git.run("diff-files", "-z", "--name-only", index=checkout.index))
    return tuple(sorted(os.fsdecode(name) for name in found))


def files_of(checkout: Checkout) -> frozenset[str]:
    """Return the files of the tree, relative to it. Raises GitError."""
    with shadow_git(checkout.repository, work_tree=checkout.files) as git:
        found = names(git.run("ls-files", "-z", index=checkout.index))
    return frozenset(os.fsdecode(name) for name in found)


def ignored_files(checkout: Checkout) -> tuple[str, ...]:
    """Return what is ignored in the project; a folder that is ignored as a whole once, with a slash.

    Raises:
        GitError: git could not tell.
    """
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    with shadow_git(checkout.repository) as git:
        found = {os.fsdecode(name) for name in names(git.run(*words))}
    return tuple(sorted(n for n in found if not n.startswith(f"{STATE_DIRECTORY}/")))


def _snapshots_index(project: Path) -> Path:
    ledger = Ledger(project)
    ledger.prepare()
    return ledger.index


def _stand_in(project: Path, store: Path) -> Repository:
    """Return a repository of ours for a project that has none."""
    (store / "objects").mkdir(parents=True, exist_ok=True)
    (store / "info").mkdir(exist_ok=True)
    (store / "info" / "exclude").write_text("\n".join((*_GENERATED, "")), encoding="ascii")
    return Repository(project, project, store, store)


def _lay_out(git: ShadowGit, tree: str, index: Path) -> None:
    """Write the files that differ, and take away those that are gone."""
    git.run("read-tree", "--reset", "-u", tree, index=index)
    cached = {
        name for name in names(git.run("ls-files", "-z", index=index))
        if _BYTE_CODE in name.split(b"/")
    }  # fmt: skip
    if cached:
        for name in cached:
            with suppress(FileNotFoundError):
                (git.work_tree / os.fsdecode(name)).unlink()
        lines = b"".join(name + b"\0" for name in cached)
        git.run("update-index", "-z", "--force-remove", "--stdin", index=index, stdin=lines)


def _lay_out_submodules(
    project: Path, place: Path, snapshot: Snapshot
) -> Iterator[tuple[str, str]]:
    """Lay out what `.gitmodules` names, without a `.git`; yield each path with its tree."""
    files = place / "files"
    try:
        text = read_regular(files / ".gitmodules", limit=_SMALL_BYTES, within=files)
    except OSError:
        return
    named = set(_SUBMODULE.findall(text.decode("utf-8", "replace")))
    for number, name in enumerate(sorted(named & set(snapshot.nested))):
        repository = find_repository(project / name)
        target = files / name
        if repository is None or repository.top != project / name:
            continue
        if target.parent.resolve() != files.resolve() / Path(name).parent:
            continue
        target.mkdir(parents=True, exist_ok=True)
        with shadow_git(repository) as git:
            tree = take_snapshot(git, place / f"submodule-{number}.snapshot").tree
        with shadow_git(repository, work_tree=target) as git:
            _lay_out(git, tree, place / f"submodule-{number}.index")
        yield name, tree


def _clear(git: ShadowGit, index: Path) -> None:
    """Take away what is no part of the tree, such as large files of an earlier state."""
    for name in names(git.run("ls-files", "-z", "--others", index=index)):
        with suppress(FileNotFoundError):
            (git.work_tree / os.fsdecode(name)).unlink()


def _copy_large(project: Path, files: Path, snapshot: Snapshot) -> Iterator[str]:
    """Copy what a snapshot leaves out for its size; yield what tells one state from another."""
    room = _MAX_LARGE_BYTES
    for name in snapshot.left_out:
        source, target = project / name, files / name
        with suppress(PermissionError):
            before = source.lstat()
            if not stat.S_ISREG(before.st_mode):
                continue
            room -= before.st_size
            if room < 0:
                raise GitError(
                    f"The files that are too large for git take more than {_MAX_LARGE_BYTES >> 30} GiB.",
                    hint="Let .gitignore name those that are no part of the project.",
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
            yield f"{name} {before.st_size} {before.st_mtime_ns} {before.st_ino}"


def _make_repository(git: ShadowGit, folder: Path, index: Path, borrowed: Path | None) -> None:
    """Make a `.git` that knows the history and the index, and has no hook and no configuration.

    Only what has the form of a reference or an id is taken over from the project's own.
    """
    real = git.repository
    if folder.exists():
        shutil.rmtree(folder)
    for name in ("objects/info", "refs/heads", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "objects" / "info" / "alternates").write_text(
        f"{borrowed or real.objects}\n", encoding="utf-8"
    )
    shutil.copyfile(git.folder / "config", folder / "config")
    listed = git.references("for-each-ref", "--format=%(objectname) %(refname)")
    kept = [
        line for line in listed.splitlines()
        if _REFERENCE.fullmatch(line) and " refs/runner/" not in line
    ]  # fmt: skip
    (folder / "packed-refs").write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    (folder / "HEAD").write_text(_head(git), encoding="utf-8")
    with suppress(OSError):
        shallow = read_regular(real.common / "shallow", limit=_SMALL_BYTES)
        (folder / "shallow").write_bytes(shallow)
    if index.exists():
        shutil.copyfile(index, folder / "index")


def _head(git: ShadowGit) -> str:
    branch = git.references("rev-parse", "--symbolic-full-name", "HEAD", accepted=(0, 1, 128))
    if _HEAD.fullmatch(branch):
        return f"ref: {branch}\n"
    found = git.references("rev-parse", "--verify", "--quiet", "HEAD", accepted=(0, 1, 128))
    return f"{found}\n" if re.fullmatch(r"[0-9a-f]{40,64}", found) else "ref: refs/heads/main\n"
