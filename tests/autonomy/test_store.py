"""Session files, the outbox and the collector, each by itself."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.kit import Caller, make_spec
from tests.autonomy.plane import Client, statuses, write_status

from runner.autonomy.enums import SessionStatus, TaskStatus
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import Outbox, SessionState, TaskChange
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.file_store import settle
from runner.autonomy.store.gc import has_expired
from runner.autonomy.store.journal import Journal
from runner.autonomy.store.layout import Layout
from runner.autonomy.store.sessions import SessionFiles
from runner.autonomy.store.trust import Trust
from runner.errors import StateCorruptError, StateError

ID = "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = "auto_01ARZ3NDEKTSV4RRFFQ69G5FAW"


def _state(**changes: Any) -> SessionState:
    caller = Caller(make_spec({"p1": ["A-001"]}))
    return caller.state.evolve(id=ID, **changes)


def _files(root: Path) -> SessionFiles:
    trust = Trust(root / "key")
    return SessionFiles(Layout(root), trust.sealer(root), trust.anchors(root))


@pytest.fixture
def files(tmp_path: Path) -> SessionFiles:
    return _files(tmp_path)


def _path(tmp_path: Path) -> Path:
    return Layout(tmp_path).session(ID)


def test_what_was_written_is_read(files: SessionFiles) -> None:
    state = _state()
    files.write(state)
    assert files.read(ID) == state
    assert list(files.ids()) == [ID]


def test_a_session_that_is_not_there_is_none(files: SessionFiles) -> None:
    assert files.read(ID) is None
    assert list(files.ids()) == []
    files.delete(ID)


def test_a_file_that_holds_another_session_is_refused(files: SessionFiles, tmp_path: Path) -> None:
    files.write(_state())
    _path(tmp_path).rename(Layout(tmp_path).session(OTHER))
    with pytest.raises(StateCorruptError):
        files.read(OTHER)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"_schema_version": 1}']
)
def test_a_damaged_file_is_refused_and_left_alone(
    files: SessionFiles, tmp_path: Path, content: bytes
) -> None:
    files.write(_state())
    _path(tmp_path).write_bytes(content)
    with pytest.raises((StateCorruptError, MigrationError)):
        files.read(ID)
    assert _path(tmp_path).read_bytes() == content


def test_a_valid_file_of_a_newer_schema_is_refused(files: SessionFiles, tmp_path: Path) -> None:
    files.write(_state())
    document = json.loads(_path(tmp_path).read_bytes()) | {"_schema_version": 99}
    _path(tmp_path).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(MigrationError):
        files.read(ID)


def test_a_folder_in_a_files_place_is_an_error(files: SessionFiles, tmp_path: Path) -> None:
    _path(tmp_path).mkdir(parents=True)
    with pytest.raises(StateError):
        files.read(ID)
    with pytest.raises(StateError):
        files.write(_state())
    with pytest.raises(StateError):
        files.delete(ID)


def test_a_file_in_a_folders_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("", encoding="utf-8")
    with pytest.raises(StateError):
        _files(tmp_path).write(_state())


class _Outboxes:
    """An outbox with one entry and one change, and what it is applied to."""

    def __init__(self, tmp_path: Path) -> None:
        write_status(tmp_path, {"p1": ["A-001"]})
        self.workspace = tmp_path
        self.journal = Journal(tmp_path / "journal.jsonl")
        self.source = SpecSource(tmp_path, lock_timeout=0.1)
        caller = Caller(make_spec({"p1": ["A-001"]}))
        change = TaskChange(task_id="A-001", status=TaskStatus.PASSED)
        self.outbox = Outbox(entries=(caller.journal[0],), changes=(change,))

    def settle(self) -> tuple[Outbox, int]:
        settled = settle(self.outbox, self.journal, self.source)
        return settled.outbox, len(settled.warnings)


def test_an_outbox_is_applied_once(tmp_path: Path) -> None:
    world = _Outboxes(tmp_path)
    for _ in range(3):
        assert world.settle() == (Outbox(), 0)
    assert statuses(tmp_path)["A-001"] == "passed"
    assert len(world.journal.page(10).entries) == 1


def test_an_applied_outbox_does_not_undo_a_later_change(tmp_path: Path) -> None:
    world = _Outboxes(tmp_path)
    world.settle()
    write_status(tmp_path, {"p1": ["A-001"]})
    world.settle()
    assert statuses(tmp_path)["A-001"] == "pending"


def test_a_status_that_cannot_be_written_keeps_everything(tmp_path: Path) -> None:
    world = _Outboxes(tmp_path)
    (tmp_path / ".runner" / "status.json").unlink()
    assert world.settle() == (world.outbox, 1)
    assert world.journal.tail().seq == 0


def test_a_journal_that_cannot_be_written_keeps_its_entries(tmp_path: Path) -> None:
    world = _Outboxes(tmp_path)
    world.journal = Journal(tmp_path / ".runner" / "status.json" / "journal.jsonl")
    outbox, warnings = world.settle()
    assert (outbox.entries, warnings) == (world.outbox.entries, 1)


@pytest.mark.parametrize(
    ("status", "days", "expired"),
    [
        ("completed", 6, False),
        ("completed", 8, True),
        ("ended", 8, True),
        ("failed", 8, False),
        ("failed", 31, True),
        ("paused", 400, False),
        ("running", 400, False),
    ],
)
def test_sessions_expire_by_their_status(status: str, days: int, expired: bool) -> None:
    state = _state(status=SessionStatus(status))
    assert has_expired(state, state.updated_at + timedelta(days=days)) is expired


def test_a_reset_whose_journal_cannot_be_written_says_so(client: Client) -> None:
    client.start()
    client.session_file().write_text("{", encoding="utf-8")
    journal = client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl"
    journal.unlink()
    journal.mkdir()
    envelope = client.call("session", "reset", session_id=client.session_id)
    assert envelope["success"]
    assert envelope["meta"]["warnings"]


def test_old_journals_of_reset_sessions_go_and_young_ones_stay(client: Client) -> None:
    client.start()
    client.session_file().write_text("{", encoding="utf-8")
    client.ok("session", "reset", session_id=client.session_id)
    journal = client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl"
    client.start()
    assert journal.exists()
    client.clock.now += timedelta(days=400 * 30)
    client.start(force=True)
    assert not journal.exists()
