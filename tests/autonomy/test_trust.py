"""What is kept outside the workspace, and what is made with it: seals, notes, signing keys."""

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.autonomy.kit import KEY, START

from runner.autonomy.store.anchors import Anchor, Anchors
from runner.autonomy.store.keyring import LIFETIME, KeyRing
from runner.autonomy.store.trust import Sealer
from runner.errors import StateCorruptError, StateError

SEALER = Sealer(lambda: KEY, "/project")
CONTENT = b'{"_schema_version":2,"id":"auto_1","gate":"pending"}'
ID = "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_what_was_sealed_is_opened() -> None:
    assert SEALER.open(SEALER.close(CONTENT)) == CONTENT


@given(st.data())
def test_any_changed_byte_breaks_the_seal(data: st.DataObject) -> None:
    sealed = bytearray(SEALER.close(CONTENT))
    place = data.draw(st.integers(0, len(sealed) - 1))
    sealed[place] ^= data.draw(st.integers(1, 255))
    assert SEALER.open(bytes(sealed)) is None


@given(st.binary(max_size=200))
def test_nothing_but_a_sealed_object_is_opened(content: bytes) -> None:
    assert SEALER.open(content) is None


@pytest.mark.parametrize(
    "sealer", [Sealer(lambda: b"x" * 32, "/project"), Sealer(lambda: KEY, "/elsewhere")]
)
def test_a_seal_is_of_one_secret_and_one_place(sealer: Sealer) -> None:
    assert sealer.open(SEALER.close(CONTENT)) is None


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path, "/project")
    assert anchors.read(ID) is None
    anchors.write(ID, Anchor(7, live=True, spec_id="demo"))
    anchors.write(ID, Anchor(8, live=True, spec_id="demo"))
    assert anchors.read(ID) == Anchor(8, live=True, spec_id="demo")
    assert list(anchors.live()) == [(ID, Anchor(8, live=True, spec_id="demo"))]


def test_a_session_that_is_over_is_not_live(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path, "/project")
    anchors.write(ID, Anchor(7, live=False, spec_id="demo"))
    assert list(anchors.live()) == []
    assert anchors.read(ID) is not None


def test_notes_are_forgotten_on_purpose_only(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path, "/project")
    anchors.write(ID, Anchor(7, live=True, spec_id="demo"))
    anchors.forget(ID)
    anchors.forget(ID)
    assert anchors.read(ID) is None


@pytest.mark.parametrize(
    ("days", "exists", "kept"), [(91, False, False), (89, False, True), (91, True, True)]
)
def test_notes_of_a_workspace_that_is_long_gone_are_removed(
    tmp_path: Path, days: int, exists: bool, kept: bool
) -> None:
    place = tmp_path / "project"
    if exists:
        place.mkdir()
    anchors = Anchors(tmp_path, str(place))
    anchors.write(ID, Anchor(7, live=True, spec_id="demo"))
    anchors.sweep(datetime.now(UTC) + timedelta(days=days))
    assert (anchors.read(ID) is not None) is kept


def test_sweeping_where_nothing_was_noted_is_no_error(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path, "/project")
    anchors.sweep(datetime.now(UTC))
    assert list(anchors.live()) == []


@pytest.mark.parametrize("content", [b"", b"\xff", b"x live demo", b"1 maybe demo", b"1 live"])
def test_a_damaged_note_says_nothing(tmp_path: Path, content: bytes) -> None:
    anchors = Anchors(tmp_path, "/project")
    anchors.write(ID, Anchor(7, live=True, spec_id="demo"))
    [path] = (tmp_path / "anchors").rglob(ID)
    path.write_bytes(content)
    assert anchors.read(ID) is None


def test_two_workspaces_share_no_notes(tmp_path: Path) -> None:
    Anchors(tmp_path, "/project").write(ID, Anchor(7, live=True, spec_id="demo"))
    assert Anchors(tmp_path, "/copy").read(ID) is None


def test_a_signing_key_is_made_once_and_private(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "state")
    key = ring.current(START)
    assert ring.current(START) == key == KeyRing(tmp_path / "state").find(key.id)
    path = tmp_path / "state" / "evidence-keys.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key.secret not in repr(key)


def test_many_who_make_a_signing_key_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: KeyRing(tmp_path).current(START).id, range(16)))
    assert len(keys) == 1


def test_rotation_retires_the_key_and_keeps_it_for_what_it_signed(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    old = ring.current(START)
    new = ring.rotate(START + timedelta(hours=1))
    assert ring.current(START) == new != old
    retired = ring.find(old.id)
    assert retired is not None
    assert retired.signs_at(START + timedelta(hours=1))
    assert not retired.signs_at(START + timedelta(hours=2))


def test_a_key_signs_for_a_month_and_then_its_successor_does(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    old = ring.current(START)
    assert ring.current(START + LIFETIME - timedelta(seconds=1)) == old
    new = ring.current(START + LIFETIME)
    assert new != old
    assert ring.current(START + LIFETIME) == new
    retired = ring.find(old.id)
    assert retired is not None
    assert retired.signs_at(START)


def test_many_who_find_a_key_too_old_make_one_successor(tmp_path: Path) -> None:
    KeyRing(tmp_path).current(START)
    later = START + LIFETIME
    with ThreadPoolExecutor() as pool:
        keys = set(pool.map(lambda _: KeyRing(tmp_path).current(later).id, range(16)))
    assert len(keys) == 1


def test_a_key_that_can_verify_nothing_any_more_is_forgotten(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    old = ring.current(START)
    ring.rotate(START)
    ring.rotate(START + timedelta(days=69))
    assert ring.find(old.id) is not None
    ring.rotate(START + timedelta(days=70))
    assert ring.find(old.id) is None


@pytest.mark.parametrize("content", ["", "{}", '{"_schema_version": 2, "keys": []}', "\x00"])
def test_a_damaged_key_ring_is_not_replaced_in_silence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "evidence-keys.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StateCorruptError):
        KeyRing(tmp_path).current(START)
    assert path.read_text(encoding="utf-8") == content


def test_a_key_ring_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(StateError):
        KeyRing(tmp_path / "file" / "state").current(START)


def test_a_folder_in_the_key_rings_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "evidence-keys.json").mkdir()
    with pytest.raises(StateError):
        KeyRing(tmp_path).keys()
