import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.sandbox.overlay import MAX_NOTE_BYTES, Overlay, collect_note


@pytest.fixture
def overlay(tmp_path: Path) -> Overlay:
    made = Overlay(tmp_path / "project", tmp_path / "upper")
    made.project.mkdir()
    made.upper.mkdir()
    return made


def test_a_note_reaches_the_project(overlay: Overlay) -> None:
    (overlay.upper / ".runner-note.md").write_text("next: the parser — then tests\n")
    assert collect_note(overlay, str)
    assert (overlay.project / ".runner-note.md").read_text() == "next: the parser — then tests\n"


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"a\x1b[2Jb", b"a\x7fb", b"x" * (MAX_NOTE_BYTES + 1)],
    ids=["not UTF-8", "escape sequence", "delete", "too large"],
)
def test_a_note_that_is_no_plain_text_stays_behind(overlay: Overlay, content: bytes) -> None:
    (overlay.upper / ".runner-note.md").write_bytes(content)
    assert not collect_note(overlay, str)
    assert list(overlay.project.iterdir()) == []


def _link(note: Path) -> None:
    secret = note.parent.parent / "secret"
    secret.write_text("secret")
    note.symlink_to(secret)


def _nothing(note: Path) -> None:
    assert not note.exists()


@pytest.mark.parametrize("make", [_link, os.mkfifo, Path.mkdir, _nothing])
def test_only_a_regular_file_is_a_note(overlay: Overlay, make: Callable[[Path], None]) -> None:
    make(overlay.upper / ".runner-note.md")
    assert not collect_note(overlay, str)
    assert list(overlay.project.iterdir()) == []


def test_changes_are_listed_with_new_folders(overlay: Overlay) -> None:
    (overlay.project / "src").mkdir()
    for name in ("src/app.py", "new/deep/file"):
        (overlay.upper / name).parent.mkdir(parents=True, exist_ok=True)
        (overlay.upper / name).touch()
    assert overlay.changed_paths() == ("new", "new/deep", "new/deep/file", "src/app.py")
