"""How the skill goes on after time has passed: the ways that it names lead somewhere."""

from typing import Any

import pytest
from tests.server.mcp_client import McpClient, in_the_past

_PATIENT = {"heartbeat_grace_minutes": 60, "heartbeat_stale_minutes": 61}


def _expired(client: McpClient) -> dict[str, Any]:
    """Return a step that was issued so long ago that its proof allows no change any more."""
    earlier = in_the_past(client, minutes=20)
    earlier.start(**_PATIENT, step_proof_ttl_minutes=15)
    step: dict[str, Any] = earlier.next()["next_step"]
    return step


def _refused_with(client: McpClient, report: dict[str, Any]) -> str:
    envelope = client.call("step", "next", last_step_result=report)
    return str(envelope["data"]["error_code"])


@pytest.mark.process
def test_showing_an_expired_step_again_does_not_renew_its_proof(client: McpClient) -> None:
    step = _expired(client)
    proof = client.ok("step", "replay")["next_step"]["step_proof_token"]
    change = client.call("task", "complete", task_id=step["task_id"], autonomy_step_proof=proof)
    assert change["data"]["error_code"] == "STEP_PROOF_INVALID"


def test_a_report_that_comes_after_its_proof_has_expired_counts(client: McpClient) -> None:
    step = _expired(client)
    assert client.next(client.report(step))["next_step"]["task_id"] != step["task_id"]


def test_after_a_pause_and_a_resume_the_work_comes_again_with_a_proof_that_holds(
    client: McpClient,
) -> None:
    step = _expired(client)
    client.ok("session", "pause")
    client.ok("session", "resume")
    again = client.next()["next_step"]
    assert (again["task_id"], again["type"]) == (step["task_id"], step["type"])
    assert again["step_id"] != step["step_id"]
    assert client.next(client.report(again))["next_step"]["task_id"] != step["task_id"]


def test_a_step_that_was_reported_long_ago_is_no_longer_the_outstanding_one(
    client: McpClient,
) -> None:
    earlier = in_the_past(client, minutes=20)
    earlier.start(**_PATIENT)
    step = earlier.next()["next_step"]
    report = earlier.report(step)
    following = earlier.next(report)["next_step"]
    assert _refused_with(client, report) == "STEP_PROOF_EXPIRED"
    assert client.ok("session", "status")["last_step_id"] != step["step_id"]
    assert client.ok("step", "replay")["next_step"]["step_id"] == following["step_id"]


def test_a_session_whose_worker_fell_silent_is_resumed_by_what_the_list_says(
    client: McpClient,
) -> None:
    earlier = in_the_past(client, minutes=30)
    earlier.start()
    step = earlier.next()["next_step"]
    (row,) = client.ok("session", "list")["sessions"]
    assert (row["status"], row["effective_status"]) == ("running", "paused")
    client.ok("session", "resume", session_id=row["session_id"])
    assert client.next()["next_step"]["task_id"] == step["task_id"]
