"""next, report, replay and heartbeat through the dispatch table."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, statuses, write_status

from runner.autonomy.spec import source, structure


def test_a_whole_spec_runs_to_its_end(client: Client) -> None:
    client.start()
    assert client.finish() == [
        "implement_task",
        "implement_task",
        "execute_verification",
        "run_fidelity_gate",
        "implement_task",
        "run_fidelity_gate",
        "execute_verification",
        "complete_spec",
    ]
    assert set(statuses(client.workspace).values()) == {"passed"}


def test_an_answer_has_every_field_of_the_contract(client: Client) -> None:
    client.start()
    envelope = client.call("step", "next")
    assert envelope["meta"]["version"] == "response-v2"
    assert envelope["meta"]["request_id"].startswith("req_")
    assert set(envelope["data"]) == {
        "session_id",
        "status",
        "state_version",
        "next_step",
        "loop_signal",
        "recommended_actions",
        "pause_reason",
        "failure_reason",
        "details",
    }
    assert {
        "step_id",
        "type",
        "phase_id",
        "task_id",
        "task_title",
        "instructions",
        "step_proof_token",
        "step_proof_expires_at",
    } <= set(envelope["data"]["next_step"])


def test_every_answer_is_plain_json(client: Client) -> None:
    client.start()
    client.ok("session", "pause")
    for group, command in (("session", "status"), ("session", "list"), ("step", "next")):
        envelope = client.call(group, command)
        assert json.loads(json.dumps(envelope)) == envelope


def test_the_identical_report_gets_the_identical_answer(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    first = client.next(report)
    client.clock.wait(seconds=60)
    assert Client(client.workspace, client.clock).next(report) == first


def test_a_repeated_report_is_answered_even_after_heartbeats_and_a_pause(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    first = client.next(report)
    client.ok("step", "heartbeat", context_usage_pct=10)
    client.ok("session", "pause")
    assert client.next(report) == first


def test_the_report_that_completed_the_spec_is_answered_again_without_a_session_id(
    client: Client,
) -> None:
    write_status(client.workspace, {"p1": ["A-001"]})
    client.start()
    data = client.next(client.report(client.next()["next_step"]))
    review = client.report(data["next_step"])
    last = client.next(review)
    assert last["status"] == "completed"
    assert client.next(review) == last


def test_the_same_proof_with_another_report_is_a_conflict(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    client.next(report)
    changed = report | {"note": "something else"}
    assert client.refused("step", "next", last_step_result=changed) == "STEP_PROOF_CONFLICT"


def test_the_same_report_too_late_is_expired(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    client.next(report)
    client.clock.wait(seconds=61)
    assert client.refused("step", "next", last_step_result=report) == "STEP_PROOF_EXPIRED"


def test_an_old_report_without_proof_is_a_mismatch(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    client.next(report)
    bare = {k: v for k, v in report.items() if k != "step_proof"}
    assert client.refused("step", "next", last_step_result=bare) == "STEP_MISMATCH"


def test_without_the_lock_a_repeated_report_is_answered_too(client: Client) -> None:
    client.start(enforce_autonomy_write_lock=False)
    report = client.report(client.next()["next_step"])
    first = client.next(report)
    assert client.next(report) == first


def test_report_records_and_next_goes_on(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    recorded = client.ok("step", "report", last_step_result=report)
    assert (recorded["status"], recorded["next_step"]) == ("running", None)
    assert client.next()["next_step"]["task_id"] == "A-002"


def test_a_recorded_report_may_be_handed_to_next_again(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    client.ok("step", "report", last_step_result=report)
    first = client.next(report)
    assert first["next_step"]["task_id"] == "A-002"
    assert client.next(report) == first
    assert client.state()["counters"]["tasks_completed"] == 1


def test_replay_gives_the_last_answer_again(client: Client) -> None:
    client.start()
    first = client.next()
    assert client.ok("step", "replay") == first


def test_replay_before_the_first_step_says_so(client: Client) -> None:
    client.start()
    assert client.refused("step", "replay") == "INVALID_STATE_TRANSITION"


def test_the_token_stands_in_no_file(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step, note="done"))
    for path in client.workspace.rglob("*"):
        if path.is_file():
            assert step["step_proof_token"] not in path.read_text(encoding="utf-8"), path


def test_a_second_next_owes_a_report(client: Client) -> None:
    client.start()
    client.next()
    assert client.refused("step", "next") == "STEP_RESULT_REQUIRED"


def test_a_refused_report_changes_no_file(client: Client) -> None:
    client.start()
    report = client.report(client.next()["next_step"], step_proof="stp_forged")
    before = client.session_file().read_bytes()
    assert client.refused("step", "next", last_step_result=report) == "STEP_PROOF_INVALID"
    assert client.session_file().read_bytes() == before


def test_heartbeats_are_counted_in_the_state(client: Client) -> None:
    client.start()
    data = client.ok("step", "heartbeat", context_usage_pct=42, estimated_tokens_used=1000)
    assert data["state_version"] == 2
    assert client.state()["context"]["context_usage_pct"] == 42


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"context_usage_pct": 101},
        {"context_usage_pct": -1},
        {"context_usage_pct": "10"},
        {"context_usage_pct": 10, "surprise": 1},
    ],
)
def test_a_malformed_heartbeat_is_refused(client: Client, params: dict[str, Any]) -> None:
    client.start()
    assert client.refused("step", "heartbeat", **params) == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "change",
    [
        {"step_id": "step_1"},
        {"step_id": "../../etc/passwd"},
        {"outcome": "done"},
        {"step_type": "x"},
        {"task_id": None, "phase_id": None},
        {"files_touched": "a.py"},
        {"note": 1},
        {"surprise": True},
    ],
)
def test_a_malformed_report_is_refused(client: Client, change: dict[str, Any]) -> None:
    client.start()
    report = client.report(client.next()["next_step"]) | change
    assert client.refused("step", "next", last_step_result=report) == "VALIDATION_ERROR"


def test_a_receipt_time_without_zone_is_refused(client: Client) -> None:
    client.start()
    data = client.next()
    while data["next_step"]["type"] != "execute_verification":
        data = client.next(client.report(data["next_step"]))
    report = client.report(data["next_step"])
    report["verification_receipt"]["issued_at"] = "2026-03-01T12:00:00"
    assert client.refused("step", "next", last_step_result=report) == "VERIFICATION_RECEIPT_INVALID"


def test_unknown_commands_are_refused(client: Client) -> None:
    assert client.refused("session", "next") == "VALIDATION_ERROR"
    assert client.refused("step", "start") == "VALIDATION_ERROR"


def test_what_is_no_json_is_refused(client: Client) -> None:
    assert client.refused("session", "start", spec_id=object()) == "VALIDATION_ERROR"


class _Hashes:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original = structure.hash_structure

        def counted(shapes: Any) -> str:
            self.count += 1
            return original(shapes)

        monkeypatch.setattr(structure, "hash_structure", counted)


def test_unchanged_metadata_spare_the_hash_within_a_phase(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.start()
    step = client.next()["next_step"]
    other = Client(client.workspace, client.clock)
    hashes = _Hashes(monkeypatch)
    other.next(client.report(step, "failure"))
    assert hashes.count == 0


def test_the_steps_of_a_large_spec_do_not_parse_it_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_status(client.workspace, {"p1": [f"T-{n:03}" for n in range(120)]})
    client.start()
    data = client.next()
    for _ in range(2):  # the first step stamps the file with today's date
        data = client.next(client.report(data["next_step"]))
    parsed: list[Any] = []
    monkeypatch.setattr(source, "decode", lambda *args, **_: parsed.append(args))
    for _ in range(5):
        data = client.next(client.report(data["next_step"]))
    assert parsed == []
    assert data["next_step"]["task_id"] == "T-007"


def test_a_step_opens_state_and_journal_as_often_as_it_must(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    opened: list[str] = []
    real = os.open

    def watched(path: Any, *args: Any, **options: Any) -> int:
        opened.append(Path(os.fsdecode(path)).suffix)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", watched)
    client.next(report)
    assert opened.count(".jsonl") == 2  # its end is read, and an entry appended
    assert opened.count(".tmp") == 2  # the session, then the deliverable's status


def test_leaving_a_phase_hashes_afresh(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    write_status(client.workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    client.start()
    data = client.next()
    data = client.next(client.report(data["next_step"]))
    report = client.report(data["next_step"])
    client.ok("step", "heartbeat", context_usage_pct=1)
    hashes = _Hashes(monkeypatch)
    client.next(report)
    assert hashes.count >= 1


def test_an_edit_that_keeps_the_metadata_is_found_at_the_phase_boundary(client: Client) -> None:
    path = write_status(client.workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    client.start()
    data = client.next()
    data = client.next(client.report(data["next_step"]))
    review = client.report(data["next_step"])
    before = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace("B-001", "B-999"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert client.next(review)["failure_reason"] == "spec_structure_changed"


def test_an_edit_of_the_structure_fails_the_session_and_a_rebase_heals_it(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001", "B-002"]}
    write_status(client.workspace, phases)
    data = client.next(client.report(step))
    assert (data["status"], data["loop_signal"]) == ("failed", "failed")
    assert data["details"]["spec_drift"]["added_tasks"] == ["B-002"]
    rebased = client.ok("session", "rebase")
    assert rebased["status"] == "running"
    assert rebased["rebase_result"]["added_tasks"] == ["B-002"]
    assert client.next()["next_step"]["task_id"] == "A-002"


@pytest.mark.parametrize("damage", ["{", "", "[]", '{"deliverables": 1}'])
def test_a_damaged_spec_fails_the_session_and_never_completes_it(
    client: Client, damage: str
) -> None:
    client.start()
    step = client.next()["next_step"]
    (client.workspace / ".runner" / "status.json").write_text(damage, encoding="utf-8")
    assert client.next(client.report(step))["failure_reason"] == "spec_not_found"


def test_the_status_follows_when_a_damaged_spec_is_repaired(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    path = client.workspace / ".runner" / "status.json"
    good = path.read_text(encoding="utf-8")
    path.unlink()
    envelope = client.call("step", "next", last_step_result=client.report(step))
    assert envelope["meta"]["warnings"]
    path.write_text(good, encoding="utf-8")
    client.ok("session", "resume", force=True)
    assert statuses(client.workspace)["A-001"] == "passed"
    assert [e["seq"] for e in client.journal()] == list(range(1, len(client.journal()) + 1))


def test_a_journal_that_cannot_be_written_blocks_nothing_and_catches_up(client: Client) -> None:
    client.start()
    journal = client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl"
    kept = journal.read_bytes()
    journal.unlink()
    journal.mkdir()
    data = client.next()
    envelope = client.call("step", "next", last_step_result=client.report(data["next_step"]))
    assert envelope["success"]
    assert envelope["meta"]["warnings"]
    journal.rmdir()
    journal.write_bytes(kept)
    client.next(client.report(envelope["data"]["next_step"]))
    titles = [event["title"] for event in client.journal()]
    assert titles == [
        "Autonomous session started",
        "Task step completed",
        "Task step completed",
    ]


def test_a_workspace_that_others_read_shows_its_session(workspace: Path) -> None:
    client = Client(workspace)
    client.start()
    step = client.next()["next_step"]
    status = Client(workspace, client.clock).ok("session", "status")
    assert (status["last_step_id"], status["current_task_id"]) == (step["step_id"], "A-001")


def test_another_spec_in_the_same_place_fails_the_session(client: Client) -> None:
    client.start()
    path = client.workspace / ".runner" / "status.json"
    text = path.read_text(encoding="utf-8").replace('"demo"', '"other"')
    path.write_text(text, encoding="utf-8")
    data = client.next()
    assert (data["failure_reason"], data["next_step"]) == ("spec_not_found", None)


def test_a_late_heartbeat_is_refused_when_its_pause_is_written(client: Client) -> None:
    client.start()
    client.clock.wait(minutes=6)
    envelope = client.call("step", "heartbeat", context_usage_pct=1)
    data = envelope["data"]
    assert (data["error_code"], data["loop_signal"]) == (
        "HEARTBEAT_STALE",
        "paused_needs_attention",
    )
    assert client.state()["status"] == "paused"
    assert client.state()["state_version"] == data["details"]["state_version"]


def test_what_a_refused_heartbeat_recommends_sets_the_session_going(client: Client) -> None:
    client.start()
    client.clock.wait(minutes=6)
    envelope = client.call("step", "heartbeat", context_usage_pct=1)
    (action,) = envelope["data"]["recommended_actions"]
    assert action["command"] == f"runner session resume --session-id {client.session_id}"
    client.ok("session", "resume")
    assert client.ok("step", "heartbeat", context_usage_pct=1)["status"] == "running"


def test_a_protected_change_after_the_silence_counts_as_the_report_does(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.clock.wait(minutes=6)
    proof = step["step_proof_token"]
    client.ok("task", "complete", task_id=step["task_id"], autonomy_step_proof=proof)
    assert client.next(client.report(step))["pause_reason"] == "heartbeat_stale"
