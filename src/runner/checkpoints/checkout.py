"""A project's files as a commit of everything would hold them, laid out in a folder of ours.

Tracked and untracked files are in it, and those of submodules; ignored ones, byte code that Python
cached, and other nested repositories are not. The folder is written by this module alone, so that a later state of the project
is laid out by its difference to the one before.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from runner.checkpoints.isolated_git import (
    GitError,
    ShadowGit,
    project_git,
    shadow_git,
    write_config,
)
from runner.checkpoints.ledger import CheckpointLedger
from runner.checkpoints.references import REPLACEMENTS, head, references, small_file
from runner.checkpoints.repository import Repository, find_repository
from runner.checkpoints.snapshot import Snapshot, names, take_snapshot
from runner.deliverables.workspace import STATE_DIRECTORY
from runner.files import read_regular

_BYTE_CODE = b"__pycache__"
# What is generated in projects that no .gitignore describes: they are in no repository.
GENERATED_FOLDERS = frozenset({
    "__pycache__", ".venv", "venv", "node_modules", ".tox", ".nox", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".hypothesis", ".eggs", ".gradle", ".bundle", "target",
})  # fmt: skip
_GENERATED = (*(f"{name}/" for name in sorted(GENERATED_FOLDERS)), "*.egg-info/", ".env")
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
    if found is None:
        index.unlink(missing_ok=True)  # what it remembers may be gone from the object store
    files = place / "files"
    try:
        files.mkdir(exist_ok=True)
        with shadow_git(repository) as project_files, project_files.store.lock():
            snapshot, others = _snapshot(project_files, index)
            git = replace(project_files, work_tree=files)
            _lay_out(git, snapshot.tree, place / "checkout.index", others)
            _clear(git, place / "checkout.index")
            own = found is not None and found.top == project
            if own:
                _make_repository(git, files / ".git", place / "checkout.index", borrowed)
        (files / STATE_DIRECTORY).mkdir(exist_ok=True)
        large = _copy_large(project, files, snapshot)
        key = "\n".join((snapshot.tree, *others, *large))
    except OSError as error:
        raise GitError(f"The files can't be laid out: {error.strerror or error}.") from error
    return Checkout(
        files,
        place / "checkout.index",
        key,
        snapshot.tree,
        others,
        repository.objects if own else None,
        repository,
    )


def _snapshot(git: ShadowGit, index: Path) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the project's tree with the files of submodules, and the other nested repositories.

    Those others may be in the tree, too; they are no part of what a commit would hold.
    """
    project = git.repository.project
    snapshot = take_snapshot(git, index)
    if not snapshot.nested:
        return snapshot, ()
    try:
        text = read_regular(project / ".gitmodules", limit=_SMALL_BYTES, within=project)
    except OSError:
        text = b""
    named = set(_SUBMODULE.findall(text.decode("utf-8", "replace")))
    others = tuple(name for name in snapshot.nested if name not in named)
    if len(others) == len(snapshot.nested):
        return snapshot, others
    return take_snapshot(git, index, into_nested=True), others


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
    with project_git(checkout.repository) as git:
        found = {os.fsdecode(name) for name in names(git.run(*words))}
    return tuple(sorted(n for n in found if not n.startswith(f"{STATE_DIRECTORY}/")))


def _snapshots_index(project: Path) -> Path:
    ledger = CheckpointLedger(project)
    ledger.prepare()
    return ledger.index


def _stand_in(project: Path, store: Path) -> Repository:
    """Return a repository of ours for a project that has none."""
    (store / "objects").mkdir(parents=True, exist_ok=True)
    (store / "info").mkdir(exist_ok=True)
    (store / "info" / "exclude").write_text("\n".join((*_GENERATED, "")), encoding="ascii")
    return Repository(project, project, store, store)


def _lay_out(git: ShadowGit, tree: str, index: Path, others: Iterable[str]) -> None:
    """Write the files that differ, and take away those that are gone or are no part of it."""
    git.run("read-tree", "--reset", "-u", tree, index=index)
    nested = tuple(os.fsencode(f"{name}/") for name in others)
    unwanted = {
        name for name in names(git.run("ls-files", "-z", index=index))
        if _BYTE_CODE in name.split(b"/") or name.startswith(nested)
    }  # fmt: skip
    if unwanted:
        for name in unwanted:
            with suppress(FileNotFoundError):
                (git.work_tree / os.fsdecode(name)).unlink()
        lines = b"".join(name + b"\0" for name in unwanted)
        git.run("update-index", "-z", "--force-remove", "--stdin", index=index, stdin=lines)


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
            if (
                target.parent.resolve() != files.resolve() / Path(name).parent
                or target.is_symlink()
            ):
                raise GitError(f"{name!r} leads out of the clean room.")
            shutil.copy2(source, target, follow_symlinks=False)
            yield f"{name} {before.st_size} {before.st_mtime_ns} {before.st_ctime_ns} {before.st_ino}"


def _make_repository(git: ShadowGit, folder: Path, index: Path, borrowed: Path | None) -> None:
    """Make a `.git` that knows the history and the files, and has no hook and no configuration.

    It is for the convenience of commands alone: only what has the form of a reference or an id is
    taken over from the project's own, and what an agent forged there decides nothing here.
    """
    real = git.repository
    for name in ("objects/info", "refs/heads", "info"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "objects" / "info" / "alternates").write_text(
        f"{borrowed or real.objects}\n", encoding="utf-8"
    )
    write_config(folder, real.object_format)
    kept = sorted(
        f"{name} {reference}\n"
        for reference, name in references(real).items()
        if not reference.startswith(REPLACEMENTS)
    )
    (folder / "packed-refs").write_text("".join(kept), encoding="utf-8")
    (folder / "HEAD").write_text(head(real), encoding="utf-8")
    with suppress(OSError):
        (folder / "shallow").write_bytes(small_file(real, "shallow"))
    theirs = replace(
        git, folder=folder, objects=folder / "objects", object_format=real.object_format
    )
    inside = folder / "index"
    files = names(git.run("ls-files", "-z", index=index))
    gone = names(theirs.run("ls-files", "-z", index=inside)) - files
    for words, paths in ((("--force-remove",), gone), (("--add", "--replace"), files)):
        if paths:
            lines = b"".join(path + b"\0" for path in sorted(paths))
            theirs.run("update-index", "-z", *words, "--stdin", index=inside, stdin=lines)
