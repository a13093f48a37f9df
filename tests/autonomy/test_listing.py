"""What the list of sessions shows of those that are silent, deleted or of another spec."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client
from tests.autonomy.surface import Caller, flag

from runner.autonomy.commands.listing import Listing

SESSION = "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def _rows(client: Client, **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.ok("session", "list", **params)["sessions"]
    return rows


def _deleted(client: Client) -> Client:
    client.start()
    client.session_file().unlink()
    return client


def test_a_session_whose_file_was_deleted_is_listed_as_failed(client: Client) -> None:
    [row] = _rows(_deleted(client))
    assert (row["status"], row["failure_reason"]) == ("failed", "state_corrupt")
    assert row["session_id"] == client.session_id


def test_a_deleted_session_is_found_by_its_spec(client: Client) -> None:
    _deleted(client)
    assert len(_rows(client, spec_id="demo")) == 1
    assert _rows(client, spec_id="other") == []


def test_a_deleted_session_is_the_latest_of_its_own_spec_only(client: Client) -> None:
    listing = Listing(_deleted(client).plane.core)
    found = listing.latest("demo")
    assert found is not None
    assert found["status"] == "failed"
    assert listing.latest("other") is None


def test_without_heartbeats_nobody_counts_as_silent(workspace: Path) -> None:
    caller = Caller(workspace, environ=flag("autonomy_context_heartbeat"))
    with_heartbeats = Caller(workspace, clock=caller.clock)
    with_heartbeats.start()
    caller.clock.wait(minutes=6)
    assert _rows(with_heartbeats)[0]["effective_status"] == "paused"
    assert _rows(caller)[0]["effective_status"] == "running"
    latest = Listing(caller.plane.core).latest("demo")
    assert latest is not None
    assert latest["effective_status"] == "running"


def test_a_silent_session_is_reckoned_as_the_pause_that_it_will_be(client: Client) -> None:
    client.start()
    client.clock.wait(minutes=6)
    status = client.ok("session", "status")
    assert (status["session_signal"], status["next_action_hint"]) == (
        "paused_needs_attention",
        None,
    )
    assert [action["action"] for action in status["recommended_actions"]] == ["resume"]


def _cursor(kind: str, position: list[Any]) -> str:
    content = json.dumps({"v": 1, "k": kind, "p": position}).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "position",
    [
        ["2026-01-01T00:00:00", SESSION, "", ""],
        ["yesterday", SESSION, "", ""],
        ["2026-01-01T00:00:00+00:00", "not-a-session", "", ""],
        ["2026-01-01T00:00:00+00:00", SESSION],
        ["2026-01-01T00:00:00+00:00", SESSION, "", "", ""],
    ],
)
def test_a_forged_cursor_of_sessions_is_refused(client: Client, position: list[str]) -> None:
    cursor = _cursor("sessions", position)
    assert client.refused("session", "list", cursor=cursor) == "INVALID_CURSOR"


@pytest.mark.parametrize("filters", [{"status_filter": "running"}, {"spec_id": "demo"}])
def test_a_cursor_of_a_list_with_other_filters_is_refused(
    client: Client, filters: dict[str, str]
) -> None:
    client.start()
    client.start(force=True)
    page = client.call("session", "list", limit=1)
    cursor = page["meta"]["pagination"]["cursor"]
    assert client.refused("session", "list", limit=1, cursor=cursor, **filters) == "INVALID_CURSOR"


@pytest.mark.parametrize("end", [-1, 0, 1, 7, 10**6, 2**70])
def test_a_cursor_that_is_at_no_line_end_of_the_journal_is_refused(
    client: Client, end: int
) -> None:
    client.start()
    cursor = _cursor("journal", [client.session_id, end])
    assert client.refused("session", "events", cursor=cursor) == "INVALID_CURSOR"


def test_the_progress_of_the_active_phase_counts_what_is_blocked_and_what_is_left(
    client: Client,
) -> None:
    client.ok("task", "block", task_id="A-002")
    client.start()
    progress = client.ok("session", "status")["active_phase_progress"]
    counts = {name: value for name, value in progress.items() if name.startswith("tasks_")}
    assert counts == {
        "tasks_total": 2,
        "tasks_completed": 0,
        "tasks_blocked": 1,
        "tasks_remaining": 1,
    }
    assert progress["percent_complete"] == 0
