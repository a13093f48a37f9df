"""What stands in the place of a file of ours: pipes, devices, links, folders, rubbish."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.autonomy.plane import Client, write_status

from runner.autonomy.models import JournalEntry
from runner.autonomy.store.journal import Journal
from runner.autonomy.store.regular import read_regular

Damage = Callable[[Path], None]


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _folder(path: Path) -> None:
    path.mkdir()


DAMAGES = [_fifo, _device, _loop, _folder]


@pytest.fixture
def working(client: Client) -> Client:
    client.start()
    client.next()
    return client


def _replace(path: Path, damage: Damage) -> None:
    path.unlink()
    damage(path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_state_keeps_the_lock(working: Client, damage: Damage) -> None:
    _replace(working.session_file(), damage)
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_state_is_shown_as_damage(working: Client, damage: Damage) -> None:
    _replace(working.session_file(), damage)
    assert working.ok("session", "status")["failure_reason"] == "state_corrupt"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_state_does_not_break_the_list(working: Client, damage: Damage) -> None:
    _replace(working.session_file(), damage)
    rows = working.ok("session", "list")["sessions"]
    assert [row["session_id"] for row in rows] == [working.session_id]


@pytest.mark.parametrize("damage", [_fifo, _device, _loop])
def test_a_replaced_state_can_be_given_up(working: Client, damage: Damage) -> None:
    _replace(working.session_file(), damage)
    working.ok("session", "reset", session_id=working.session_id)
    working.start()


@pytest.mark.parametrize("damage", DAMAGES)
def test_making_a_state_anew_where_it_cannot_be_keeps_the_lock(
    working: Client, damage: Damage
) -> None:
    _replace(working.session_file(), damage)
    assert working.refused("session", "resume", force=True) == "STATE_UNWRITABLE"
    os.rename(working.session_file(), working.workspace / "away")  # noqa: PTH104 - not followed
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"


def test_a_deleted_state_is_in_the_list(working: Client) -> None:
    working.session_file().unlink()
    rows = working.ok("session", "list")["sessions"]
    assert [(row["session_id"], row["status"]) for row in rows] == [(working.session_id, "failed")]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_journal_is_a_warning(working: Client, damage: Damage) -> None:
    _replace(working.journal_file, damage)
    envelope = working.call("session", "pause")
    assert "journal can't be read" in " ".join(envelope["meta"]["warnings"])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_index_says_what_to_do(working: Client, damage: Damage) -> None:
    index = working.workspace / ".runner/autonomy/index/spec_active_index.json"
    _replace(index, damage)
    envelope = working.call("session", "start")
    assert "Remove it" in envelope["data"]["remediation"]
    repair, look = envelope["data"]["recommended_actions"]
    assert repair["action"] == "repair"
    assert working.call(*look["command"].split()[1:])["success"]


def test_an_index_that_names_no_session_is_damaged(working: Client) -> None:
    index = working.workspace / ".runner/autonomy/index/spec_active_index.json"
    index.write_text(json.dumps({"_schema_version": 1, "active": {"demo": "../../x"}}))
    assert working.refused("session", "status") == "SESSION_UNRECOVERABLE"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_receipt_is_a_warning(working: Client, damage: Damage) -> None:
    receipts = working.workspace / ".runner/autonomy/receipts"
    receipts.mkdir(exist_ok=True)
    damage(receipts / f"{working.session_id}-step.json")
    working.ok("session", "pause")
    envelope = working.call("session", "resume")
    assert "receipts can't be read" in " ".join(envelope["meta"]["warnings"])


@pytest.mark.parametrize("damage", [_fifo, _device, _loop, _folder])
def test_a_replaced_secret_says_what_is_wrong_with_it(working: Client, damage: Damage) -> None:
    _replace(working.workspace.parent / "key" / "autonomy.key", damage)
    fresh = Client(working.workspace, working.clock)
    envelope = fresh.call("session", "status", session_id=working.session_id)
    assert "autonomy.key" in envelope["error"]
    assert "check its owner" in envelope["data"]["remediation"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_replaced_note_holds_nobody_up(working: Client, damage: Damage) -> None:
    notes = working.workspace.parent / "key" / "anchors"
    _replace(next(notes.glob(f"*/{working.session_id}")), damage)
    envelope = working.call("step", "heartbeat", context_usage_pct=1)
    assert envelope["success"]
    assert "can't be noted" in " ".join(envelope["meta"]["warnings"])


@pytest.fixture(params=["", "sessions", "journal", "locks", "index", "reviews", "receipts"])
def linked(request: pytest.FixtureRequest, workspace: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder of the state that a repository has replaced by a link to elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = workspace / ".runner" / "autonomy" / request.param
    folder.parent.mkdir(exist_ok=True)
    folder.symlink_to(elsewhere)
    yield elsewhere
    shutil.rmtree(elsewhere)


def test_no_session_is_started_behind_a_link(workspace: Path, linked: Path) -> None:
    assert Client(workspace).refused("session", "start") == "STATE_UNWRITABLE"
    assert list(linked.iterdir()) == []


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.autonomy.store.regular.MAX_BYTES", 10)
    (tmp_path / "file").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="too large"):
        read_regular(tmp_path / "file")


def test_a_file_is_read_to_its_end_whatever_its_size_says(monkeypatch: pytest.MonkeyPatch) -> None:
    unsized = Path("/proc/self/cmdline")  # its size is said to be 0
    assert read_regular(unsized) == unsized.read_bytes()
    monkeypatch.setattr("runner.autonomy.store.regular.MAX_BYTES", 10)
    with pytest.raises(OSError, match="too large"):
        read_regular(unsized)


def test_many_lines_of_rubbish_are_not_read_through_on_every_call(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"seq": 1}\n' + b"\n" * 5_000)
    tail = Journal(path).tail()
    assert (tail.seq, tail.end) == (0, path.stat().st_size)


def test_a_page_over_large_entries_is_whole(working: Client, tmp_path: Path) -> None:
    line = working.journal_file.read_text(encoding="utf-8").splitlines()[0]
    document = {k: v for k, v in json.loads(line).items() if k != "prev"}
    entries = [
        JournalEntry.model_validate_json(
            json.dumps({**document, "seq": seq, "content": f"{seq}" * 50_000})
        )
        for seq in (1, 2, 3)
    ]
    journal = Journal(tmp_path / "large.jsonl")
    journal.append(entries)
    assert [entry["seq"] for entry in journal.page(2).entries] == [3, 2]


def test_half_a_character_in_a_title_stops_nobody(tmp_path: Path) -> None:
    workspace = tmp_path / "demo"
    path = write_status(workspace, {"p1": ["A-001"]})
    document = json.loads(path.read_text(encoding="utf-8"))
    document["deliverables"][0]["description"] = "cut \ud83d"
    document["phases"][0]["title"] = "\udc00"
    path.write_text(json.dumps(document), encoding="utf-8")
    client = Client(workspace)
    client.start()
    assert client.next()["next_step"]["task_title"] == "cut ?"


def test_half_a_character_in_a_command_is_told(tmp_path: Path) -> None:
    workspace = tmp_path / "demo"
    path = write_status(workspace, {"p1": ["A-001"]}, commands={"p1": ["echo \ud83d"]})
    envelope = Client(workspace).call("session", "start")
    assert envelope["data"]["error_code"] == "SPEC_NOT_FOUND"
    assert str(path) in envelope["error"]


def test_a_folder_whose_name_is_no_unicode_stops_nobody(tmp_path: Path) -> None:
    workspace = tmp_path / os.fsdecode(b"demo\xff")
    write_status(workspace, {"p1": ["A-001"]})
    client = Client(workspace)
    client.start()
    assert client.finish()[-1] == "complete_spec"
