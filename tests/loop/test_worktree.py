import os
from pathlib import Path

import pytest

from runner.checkpoints.fingerprint import WorkTree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("a", encoding="utf-8")
    return tmp_path


def changed_by(root: Path, change: str, text: str = "new") -> bool:
    tree = WorkTree(root)
    before = tree.fingerprint()
    target = root / change
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return tree.fingerprint() != before


def test_an_untouched_tree_keeps_its_fingerprint(root: Path) -> None:
    tree = WorkTree(root)
    assert tree.fingerprint() == tree.fingerprint()


@pytest.mark.parametrize("path", ["new.py", "src/a.py", "src/deep/er/b.txt", ".env"])
def test_a_changed_or_new_file_shows(root: Path, path: str) -> None:
    assert changed_by(root, path)


@pytest.mark.parametrize(
    "path",
    [
        ".runner-note.md",
        ".runner/status.json",
        "src/__pycache__/a.pyc",
        "node_modules/x/index.js",
        ".git/index",
        ".pytest_cache/v",
    ],
)
def test_what_is_no_work_does_not_show(root: Path, path: str) -> None:
    assert not changed_by(root, path)


def test_a_removed_file_shows(root: Path) -> None:
    tree = WorkTree(root)
    before = tree.fingerprint()
    (root / "src" / "a.py").unlink()
    assert tree.fingerprint() != before


def test_rewriting_the_same_content_does_not_show(root: Path) -> None:
    assert not changed_by(root, "src/a.py", "a")


def test_a_new_commit_shows(root: Path) -> None:
    assert changed_by(root, ".git/HEAD", "0123\n")


def test_a_commit_on_a_branch_shows(root: Path) -> None:
    (root / ".git" / "refs" / "heads").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert changed_by(root, ".git/refs/heads/main", "0123\n")


def test_a_link_out_of_the_tree_is_not_followed(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (root / "link").symlink_to(outside)
    tree = WorkTree(root)
    before = tree.fingerprint()
    (outside / "x").write_text("x", encoding="utf-8")
    assert tree.fingerprint() == before


def test_a_file_that_can_not_be_opened_is_no_error(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert WorkTree(root).fingerprint()


def test_a_pipe_in_place_of_a_repository_head_is_not_waited_for(root: Path) -> None:
    (root / ".git").mkdir()
    os.mkfifo(root / ".git" / "HEAD")
    assert WorkTree(root).fingerprint()
