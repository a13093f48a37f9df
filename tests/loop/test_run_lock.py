import os
from pathlib import Path

import pytest

from runner.errors import PrerequisiteError
from runner.loop.run_lock import run_lock


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
