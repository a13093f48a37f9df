"""What the list of sessions shows of those that are silent, deleted or of another spec."""

from pathlib import Path
from typing import Any

from tests.autonomy.plane import Client
from tests.autonomy.surface import Caller, flag

from runner.autonomy.listing import Listing


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
