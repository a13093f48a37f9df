"""Clocks that go back: nothing that has expired is valid again, and somebody is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.autonomy.plane import Client, write_status

from runner.autonomy.engine.clock import TOLERANCE

Json = dict[str, Any]
LONG = {"heartbeat_grace_minutes": 99_999, "heartbeat_stale_minutes": 100_000}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    return Client(workspace)


def answered(client: Client, report: Json) -> Json:
    return client.call("step", "next", last_step_result=report)


def code(envelope: Json) -> str | None:
    return None if envelope["success"] else envelope["data"]["error_code"]


def journal_titles(client: Client) -> list[str]:
    lines = (client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl").read_text()
    return [json.loads(line)["title"] for line in lines.splitlines()]


@pytest.mark.parametrize("back", [{"days": 1}, {"minutes": 1}, {"seconds": 11}])
def test_a_report_from_before_its_step_was_issued_is_refused(client: Client, back: Json) -> None:
    client.start(**LONG)
    report = client.report(client.next()["next_step"])
    client.clock.wait(**{unit: -amount for unit, amount in back.items()})
    assert code(answered(client, report)) == "STEP_PROOF_INVALID"


def test_a_change_from_before_its_step_was_issued_is_refused(client: Client) -> None:
    client.start(**LONG)
    token = client.next()["next_step"]["step_proof_token"]
    client.clock.wait(days=-1)
    named = {"task_id": "A-001", "autonomy_step_proof": token}
    assert client.refused("task", "start", **named) == "STEP_PROOF_INVALID"


def test_evidence_from_before_it_was_made_is_refused(client: Client) -> None:
    step = client.at_gate(**LONG, enforce_autonomy_write_lock=False, reason_code="t", reason="t")
    report = client.reviewed(step)
    client.clock.wait(days=-1)
    assert code(answered(client, report)) == "INVALID_GATE_EVIDENCE"


def change_of(client: Client, step: Json) -> Callable[[], Json]:
    """Return what changes the deliverable of a step with its proof."""
    proof = {"autonomy_step_proof": step["step_proof_token"]}
    return lambda: client.call("task", "start", task_id=step["task_id"], **proof)


def test_a_small_correction_of_the_clock_is_no_matter(client: Client) -> None:
    client.start(**LONG)
    report = client.report(client.next()["next_step"])
    client.clock.now -= TOLERANCE
    envelope = answered(client, report)
    assert (envelope["success"], envelope["meta"].get("warnings", [])) == (True, [])


def test_an_expired_proof_does_not_live_again_when_the_clock_is_set_back(client: Client) -> None:
    client.start(step_proof_ttl_minutes=5, **LONG)
    change = change_of(client, client.next()["next_step"])
    client.clock.wait(minutes=6)
    assert code(change()) == "STEP_PROOF_INVALID"
    client.clock.wait(minutes=-4)
    assert code(change()) == "STEP_PROOF_INVALID"


def test_time_that_was_seen_by_a_heartbeat_counts(client: Client) -> None:
    client.start(step_proof_ttl_minutes=5, **LONG)
    change = change_of(client, client.next()["next_step"])
    client.clock.wait(minutes=6)
    client.ok("step", "heartbeat", context_usage_pct=1)
    client.clock.wait(minutes=-4)
    assert code(change()) == "STEP_PROOF_INVALID"


def test_a_used_answer_is_not_repeated_again_after_its_grace(client: Client) -> None:
    client.start(**LONG)
    report = client.report(client.next()["next_step"])
    assert code(answered(client, report)) is None
    client.clock.wait(seconds=61)
    assert code(answered(client, report)) == "STEP_PROOF_EXPIRED"
    client.clock.wait(seconds=-30)
    assert code(answered(client, report)) == "STEP_PROOF_EXPIRED"


def test_that_the_clock_went_back_is_warned_of_each_time_and_journalled_once(
    client: Client,
) -> None:
    client.start(**LONG)
    client.next()
    client.clock.wait(hours=1)
    client.ok("step", "heartbeat", context_usage_pct=1)
    client.clock.wait(minutes=-30)
    answers = [client.call("step", "heartbeat", context_usage_pct=1) for _ in range(3)]
    warned = [answer["meta"].get("warnings", []) for answer in answers]
    assert all(any("The clock went back" in text for text in texts) for texts in warned)
    assert journal_titles(client).count("Clock went back") == 1


def test_each_time_that_the_clock_goes_back_is_journalled(client: Client) -> None:
    client.start(**LONG)
    client.next()
    for _ in range(2):
        client.clock.wait(hours=1)
        client.ok("step", "heartbeat", context_usage_pct=1)
        client.clock.wait(minutes=-30)
        client.ok("step", "heartbeat", context_usage_pct=1)
        client.clock.wait(minutes=31)
        client.ok("step", "heartbeat", context_usage_pct=1)
    assert journal_titles(client).count("Clock went back") == 2


def test_the_times_of_a_session_never_go_back(client: Client) -> None:
    client.start(**LONG)
    client.next()
    before = client.state()["updated_at"]
    client.clock.wait(days=-1)
    client.ok("step", "heartbeat", context_usage_pct=1)
    assert client.state()["updated_at"] >= before


def test_a_clock_that_was_put_right_is_no_dead_end(client: Client) -> None:
    """The machine began a day ahead; after the correction the step is issued again and counts."""
    client.start(**LONG)
    report = client.report(client.next()["next_step"])
    client.clock.wait(days=-1)
    assert code(answered(client, report)) == "STEP_PROOF_INVALID"
    client.ok("session", "pause")
    client.ok("session", "resume")
    step = client.next()["next_step"]
    while step["type"] not in ("pause", "complete_spec"):
        client.clock.wait(seconds=20)
        step = client.next(client.report(step))["next_step"]
    assert step["type"] == "complete_spec"


_ACTS = st.lists(
    st.tuples(
        st.sampled_from(["report", "report", "task", "beat", "replay"]), st.integers(-900, 900)
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=_ACTS)
def test_no_jumps_of_the_clock_make_an_expired_proof_valid_again(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]
) -> None:
    workspace = tmp_path_factory.mktemp("jumps") / "project"
    write_status(workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    client = Client(workspace)
    client.start(step_proof_ttl_minutes=5, step_stale_minutes=100_000, **LONG)
    step = client.next()["next_step"]
    report, proof = client.report(step), {"autonomy_step_proof": step["step_proof_token"]}
    calls = {
        "report": lambda: answered(client, report),
        "task": lambda: client.call("task", "start", task_id="A-001", **proof),
        "beat": lambda: client.call("step", "heartbeat", context_usage_pct=1),
        "replay": lambda: client.call("step", "replay"),
    }
    expired = set()
    for act, seconds in acts:
        client.clock.wait(seconds=seconds)
        envelope = calls[act]()
        found = code(envelope)
        assert not (found is None and act in expired)
        details = envelope["data"].get("details") or {}
        if found == "STEP_PROOF_EXPIRED" or "expired_at" in details:
            expired.add(act)
            if act == "report":
                expired.add("task")
