import os
from pathlib import Path

import pytest

from runner.errors import PrerequisiteError
from runner.records.run_lock import Holder, current_holder, run_lock


def test_a_second_run_is_refused_and_told_who_holds_the_lock(tmp_path: Path) -> None:
    with (
        run_lock(tmp_path),
        pytest.raises(PrerequisiteError, match=f"process {os.getpid()} on "),
        run_lock(tmp_path),
    ):
        raise AssertionError


def test_the_lock_is_free_again_afterwards(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        assert (tmp_path / ".runner").is_dir()


def test_a_damaged_note_about_the_holder_is_no_obstacle(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        note = tmp_path / ".runner" / "autonomy" / "locks" / "run.holder.json"
        note.write_text("{", encoding="utf-8")
        with pytest.raises(PrerequisiteError, match="Another run is at work"), run_lock(tmp_path):
            raise AssertionError


NOTE = Path(".runner/autonomy/locks/run.holder.json")


def test_the_holder_is_known_while_it_holds(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        holder = current_holder(tmp_path)
    assert holder is not None
    assert holder.pid == os.getpid()


def test_nobody_holds_it_before_and_after(tmp_path: Path) -> None:
    before = current_holder(tmp_path)
    with run_lock(tmp_path):
        pass
    assert (before, current_holder(tmp_path)) == (None, None)


def test_looking_creates_nothing(tmp_path: Path) -> None:
    current_holder(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"pid": "1"}', "[" * 100_000])
def test_a_note_that_says_nothing_leaves_the_holder_unknown(note: str, tmp_path: Path) -> None:
    with run_lock(tmp_path):
        (tmp_path / NOTE).write_text(note)
        assert current_holder(tmp_path) == Holder()
