"""The local secret: made once, private, never guessed at."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.autonomy.store.trust import load_key
from runner.errors import StateCorruptError, StateError


def test_the_secret_is_made_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    key = load_key(folder)
    assert load_key(folder) == key
    assert len(key) == 32
    assert stat.S_IMODE((folder / "autonomy.key").stat().st_mode) == 0o600


def test_many_who_make_it_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: load_key(tmp_path / "state"), range(32)))
    assert len(keys) == 1
    assert [p.name for p in (tmp_path / "state").iterdir()] == ["autonomy.key"]


@pytest.mark.parametrize("content", ["", "short", "zz" * 32, "00" * 31])
def test_a_damaged_secret_is_not_replaced_in_silence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "autonomy.key"
    path.write_text(content, encoding="ascii")
    with pytest.raises(StateCorruptError):
        load_key(tmp_path)
    assert path.read_text(encoding="ascii") == content


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(StateError):
        load_key(tmp_path / "file" / "state")
