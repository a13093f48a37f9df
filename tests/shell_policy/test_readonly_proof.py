"""What counts as a change of a project, and what does not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.checkpoints.readonly_proof import ManifestEntry, compare, tree_manifest

NAMES = st.dictionaries(st.sampled_from("abcdef"), st.binary(max_size=3), max_size=6)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("src/app.py", ".git/HEAD", ".git/objects/ab/cd", ".git/refs/heads/build/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link").symlink_to("src")
    return tmp_path


def _changes(project: Path, act: Callable[[], object]) -> tuple[str, ...]:
    before = tree_manifest(project)
    act()
    return compare(before, tree_manifest(project, before))


def test_an_untouched_tree_has_no_differences(project: Path) -> None:
    assert _changes(project, lambda: None) == ()


@pytest.mark.parametrize(
    "name", ["src/app.py", ".git/HEAD", ".git/refs/heads/build/x", ".git/objects/ab/cd"]
)
def test_another_content_is_a_change(project: Path, name: str) -> None:
    assert _changes(project, lambda: (project / name).write_text("something else")) == (name,)


def test_a_new_content_of_the_same_size_with_the_old_time_is_a_change(project: Path) -> None:
    path = project / "src" / "app.py"
    found = path.stat()

    def forge() -> None:
        path.write_text("x" * found.st_size)
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    assert _changes(project, forge) == ("src/app.py",)


def test_a_rewrite_of_the_same_content_is_no_change(project: Path) -> None:
    path = project / "src" / "app.py"
    assert _changes(project, lambda: path.write_text("src/app.py")) == ()


def test_a_deleted_file_is_a_change(project: Path) -> None:
    assert _changes(project, (project / "src" / "app.py").unlink) == ("src/app.py",)


def test_new_files_and_folders_are_changes(project: Path) -> None:
    def make() -> None:
        (project / "new").mkdir()
        (project / "new" / "file").touch()

    assert _changes(project, make) == ("new", "new/file")


def test_a_mode_is_part_of_a_file(project: Path) -> None:
    assert _changes(project, lambda: (project / "src" / "app.py").chmod(0o755)) == ("src/app.py",)


def test_a_link_that_leads_elsewhere_is_a_change(project: Path) -> None:
    def move() -> None:
        (project / "link").unlink()
        (project / "link").symlink_to(".git")

    assert _changes(project, move) == ("link",)


def test_a_pipe_is_noticed_without_being_opened(project: Path) -> None:
    assert _changes(project, lambda: os.mkfifo(project / "pipe")) == ("pipe",)


@pytest.mark.parametrize(
    "name",
    [
        ".runner/status.json",
        ".runner-note.md",
        ".claude/.cc-writes/x",
        ".git/index",
        ".git/config.worktree",
        ".git/objects/info/alternates",
        "src/__pycache__/app.pyc",
        "node_modules/x/index.js",
        ".coverage",
    ],
)
def test_what_tools_write_in_passing_is_left_out(project: Path, name: str) -> None:
    path = project / name
    for parent in (".claude", ".git/objects/info"):
        (project / parent).mkdir(exist_ok=True)

    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    assert _changes(project, write) == ()


def test_a_file_that_was_not_touched_is_not_read_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.checkpoints.readonly_proof.times_tell", lambda _: True)
    before = tree_manifest(project)
    marked = {
        name: ManifestEntry(entry.identity, entry.mode, b"remembered")
        for name, entry in before.items()
    }
    assert tree_manifest(project, marked)["src/app.py"].digest == b"remembered"


@given(before=NAMES, after=NAMES)
def test_the_difference_is_exactly_what_differs(
    before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    expected = {n for n in {*before, *after} if before.get(n) != after.get(n)}
    old = {name: ManifestEntry((), 0, digest) for name, digest in before.items()}
    new = {name: ManifestEntry((), 0, digest) for name, digest in after.items()}
    assert set(compare(old, new)) == expected
