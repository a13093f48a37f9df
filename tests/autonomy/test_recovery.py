"""Ways out of a session that can't go on, whatever else is gone."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.autonomy.plane import Client

LAST_SEEN = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def _index(client: Client) -> Path:
    return client.workspace / ".runner/autonomy/index"


def _without_spec(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    (client.workspace / ".runner" / "status.json").unlink()
    assert client.next(client.report(step))["failure_reason"] == "spec_not_found"


def test_a_forced_resume_without_the_spec_is_refused(client: Client) -> None:
    _without_spec(client)
    assert client.refused("session", "resume", force=True) == "SESSION_UNRECOVERABLE"


def test_a_forced_resume_goes_on_when_the_spec_is_back(client: Client) -> None:
    path = client.workspace / ".runner" / "status.json"
    spec = path.read_bytes()
    _without_spec(client)
    path.write_bytes(spec)
    assert client.ok("session", "resume", force=True)["status"] == "running"


@pytest.fixture
def stranded(client: Client) -> Client:
    """A client whose session is damaged and whose index is gone."""
    client.start()
    client.session_file().write_text("{", encoding="utf-8")
    shutil.rmtree(_index(client))
    return client


def test_a_damaged_session_is_shown_without_an_index(stranded: Client) -> None:
    status = stranded.ok("session", "status", session_id=stranded.session_id)
    assert (status["failure_reason"], status["spec_id"]) == ("state_corrupt", "demo")


def test_a_damaged_session_is_listed_without_an_index(stranded: Client) -> None:
    [row] = stranded.ok("session", "list")["sessions"]
    assert (row["session_id"], row["status"]) == (stranded.session_id, "failed")


def test_a_damaged_session_can_be_reset_without_an_index(stranded: Client) -> None:
    old = stranded.session_id
    stranded.ok("session", "reset", session_id=old)
    assert stranded.start()["session_id"] != old


def test_a_session_that_vanished_with_its_folder_can_be_reset(client: Client) -> None:
    client.start()
    shutil.rmtree(client.workspace / ".runner" / "autonomy")
    client.ok("session", "reset", session_id=client.session_id)
    assert client.start()["status"] == "running"


@pytest.fixture
def replaced(client: Client) -> tuple[Client, str]:
    """A client whose session was lost with its folder, and replaced; and the lost one's id."""
    client.start()
    lost = client.session_id
    note = next((client.workspace.parent / "key/anchors").rglob(lost))
    os.utime(note, (LAST_SEEN.timestamp(), LAST_SEEN.timestamp()))
    shutil.rmtree(client.workspace / ".runner" / "autonomy")
    client.start()
    return client, lost


def test_a_session_tells_of_the_lost_one_that_it_stands_in_for(
    replaced: tuple[Client, str],
) -> None:
    client, lost = replaced
    row = {"session_id": lost, "spec_id": "demo", "last_seen_at": "2026-02-03T04:05:06Z"}
    client.next()
    assert client.ok("session", "status")["lost_sessions"] == [row]


def test_the_journal_tells_of_a_lost_session(replaced: tuple[Client, str]) -> None:
    client, lost = replaced
    [entry] = [e for e in client.journal() if e["title"] == "Live session lost"]
    assert (entry["data"]["session_id"], "2026-02-03T04:05:06" in entry["content"]) == (lost, True)


def test_a_session_that_was_over_is_not_lost(client: Client) -> None:
    client.start()
    client.ok("session", "end")
    shutil.rmtree(client.workspace / ".runner" / "autonomy")
    assert client.start()["lost_sessions"] == []


def test_what_is_in_the_way_of_a_start_says_how_to_remove_it(client: Client) -> None:
    client.start()
    client.session_file().write_text("{", encoding="utf-8")
    actions = client.call("session", "start")["data"]["recommended_actions"]
    assert f"runner session reset --session-id {client.session_id}" in {
        action.get("command") for action in actions
    }


def test_maintenance_makes_nothing_in_a_folder_without_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert Client(folder).plane.maintain() == {"paused": 0, "removed": 0}
    assert list(folder.iterdir()) == []


def test_an_ended_session_says_how_to_begin_anew(client: Client) -> None:
    client.start()
    [shown] = client.ok("session", "end")["recommended_actions"]
    [answered] = client.ok("step", "next", session_id=client.session_id)["recommended_actions"]
    assert shown == answered
    assert shown["command"] == "runner session start"


def test_a_parameter_may_not_have_the_name_of_an_argument(client: Client) -> None:
    for name in ("self", "group", "command"):
        assert client.plane.call("session", "list", **{name: 1})["data"]["details"] == {
            "field": name,
            "problem": "extra_forbidden",
        }
