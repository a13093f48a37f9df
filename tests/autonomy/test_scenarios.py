"""Longer stories through the dispatch table, as seed 000 «Testing Strategy» lists them."""

from typing import Any

import pytest
from tests.autonomy.plane import Client, statuses, write_status


def _at_gate(client: Client, **options: Any) -> dict[str, Any]:
    """Go to the first gate and return its step."""
    write_status(client.workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    client.start(**options)
    data = client.next()
    step: dict[str, Any] = client.next(client.report(data["next_step"]))["next_step"]
    assert step["type"] == "run_fidelity_gate"
    return step


def _reviewed(client: Client, step: dict[str, Any], verdict: str) -> dict[str, Any]:
    return client.report(step, "failure") | {"outcome": "success"} | client.review(step, verdict)


def test_start_heartbeat_work_context_pause_resume_complete(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.ok("step", "heartbeat", context_usage_pct=90)
    data = client.next(client.report(step))
    assert (data["pause_reason"], data["loop_signal"]) == (
        "context_limit",
        "paused_needs_attention",
    )
    assert client.ok("session", "resume")["status"] == "running"
    assert client.finish()[-1] == "complete_spec"
    titles = [event["title"] for event in client.journal()]
    assert titles.count("Session paused") == titles.count("Session resumed") == 1
    assert titles[-1] == "Session completed"


def test_a_failed_gate_pauses_and_a_resume_reviews_again(client: Client) -> None:
    step = _at_gate(client, auto_retry_fidelity_gate=False)
    data = client.next(_reviewed(client, step, "fail"))
    assert data["pause_reason"] == "gate_failed"
    client.ok("session", "resume")
    step = client.next()["next_step"]
    assert step["type"] == "run_fidelity_gate"
    assert client.next(_reviewed(client, step, "pass"))["next_step"]["task_id"] == "B-001"


def test_a_manual_gate_needs_a_person_who_names_the_attempt(client: Client) -> None:
    step = _at_gate(client, gate_policy="manual")
    data = client.next(_reviewed(client, step, "pass"))
    assert data["pause_reason"] == "gate_review_required"
    attempt = data["details"]["gate_attempt_id"]
    assert client.refused("session", "resume") == "MANUAL_GATE_ACK_REQUIRED"
    wrong = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": "gate_x"}
    assert client.refused("session", "resume", **wrong) == "INVALID_GATE_ACK"
    right = wrong | {"acknowledged_gate_attempt_id": attempt}
    client.ok("session", "resume", **right)
    assert client.next()["next_step"]["task_id"] == "B-001"


def test_the_recommended_command_acknowledges_the_right_attempt(client: Client) -> None:
    step = _at_gate(client, gate_policy="manual")
    data = client.next(_reviewed(client, step, "warn"))
    commands = [action.get("command", "") for action in data["recommended_actions"]]
    assert any(data["details"]["gate_attempt_id"] in command for command in commands)


def test_phase_by_phase_a_supervisor_needs_one_field(client: Client) -> None:
    client.start(stop_on_phase_completion=True)
    signals = []
    for _ in range(5):
        client.finish()
        data = client.ok("session", "status", session_id=client.session_id)
        signals.append(data["session_signal"])
        if data["session_signal"] != "phase_complete":
            break
        client.ok("session", "resume")
    assert signals == ["phase_complete", "spec_complete"]


@pytest.mark.parametrize("policy", ["strict", "lenient"])
def test_reviews_that_keep_failing_end_at_the_limit(client: Client, policy: str) -> None:
    step = _at_gate(client, gate_policy=policy, max_fidelity_review_cycles_per_phase=2)
    types = []
    data = client.next(_reviewed(client, step, "fail"))
    while data["status"] == "running":
        step = data["next_step"]
        types.append(step["type"])
        gate = step["type"] == "run_fidelity_gate"
        data = client.next(_reviewed(client, step, "fail") if gate else client.report(step))
    assert types == ["address_fidelity_feedback", "run_fidelity_gate"]
    assert data["pause_reason"] == "fidelity_cycle_limit"


def test_findings_reach_the_one_who_mends_them(client: Client) -> None:
    step = _at_gate(client)
    finding = {"severity": "high", "title": "Untested", "detail": "d", "deliverableId": "A-001"}
    review = client.ok(
        "review",
        "gate",
        phase_id="p1",
        step_id=step["step_id"],
        verdict="fail",
        findings=[finding],
    )
    evidence = {k: review[k] for k in ("gate_attempt_id", "gate_evidence_token")}
    mend = client.next(client.report(step, "failure") | {"outcome": "success"} | evidence)
    assert mend["next_step"]["gate_attempt_id"] == review["gate_attempt_id"]
    assert mend["next_step"]["findings"][0]["title"] == "Untested"
    assert mend["next_step"]["findings"][0]["deliverable_id"] == "A-001"


def test_evidence_is_used_once_forged_never_and_only_the_latest(client: Client) -> None:
    step = _at_gate(client)
    first, second = _reviewed(client, step, "pass"), _reviewed(client, step, "pass")
    assert client.refused("step", "next", last_step_result=first) == "INVALID_GATE_EVIDENCE"
    forged = second | {"gate_evidence_token": "gev_" + "A" * 43}
    assert client.refused("step", "next", last_step_result=forged) == "INVALID_GATE_EVIDENCE"
    step = client.next(second)["next_step"]
    stolen = {k: second[k] for k in ("gate_attempt_id", "gate_evidence_token")}
    again = client.report(step, "failure") | stolen
    assert client.refused("step", "next", last_step_result=again) == "VALIDATION_ERROR"


def test_a_verdict_edited_in_the_file_blocks(client: Client) -> None:
    step = _at_gate(client)
    report = _reviewed(client, step, "fail")
    evidence = client.state()["pending_gate_evidence"] | {"verdict": "pass"}
    client.edit_state(pending_gate_evidence=evidence)
    envelope = client.call("step", "next", last_step_result=report)
    assert envelope["data"]["error_code"] == "GATE_INTEGRITY_CHECKSUM"
    assert envelope["data"]["loop_signal"] == "blocked_runtime"


def test_a_review_of_another_step_is_refused(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    code = client.refused("review", "gate", phase_id="p1", step_id=step["step_id"], verdict="pass")
    assert code == "STEP_MISMATCH"


def test_a_second_driver_is_refused(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    other = Client(client.workspace, client.clock)
    other.next(other.report(step))
    late = client.report(step, "failure")
    assert client.refused("step", "next", last_step_result=late) == "STEP_PROOF_CONFLICT"


def test_rapid_starts_and_ends_leave_one_live_session(client: Client) -> None:
    for _ in range(10):
        client.start()
        client.ok("session", "end")
    client.start()
    rows = client.ok("session", "list", limit=100)["sessions"]
    assert len(rows) == 11
    assert [r["session_id"] for r in rows if r["status"] == "running"] == [client.session_id]


def test_a_large_spec_is_driven_like_a_small_one(client: Client) -> None:
    tasks = [f"T-{n:04}" for n in range(300)]
    write_status(client.workspace, {"p1": tasks}, passed=tasks[:-2])
    client.start()
    assert client.finish() == [
        "implement_task",
        "implement_task",
        "run_fidelity_gate",
        "complete_spec",
    ]
    assert set(statuses(client.workspace).values()) == {"passed"}


def test_drift_noticed_while_paused_is_healed_by_a_rebase_before_next(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step))
    client.ok("session", "pause")
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001", "B-002"]}
    write_status(client.workspace, phases, passed=["A-001"], commands={"p1": ["make test"]})
    data = client.ok("session", "rebase")
    assert data["rebase_result"]["added_tasks"] == ["B-002"]
    assert client.next()["next_step"]["task_id"] == "A-002"


def test_an_unchanged_spec_rebases_to_no_change(client: Client) -> None:
    client.start()
    client.ok("session", "pause")
    data = client.ok("session", "rebase")
    assert (data["rebase_result"], data["status"]) == ("no_change", "running")


def test_a_rebase_without_a_spec_says_so(client: Client) -> None:
    client.start()
    client.ok("session", "pause")
    (client.workspace / ".runner" / "status.json").unlink()
    assert client.refused("session", "rebase") == "SPEC_NOT_FOUND"


def test_a_report_repeated_to_report_gets_its_answer_again(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    first = client.ok("step", "report", last_step_result=report)
    assert client.ok("step", "report", last_step_result=report) == first
    assert client.state()["counters"]["tasks_completed"] == 1


def test_any_stop_condition_stops(client: Client) -> None:
    client.start(stop_on_phase_completion=True, max_consecutive_errors=1)
    step = client.next()["next_step"]
    assert client.next(client.report(step, "failure"))["pause_reason"] == "error_threshold"
    client.ok("session", "resume")
    client.finish()
    assert client.state()["pause_reason"] == "phase_complete"


def test_status_shows_timing_and_progress(client: Client) -> None:
    client.start(
        heartbeat_stale_minutes=501, heartbeat_grace_minutes=500, stop_on_phase_completion=True
    )
    client.clock.wait(minutes=10)
    client.finish()
    client.ok("session", "resume")
    client.next()
    client.clock.wait(minutes=21)
    progress = client.ok("session", "status")["progress"]
    assert [row["duration_seconds"] for row in progress.pop("phases")] == [600.0, None]
    assert progress == {
        "total_phases": 2,
        "current_phase_number": 2,
        "completed_phases": ["p1"],
        "percent_complete": 50,
        "phases_remaining": 1,
        "average_phase_seconds": 600.0,
        "seconds_in_phase": 1260.0,
        "is_stalled": True,
        "estimated_remaining_seconds": 600.0,
        "resumption_status": "possibly_stalled",
    }


def test_a_forced_resume_without_a_spec_cannot_recover(client: Client) -> None:
    client.start()
    client.session_file().write_text("{", encoding="utf-8")
    (client.workspace / ".runner" / "status.json").unlink()
    assert client.refused("session", "resume", force=True) == "SESSION_UNRECOVERABLE"


def test_sanitised_ids_keep_every_write_inside_the_workspace(client: Client) -> None:
    before = set(client.workspace.parent.rglob("*"))
    for evil in ("../evil", "/tmp/evil", "auto_../../evil", "a/b"):
        client.call("session", "status", session_id=evil)
        client.call("session", "start", spec_id=evil)
        client.call("journal", "list", session_id=evil)
    assert {p for p in client.workspace.parent.rglob("*") if "evil" in p.name} == set()
    assert before <= set(client.workspace.parent.rglob("*"))
