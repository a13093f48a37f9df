"""What an agent writes into its repository decides nothing about what is read or written outside."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

from runner.checkpoints.checkout import check_out
from runner.checkpoints.isolated_git import shadow_git
from runner.checkpoints.repository import find_repository
from runner.checkpoints.snapshot import is_inside, take_snapshot
from runner.checkpoints.tree_identity import tree_identity
from runner.sandbox.repository import repository_mounts


def _git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=b", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_rsa").write_text("the key", encoding="utf-8")
    return tmp_path


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "project"
    folder.mkdir()
    (folder / "app.py").write_text("print(1)\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("common", ["../..", "../../..", "..", "."])
def test_a_git_file_that_leads_into_the_project_mounts_and_reads_nothing(
    project: Path, common: str
) -> None:
    (project / "a").mkdir()
    for name, text in {"HEAD": "ref: x", "gitdir": "../.git", "commondir": common}.items():
        (project / "a" / name).write_text(text, encoding="utf-8")
    (project / ".git").write_text("gitdir: a\n", encoding="utf-8")
    assert not [m for m in repository_mounts(project) if m.writable]
    assert not [m for m in repository_mounts(project) if m.path != project / ".git"]
    found = find_repository(project)
    assert found is not None
    assert (found.git_dir, found.common) == (None, None)
    assert not (project.parent / "hooks").exists()


def test_a_linked_work_tree_keeps_its_repository(project: Path, tmp_path: Path) -> None:
    _git(project, "init", "-q")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "x")
    tree = tmp_path / "tree"
    _git(project, "worktree", "add", "-q", str(tree))
    found = find_repository(tree)
    assert found is not None
    assert found.common == project / ".git"
    assert project / ".git" in [m.path for m in repository_mounts(tree) if m.writable]


def test_no_file_is_made_through_a_link_in_the_repository(project: Path, home: Path) -> None:
    _git(project, "init", "-q")
    _git(project, "config", "extensions.worktreeConfig", "true")
    (project / ".git" / "config.worktree").symlink_to(home / "made")
    repository_mounts(project)
    assert not (home / "made").exists()


@pytest.mark.timeout(30)
def test_a_pipe_in_the_repository_is_not_waited_for(project: Path) -> None:
    _git(project, "init", "-q")
    inner = project / ".git" / "modules" / "x"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: x", encoding="utf-8")
    os.mkfifo(inner / "config")
    assert repository_mounts(project)


def _write_index(path: Path, *names: bytes) -> None:
    """Write an index with any names, as git itself never would."""
    body = struct.pack(">4sII", b"DIRC", 2, len(names))
    for name in sorted(names):
        entry = struct.pack(">10I20sH", *[0] * 6, 0o100644, 0, 0, 0, b"\1" * 20, len(name)) + name
        body += entry + b"\0" * (8 - len(entry) % 8)
    import hashlib  # noqa: PLC0415

    path.write_bytes(body + hashlib.sha1(body).digest())  # noqa: S324 - git's own format


def test_names_in_the_index_that_leave_the_project_are_not_read(project: Path, home: Path) -> None:
    _git(project, "init", "-q")
    for number in range(120):
        (project / f"new-{number}").write_text("x", encoding="utf-8")
    _write_index(project / ".git" / "index", b"../.ssh/id_rsa", b"app.py")
    repository = find_repository(project)
    assert repository is not None
    with shadow_git(repository) as git, git.store.lock():
        taken = take_snapshot(git, home / "index")
    assert b"../.ssh/id_rsa" not in taken.paths
    before = tree_identity(project)
    (home / ".ssh" / "id_rsa").write_text("another", encoding="utf-8")
    assert tree_identity(project) == before


def test_names_in_the_index_that_leave_the_project_are_not_copied(
    project: Path, home: Path
) -> None:
    _git(project, "init", "-q")
    with (home / "payload").open("wb") as file:
        file.truncate(60 * 1024 * 1024)
    _write_index(project / ".git" / "index", b"../payload")
    place = home / "rooms" / "one"
    place.mkdir(parents=True)
    check_out(project, place)
    assert not (place / "payload").exists()


@pytest.mark.parametrize(
    "name", [b"../x", b"a/../../x", b"/etc/passwd", b".git/config", b"a/.GIT/x", b"./a", b"a//b"]
)
def test_a_name_that_may_leave_the_project_is_no_name_of_its_files(name: bytes) -> None:
    assert not is_inside(name)


def test_a_large_file_changed_in_place_is_another_tree(project: Path) -> None:
    _git(project, "init", "-q")
    path = project / "model.bin"
    path.write_bytes(b"a" * (17 << 20))
    before, times = tree_identity(project), path.stat()
    with path.open("r+b") as file:
        file.write(b"b")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert tree_identity(project) != before


@pytest.mark.parametrize("name", [".claude/app.py", "src/build/app.py", "dist/x.py"])
@pytest.mark.parametrize("with_git", [False, True])
def test_what_a_clean_room_holds_is_part_of_the_tree(
    project: Path, name: str, with_git: bool
) -> None:
    if with_git:
        _git(project, "init", "-q")
    path = project / name
    path.parent.mkdir(parents=True)
    path.write_text("one", encoding="utf-8")
    before = tree_identity(project)
    path.write_text("two", encoding="utf-8")
    assert tree_identity(project) != before
