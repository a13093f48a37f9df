"""Attempts to get past gates, proofs and the write lock by what is sent. One attempt each."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, statuses, write_status

Json = dict[str, Any]
NOBODY = "step_0000000000000000000000ZZZZ"


@pytest.fixture
def working(client: Client) -> Client:
    """A client whose outstanding step implements A-001."""
    client.start()
    client.next()
    return client


def _step(client: Client) -> Json:
    step: Json = client.ok("step", "replay")["next_step"]
    return step


def _proof(client: Client) -> Json:
    return {"autonomy_step_proof": _step(client)["step_proof_token"]}


def _other(client: Client, name: str = "other") -> Client:
    """A client of another workspace of the same user, with the same spec."""
    folder = client.workspace.parent / name
    folder.mkdir()
    write_status(folder, {"p1": ["A-001"], "p2": ["B-001"]})
    return Client(folder, client.clock)


def _refused_report(client: Client, report: Json) -> str:
    """Return the code of the refusal, and make sure that nothing was changed."""
    before = client.session_file().read_bytes(), statuses(client.workspace)
    code = client.refused("step", "next", last_step_result=report)
    assert (client.session_file().read_bytes(), statuses(client.workspace)) == before
    return code


def _refused_as_expired(client: Client, report: Json) -> str:
    """Return the code of the refusal, and make sure that only the session's time was changed."""
    before = _but_for_the_time(client), statuses(client.workspace)
    code = client.refused("step", "next", last_step_result=report)
    assert (_but_for_the_time(client), statuses(client.workspace)) == before
    return code


def _but_for_the_time(client: Client) -> Json:
    times = ("_seal", "updated_at", "latest_at", "state_version", "outbox", "journal_head")
    return {key: value for key, value in client.state().items() if key not in times}


# Evidence


def test_forged_evidence_is_refused(client: Client) -> None:
    report = client.reviewed(client.at_gate()) | {"gate_evidence_token": "gev_" + "A" * 43}
    assert _refused_report(client, report) == "INVALID_GATE_EVIDENCE"


def test_evidence_without_a_review_is_refused(client: Client) -> None:
    step = client.at_gate()
    invented = {"gate_attempt_id": "gate_1", "gate_evidence_token": "gev_" + "A" * 43}
    report = client.report(step, "failure") | {"outcome": "success"} | invented
    assert _refused_report(client, report) == "INVALID_GATE_EVIDENCE"


def test_a_gate_that_is_said_to_have_passed_without_evidence_is_refused(client: Client) -> None:
    report = client.report(client.at_gate(), "failure") | {"outcome": "success"}
    assert _refused_report(client, report) == "INVALID_GATE_EVIDENCE"


def test_evidence_of_a_failing_review_does_not_pass_by_another_attempts_name(
    client: Client,
) -> None:
    step = client.at_gate()
    passing, failing = client.reviewed(step, "pass"), client.reviewed(step, "fail")
    mixed = failing | {"gate_evidence_token": passing["gate_evidence_token"]}
    assert _refused_report(client, mixed) == "INVALID_GATE_EVIDENCE"


def test_replayed_evidence_is_refused(client: Client) -> None:
    used = client.reviewed(client.at_gate(), "fail")
    client.next(used)
    again = client.next(client.report(_step(client)))["next_step"]
    stolen = {key: used[key] for key in ("gate_attempt_id", "gate_evidence_token")}
    report = client.report(again, "failure") | {"outcome": "success"} | stolen
    assert _refused_report(client, report) == "INVALID_GATE_EVIDENCE"


def test_expired_evidence_is_refused(client: Client) -> None:
    limits = {
        "gate_nonce_ttl_minutes": 1,
        "heartbeat_stale_minutes": 61,
        "heartbeat_grace_minutes": 60,
    }
    report = client.reviewed(client.at_gate(**limits))
    client.clock.wait(minutes=1)
    assert _refused_as_expired(client, report) == "INVALID_GATE_EVIDENCE"


def test_evidence_of_a_foreign_session_is_refused(client: Client) -> None:
    other = _other(client)
    foreign = other.reviewed(other.at_gate())
    step = client.at_gate()
    client.review(step, "fail")
    stolen = {key: foreign[key] for key in ("gate_attempt_id", "gate_evidence_token")}
    report = client.report(step, "failure") | {"outcome": "success"} | stolen
    assert _refused_report(client, report) == "INVALID_GATE_EVIDENCE"


def test_unsigned_evidence_is_a_downgrade_where_signed_is_required(client: Client) -> None:
    report = client.reviewed(client.at_gate())
    strict = Client(client.workspace, client.clock, signed_evidence=True)
    strict.session_id = client.session_id
    assert _refused_report(strict, report) == "INVALID_GATE_EVIDENCE"


def test_signed_evidence_does_not_pass_as_unsigned(client: Client) -> None:
    strict = Client(client.workspace, client.clock, signed_evidence=True)
    report = strict.reviewed(strict.at_gate())
    token = "gev_" + report["gate_evidence_token"].rpartition(".")[2]
    assert _refused_report(strict, report | {"gate_evidence_token": token}) == (
        "INVALID_GATE_EVIDENCE"
    )


def test_a_report_with_a_wrong_binding_does_not_reach_the_evidence(client: Client) -> None:
    report = client.reviewed(client.at_gate())
    assert _refused_report(client, report | {"phase_id": "p2"}) == "STEP_MISMATCH"


def test_a_gate_cannot_be_skipped(client: Client) -> None:
    report = client.report(client.at_gate(), "skipped")
    assert _refused_report(client, report) == "REQUIRED_GATE_UNSATISFIED"


def test_a_review_that_could_not_run_is_never_a_pass(client: Client) -> None:
    step = client.at_gate()
    client.review(step, "pass")
    assert client.next(client.report(step, "failure"))["next_step"]["type"] == "run_fidelity_gate"
    state = client.state()
    assert state["phase_gates"].get("p1", {}).get("status", "pending") == "pending"
    assert state["counters"]["fidelity_review_cycles_in_active_phase"] == 0


def test_a_failing_verdict_cannot_be_reported_as_a_review_that_did_not_run(client: Client) -> None:
    report = client.reviewed(client.at_gate(), "fail") | {"outcome": "failure"}
    assert _refused_report(client, report) == "VALIDATION_ERROR"


def test_a_review_of_another_phase_is_refused(client: Client) -> None:
    step = client.at_gate()
    wanted = {"phase_id": "p2", "step_id": step["step_id"], "verdict": "pass"}
    assert client.refused("review", "gate", **wanted) == "STEP_MISMATCH"


def test_a_review_of_a_step_that_was_reported_is_refused(client: Client) -> None:
    step = client.at_gate()
    client.next(client.reviewed(step))
    wanted = {"phase_id": "p1", "step_id": step["step_id"], "verdict": "pass"}
    assert client.refused("review", "gate", **wanted) == "STEP_MISMATCH"


# Proofs


def test_a_forged_proof_is_refused(working: Client) -> None:
    report = working.report(_step(working), step_proof="stp_" + "A" * 43)
    assert _refused_report(working, report) == "STEP_PROOF_INVALID"


def test_a_proof_that_was_left_out_is_missed(working: Client) -> None:
    report = working.report(_step(working))
    del report["step_proof"]
    assert _refused_report(working, report) == "STEP_PROOF_REQUIRED"


def test_an_expired_proof_changes_no_deliverable(client: Client) -> None:
    client.start(step_proof_ttl_minutes=1)
    step = client.next()["next_step"]
    client.clock.wait(minutes=1)
    code = client.refused(
        "task",
        "complete",
        task_id=step["task_id"],
        autonomy_step_proof=step["step_proof_token"],
    )
    assert code == "STEP_PROOF_INVALID"


def test_a_proof_of_a_foreign_session_is_refused(working: Client) -> None:
    other = _other(working)
    other.start()
    foreign = other.next()["next_step"]["step_proof_token"]
    report = working.report(_step(working), step_proof=foreign)
    assert _refused_report(working, report) == "STEP_PROOF_INVALID"


def test_a_proof_of_an_earlier_step_is_refused(working: Client) -> None:
    old = _step(working)
    working.next(working.report(old))
    report = working.report(_step(working), step_proof=old["step_proof_token"])
    assert _refused_report(working, report) == "STEP_PROOF_INVALID"


def test_a_used_proof_takes_no_other_report(working: Client) -> None:
    report = working.report(_step(working))
    working.next(report)
    assert _refused_report(working, report | {"outcome": "failure"}) == "STEP_PROOF_CONFLICT"


def test_a_replayed_report_changes_nothing_after_the_grace(working: Client) -> None:
    report = working.report(_step(working))
    working.next(report)
    working.clock.wait(seconds=61)
    assert _refused_as_expired(working, report) == "STEP_PROOF_EXPIRED"


def test_a_step_that_was_never_issued_cannot_be_reported(working: Client) -> None:
    report = working.report(_step(working), step_id=NOBODY)
    assert _refused_report(working, report) == "STEP_MISMATCH"


def test_a_step_cannot_be_reported_as_another_kind(working: Client) -> None:
    report = working.report(_step(working), step_type="address_fidelity_feedback")
    assert _refused_report(working, report) == "STEP_MISMATCH"


def test_another_deliverable_cannot_be_reported(working: Client) -> None:
    assert _refused_report(working, working.report(_step(working), task_id="B-001")) == (
        "STEP_MISMATCH"
    )


def test_another_deliverable_cannot_be_marked(working: Client) -> None:
    before = statuses(working.workspace)
    code = working.refused("task", "complete", task_id="B-001", **_proof(working))
    assert (code, statuses(working.workspace)) == ("AUTONOMY_WRITE_LOCK_ACTIVE", before)


@pytest.mark.parametrize("command", ["start", "complete", "block", "unblock"])
def test_no_change_goes_without_a_proof(working: Client, command: str) -> None:
    assert working.refused("task", command, task_id="A-001") == "STEP_PROOF_REQUIRED"


def test_no_status_is_set_by_name_without_a_proof(working: Client) -> None:
    wanted = {"task_id": "A-001", "status": "passed"}
    assert working.refused("task", "update-status", **wanted) == "STEP_PROOF_REQUIRED"


@pytest.mark.parametrize("rest", ["pause", "fail"])
def test_a_resting_session_keeps_the_lock(working: Client, rest: str) -> None:
    if rest == "pause":
        working.ok("session", "pause")
    else:
        write_status(working.workspace, {"p1": ["A-001"], "p9": ["Z-001"]})
        working.next(working.report(_step(working), "failure"))
        assert working.state()["status"] == "failed"
    assert working.refused("task", "complete", task_id="A-001") == "STEP_PROOF_REQUIRED"


def test_a_gate_step_lets_nobody_mark_anything(client: Client) -> None:
    client.at_gate()
    code = client.refused("task", "complete", task_id="B-001", **_proof(client))
    assert code == "AUTONOMY_WRITE_LOCK_ACTIVE"


def test_marking_by_hand_does_not_spare_the_report(working: Client) -> None:
    working.ok("task", "complete", task_id="A-001", **_proof(working))
    assert working.state()["completed_task_ids"] == []


def test_a_renamed_spec_does_not_open_the_lock(working: Client) -> None:
    path = working.workspace / ".runner" / "status.json"
    renamed = path.read_text(encoding="utf-8").replace('"demo"', '"elsewhere"')
    path.write_text(renamed, encoding="utf-8")
    assert working.refused("task", "complete", task_id="A-001") == "AUTONOMY_WRITE_LOCK_ACTIVE"
    assert statuses(working.workspace)["A-001"] == "pending"


# Receipts


@pytest.fixture
def verifying(client: Client) -> Client:
    """A client whose outstanding step verifies p1."""
    client.start()
    data = client.next()
    while data["next_step"]["type"] == "implement_task":
        data = client.next(client.report(data["next_step"]))
    return client


def test_a_skipped_verification_with_a_receipt_is_no_verification(verifying: Client) -> None:
    step = _step(verifying)
    receipt = verifying.receipt(step)
    receipt["results"][0]["exit_code"] = 1
    report = verifying.report(step, "skipped", verification_receipt=receipt)
    assert _refused_report(verifying, report) == "VERIFICATION_RECEIPT_INVALID"


def test_a_receipt_of_an_earlier_verification_is_refused(verifying: Client) -> None:
    step = _step(verifying)
    old = verifying.receipt(step)
    fresh = verifying.next(verifying.report(step, "failure"))["next_step"]
    report = verifying.report(fresh, verification_receipt=old)
    assert _refused_report(verifying, report) == "VERIFICATION_RECEIPT_INVALID"


def test_a_receipt_of_a_foreign_session_is_refused(verifying: Client) -> None:
    other = _other(verifying)
    write_status(other.workspace, {"p1": ["A-001"]}, commands={"p1": ["make test"]})
    other.start()
    foreign = other.next(other.report(other.next()["next_step"]))["next_step"]
    report = verifying.report(_step(verifying), verification_receipt=other.receipt(foreign))
    assert _refused_report(verifying, report) == "VERIFICATION_RECEIPT_INVALID"


# Two control planes


def test_two_control_planes_give_out_one_step(client: Client) -> None:
    client.start()
    clients = [Client(client.workspace, client.clock) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda c: c.call("step", "next"), clients))
    codes = [a["data"].get("error_code") for a in answers]
    assert sorted(codes, key=str).count("STEP_RESULT_REQUIRED") == 3
    assert codes.count(None) == 1


def test_two_control_planes_consume_evidence_once(client: Client) -> None:
    step = client.at_gate()
    report = client.reviewed(step, "fail")
    clients = [Client(client.workspace, client.clock) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda c: c.call("step", "next", last_step_result=report), clients))
    assert {a["data"]["next_step"]["step_id"] for a in answers} == {_step(client)["step_id"]}
    assert client.state()["counters"]["fidelity_review_cycles_in_active_phase"] == 1


def test_a_second_control_plane_cannot_drive_with_what_it_guesses(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    other = Client(client.workspace, client.clock)
    other.session_id = client.session_id
    client.next(client.report(step))
    assert _refused_report(other, other.report(step, "failure")) == "STEP_PROOF_CONFLICT"


def test_two_starts_at_once_make_one_session(workspace: Path) -> None:
    clients = [Client(workspace) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda c: c.call("session", "start"), clients))
    assert [a["success"] for a in answers].count(True) == 1
