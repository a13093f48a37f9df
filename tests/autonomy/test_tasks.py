"""Task views and the protected changes, with and without a live session."""

import pytest
from tests.autonomy.plane import Client, statuses

MUTATIONS = ["start", "complete", "block", "unblock"]


def _proof(client: Client) -> dict[str, str]:
    token = client.ok("step", "replay")["next_step"]["step_proof_token"]
    return {"autonomy_step_proof": token}


@pytest.fixture
def working(client: Client) -> Client:
    """A client whose outstanding step implements A-001."""
    client.start()
    client.next()
    return client


def test_tasks_are_listed_and_filtered(client: Client) -> None:
    rows = client.ok("task", "list")["tasks"]
    assert [row["task_id"] for row in rows] == ["A-001", "A-002", "B-001"]
    filtered = client.ok("task", "list", phase_id="p2", status="pending")
    assert [row["task_id"] for row in filtered["tasks"]] == ["B-001"]


def test_prepare_shows_the_criteria(client: Client) -> None:
    data = client.ok("task", "prepare", task_id="A-001")
    assert data["acceptance_criteria"] == ["it works"]
    assert data["phase_title"] == "Phase p1"


@pytest.mark.parametrize("command", ["prepare", *MUTATIONS])
def test_an_unknown_deliverable_is_refused(client: Client, command: str) -> None:
    assert client.refused("task", command, task_id="X-999") == "VALIDATION_ERROR"


@pytest.mark.parametrize("command", ["list", "prepare", *MUTATIONS])
def test_another_spec_is_refused_with_the_one_that_there_is(client: Client, command: str) -> None:
    task = {} if command == "list" else {"task_id": "A-001"}
    envelope = client.call("task", command, spec_id="other", **task)
    assert envelope["data"]["error_code"] == "SPEC_NOT_FOUND"
    assert envelope["data"]["remediation"] == "Use --spec-id demo, or another --workspace."


def test_the_spec_may_be_named(working: Client) -> None:
    client = working
    assert client.ok("task", "list", spec_id="demo")["total_count"] == 3
    done = client.ok("task", "complete", task_id="A-001", spec_id="demo", **_proof(client))
    assert done["status"] == "passed"


def test_without_a_spec_there_are_no_tasks(client: Client) -> None:
    (client.workspace / ".runner" / "status.json").unlink()
    assert client.refused("task", "list") == "SPEC_NOT_FOUND"


def test_without_a_session_statuses_are_free(client: Client) -> None:
    client.ok("task", "complete", task_id="A-001")
    client.ok("task", "block", task_id="A-002")
    client.ok("task", "update-status", task_id="B-001", status="blocked")
    client.ok("task", "unblock", task_id="B-001")
    assert statuses(client.workspace) == {
        "A-001": "passed",
        "A-002": "blocked",
        "B-001": "pending",
    }


@pytest.mark.parametrize("command", MUTATIONS)
def test_a_live_session_wants_a_proof(working: Client, command: str) -> None:
    before = statuses(working.workspace)
    assert working.refused("task", command, task_id="A-001") == "STEP_PROOF_REQUIRED"
    assert statuses(working.workspace) == before


def test_a_damaged_session_keeps_the_lock(working: Client) -> None:
    working.session_file().write_text("{", encoding="utf-8")
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"


def test_the_steps_own_deliverable_can_be_changed(working: Client) -> None:
    proof = _proof(working)
    working.ok("task", "start", task_id="A-001", **proof)
    working.ok("task", "complete", task_id="A-001", **proof)
    assert statuses(working.workspace)["A-001"] == "passed"
    assert [e["data"].get("action") for e in working.journal()] == [None, "start", "complete"]


def test_another_deliverable_stays_locked(working: Client) -> None:
    code = working.refused("task", "complete", task_id="A-002", **_proof(working))
    assert code == "AUTONOMY_WRITE_LOCK_ACTIVE"
    assert statuses(working.workspace)["A-002"] == "pending"


def test_completing_by_hand_does_not_replace_the_report(working: Client) -> None:
    working.ok("task", "complete", task_id="A-001", **_proof(working))
    assert working.state()["completed_task_ids"] == []
    step = working.ok("step", "replay")["next_step"]
    working.next(working.report(step))
    assert working.state()["completed_task_ids"] == ["A-001"]


def test_the_identical_change_is_made_once(working: Client) -> None:
    proof = _proof(working)
    first = working.ok("task", "complete", task_id="A-001", **proof)
    assert working.ok("task", "complete", task_id="A-001", **proof) == first
    assert len(working.journal()) == 2


def test_what_has_passed_cannot_be_blocked(working: Client) -> None:
    proof = _proof(working)
    working.ok("task", "complete", task_id="A-001", **proof)
    assert working.refused("task", "block", task_id="A-001", **proof) == "VALIDATION_ERROR"


def test_blocked_work_is_skipped_and_comes_back(working: Client) -> None:
    proof = _proof(working)
    working.ok("task", "block", task_id="A-001", reason="no key", **proof)
    step = working.ok("step", "replay")["next_step"]
    assert working.next(working.report(step, "skipped"))["next_step"]["task_id"] == "A-002"


def test_without_the_lock_a_change_by_hand_counts(client: Client) -> None:
    client.start(enforce_autonomy_write_lock=False)
    client.ok("task", "complete", task_id="A-001")
    assert client.next()["next_step"]["task_id"] == "A-002"
    counters = client.ok("session", "status")["counters"]
    assert counters["tasks_completed"] == 1


def test_what_was_completed_by_hand_and_reported_counts_once(client: Client) -> None:
    client.start(enforce_autonomy_write_lock=False)
    step = client.next()["next_step"]
    client.ok("task", "complete", task_id="A-001")
    report = client.report(step)
    del report["step_proof"]
    assert client.next(report)["next_step"]["task_id"] == "A-002"
    state = client.state()
    assert (state["completed_task_ids"], state["counters"]["tasks_completed"]) == (["A-001"], 1)


def test_after_the_end_statuses_are_free_again(working: Client) -> None:
    working.ok("session", "end")
    working.ok("task", "complete", task_id="B-001")
    assert statuses(working.workspace)["B-001"] == "passed"


def test_an_old_session_opens_no_way_around_the_lock(client: Client) -> None:
    old = client.start()["session_id"]
    client.start(force=True)
    code = client.refused("task", "complete", task_id="A-001", session_id=old)
    assert code == "VALIDATION_ERROR"


def _empty_the_index(client: Client) -> None:
    index = client.workspace / ".runner/autonomy/index/spec_active_index.json"
    index.write_text('{"_schema_version": 1, "active": {}}', encoding="utf-8")


def test_a_deleted_index_entry_opens_no_way_around_the_lock(working: Client) -> None:
    _empty_the_index(working)
    assert working.refused("task", "complete", task_id="A-001") == "STEP_PROOF_REQUIRED"
    assert working.refused("session", "start") == "SPEC_SESSION_EXISTS"


def test_a_damaged_session_of_nobody_knows_which_spec_fails_closed(working: Client) -> None:
    _empty_the_index(working)
    working.session_file().write_text("{", encoding="utf-8")
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"
    assert working.refused("session", "start") == "SPEC_SESSION_EXISTS"


@pytest.mark.parametrize("started", [False, True])
def test_a_passed_deliverable_is_not_unblocked(client: Client, started: bool) -> None:
    client.ok("task", "complete", task_id="A-001")
    if started:
        client.start(enforce_autonomy_write_lock=False, reason_code="by_hand")
    assert client.refused("task", "unblock", task_id="A-001") == "VALIDATION_ERROR"
    assert statuses(client.workspace)["A-001"] == "passed"


def test_the_missing_proof_is_named_before_the_status_of_the_deliverable(client: Client) -> None:
    client.ok("task", "complete", task_id="A-001")
    client.start()
    client.next()
    assert client.refused("task", "block", task_id="A-001") == "STEP_PROOF_REQUIRED"


def test_a_pass_taken_back_without_the_lock_is_issued_again(client: Client) -> None:
    client.start(enforce_autonomy_write_lock=False, gates_required=False, reason_code="by_hand")
    step = client.next()["next_step"]
    following = client.next(client.report(step))["next_step"]
    client.ok("task", "update-status", task_id=step["task_id"], status="pending")
    issued = [following["task_id"]]
    data = client.next(client.report(following))
    while data["next_step"]["type"] not in ("pause", "complete_spec"):
        issued.append(data["next_step"].get("task_id"))
        data = client.next(client.report(data["next_step"]))
    assert step["task_id"] in issued
    assert set(statuses(client.workspace).values()) == {"passed"}
