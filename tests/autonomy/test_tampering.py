"""Attempts to get past gates and the write lock through the files. One attempt each."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, statuses, write_status

from runner.autonomy.store.trust import Trust

Json = dict[str, Any]


@pytest.fixture
def working(client: Client) -> Client:
    """A client whose outstanding step implements A-001."""
    client.start()
    client.next()
    return client


def _root(client: Client) -> Path:
    return client.workspace / ".runner" / "autonomy"


def _index(client: Client) -> Path:
    return _root(client) / "index" / "spec_active_index.json"


def _fails_closed(client: Client, code: str) -> None:
    """No transition, no change of a deliverable, and the status says why."""
    before = statuses(client.workspace)
    named = {"session_id": client.session_id}
    assert client.refused("step", "next", **named) == code
    assert client.refused("session", "resume", force=True, **named) == code
    assert client.refused("session", "start") == "SPEC_SESSION_EXISTS"
    assert client.refused("task", "complete", task_id="A-002") == code
    assert statuses(client.workspace) == before
    status = client.ok("session", "status", **named)
    assert (status["status"], status["details"]["error_code"]) == ("failed", code)
    assert status["session_signal"] == "blocked_runtime"
    command = status["recommended_actions"][0]["command"]
    assert command == f"runner session reset --session-id {client.session_id}"


# The state


_EDITS: dict[str, Json] = {
    "gate": {"phase_gates": {"p1": {"status": "passed", "verdict": "pass"}}},
    "completed": {"completed_task_ids": ["A-001", "A-002", "B-001"]},
    "policy": {"gate_policy": "lenient"},
    "gates_required": {"gates_required": False},
    "lock": {"write_lock": {"enforced": False, "step_proof_ttl_minutes": 15}},
    "limits": {"limits": {"max_fidelity_review_cycles_per_phase": 999}},
    "counters": {"counters": {"tasks_completed": 0}},
    "proof": {"pending_step_proof": None},
    "nonces": {"consumed_gate_nonces": []},
    "status": {"status": "completed"},
    "nothing but its layout": {},
}


@pytest.mark.parametrize("name", list(_EDITS))
def test_an_edited_state_fails_closed(working: Client, name: str) -> None:
    working.edit_state(**_EDITS[name])
    _fails_closed(working, "GATE_INTEGRITY_CHECKSUM")


def test_a_seal_that_was_dropped_fails_closed(working: Client) -> None:
    document = working.state()
    del document["_seal"]
    working.session_file().write_text(json.dumps(document), encoding="utf-8")
    _fails_closed(working, "GATE_INTEGRITY_CHECKSUM")


@pytest.mark.parametrize("seal", ["", "A" * 43, "ä" * 43, None, 1])
def test_a_seal_that_was_replaced_fails_closed(working: Client, seal: Any) -> None:
    working.edit_state(_seal=seal)
    _fails_closed(working, "GATE_INTEGRITY_CHECKSUM")


def test_an_older_schema_is_no_way_around_the_seal(working: Client) -> None:
    document = working.state() | {"_schema_version": 1, "gate_policy": "lenient"}
    del document["_seal"]
    working.session_file().write_text(json.dumps(document), encoding="utf-8")
    assert working.refused("step", "next") == "SESSION_UNRECOVERABLE"
    assert working.refused("session", "resume", force=True) == "SESSION_UNRECOVERABLE"
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"
    assert working.ok("session", "status")["failure_reason"] == "migration_failed"


def test_reset_is_the_way_out_of_an_edited_state(working: Client) -> None:
    working.edit_state(gate_policy="lenient")
    working.ok("session", "reset", session_id=working.session_id)
    assert working.start()["gate_policy"] == "strict"


def test_an_older_copy_of_the_state_fails_closed(client: Client) -> None:
    step = client.at_gate()
    report = client.reviewed(step, "pass")
    before = client.session_file().read_bytes()
    client.next(report)
    client.session_file().write_bytes(before)
    assert client.refused("step", "next", last_step_result=report) == "GATE_AUDIT_FAILURE"
    _fails_closed_after_audit(client)


def test_an_older_copy_with_a_shortened_journal_fails_closed(client: Client) -> None:
    step = client.at_gate()
    report = client.reviewed(step, "pass")
    kept = [(path, path.read_bytes()) for path in (client.session_file(), client.journal_file)]
    client.next(report)
    for path, content in kept:
        path.write_bytes(content)
    assert client.refused("step", "next", last_step_result=report) == "GATE_AUDIT_FAILURE"


def _fails_closed_after_audit(client: Client) -> None:
    status = client.ok("session", "status")
    assert status["details"]["error_code"] == "GATE_AUDIT_FAILURE"
    assert client.refused("task", "complete", task_id="B-001") == "GATE_AUDIT_FAILURE"
    assert client.refused("session", "resume", force=True) == "GATE_AUDIT_FAILURE"
    client.ok("session", "reset", session_id=client.session_id)


_IMPOSSIBLE: dict[str, Json] = {
    "no evidence": {"status": "passed", "verdict": "pass"},
    "a failing verdict": {
        "status": "passed",
        "verdict": "fail",
        "gate_attempt_id": "gate_1",
        "evidence_hash": "sha256:0",
    },
    "no reason": {"status": "waived"},
    "no receipt": {"verified_at": "2026-03-01T12:00:00Z"},
    "a skipped verification": {"verification_skipped": True},
    "not required": {"required": False},
}


@pytest.mark.parametrize("name", list(_IMPOSSIBLE))
def test_a_gate_that_cannot_be_as_it_says_fails_closed(working: Client, name: str) -> None:
    working.forge_state(phase_gates={"p1": _IMPOSSIBLE[name]})
    assert working.refused("step", "next") == "GATE_AUDIT_FAILURE"
    _fails_closed_after_audit(working)


def test_a_manual_gate_that_nobody_acknowledged_fails_closed(client: Client) -> None:
    client.start(gate_policy="manual")
    client.next()
    reviewed = {"verdict": "pass", "gate_attempt_id": "gate_1", "evidence_hash": "sha256:0"}
    client.forge_state(phase_gates={"p1": reviewed | {"status": "passed"}})
    assert client.refused("step", "next") == "GATE_AUDIT_FAILURE"


def test_a_completion_past_a_gate_fails_closed(working: Client) -> None:
    working.next(working.report(working.ok("step", "replay")["next_step"]))
    working.forge_state(status="completed")
    named = {"session_id": working.session_id}
    assert working.refused("step", "next", **named) == "GATE_AUDIT_FAILURE"


def test_a_count_that_does_not_fit_fails_closed(working: Client) -> None:
    working.forge_state(completed_task_ids=["A-001"])
    assert working.refused("step", "next") == "GATE_AUDIT_FAILURE"


def test_a_session_of_another_workspace_cannot_be_brought_in(client: Client) -> None:
    folder = client.workspace.parent / "other"
    folder.mkdir()
    write_status(folder, {"p1": ["A-001"], "p2": ["B-001"]})
    other = Client(folder, client.clock)
    other.start(gate_policy="lenient")
    target = _root(client) / "sessions" / other.session_file().name
    target.parent.mkdir(parents=True)
    shutil.copy(other.session_file(), target)
    code = client.refused("step", "next", session_id=other.session_id)
    assert code == "GATE_INTEGRITY_CHECKSUM"


def test_a_session_sealed_with_another_secret_fails_closed(working: Client) -> None:
    (working.workspace.parent / "key" / "autonomy.key").unlink()
    stranger = Client(working.workspace, working.clock)
    assert stranger.refused("step", "next") == "GATE_INTEGRITY_CHECKSUM"


# Deleted files


def _delete_state(client: Client) -> None:
    client.session_file().unlink()


def _delete_state_and_index(client: Client) -> None:
    client.session_file().unlink()
    _index(client).unlink()


def _delete_state_and_empty_index(client: Client) -> None:
    client.session_file().unlink()
    _index(client).write_text('{"_schema_version": 1, "active": {}}', encoding="utf-8")


def _delete_sessions(client: Client) -> None:
    shutil.rmtree(_root(client) / "sessions")


def _delete_everything(client: Client) -> None:
    shutil.rmtree(_root(client))


@pytest.mark.parametrize(
    "delete",
    [
        _delete_state,
        _delete_state_and_index,
        _delete_state_and_empty_index,
        _delete_sessions,
        _delete_everything,
    ],
)
def test_deleted_files_do_not_open_the_write_lock(
    working: Client, delete: Callable[[Client], None]
) -> None:
    delete(working)
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"
    assert statuses(working.workspace)["A-001"] == "pending"


def _delete_state_and_journal(client: Client) -> None:
    client.session_file().unlink()
    client.journal_file.unlink()


@pytest.mark.parametrize(
    "delete", [_delete_state, _delete_state_and_empty_index, _delete_state_and_journal]
)
def test_a_deleted_state_lets_nobody_start_again_in_silence(
    working: Client, delete: Callable[[Client], None]
) -> None:
    delete(working)
    assert working.refused("session", "start", force=True) == "SPEC_SESSION_EXISTS"


def test_a_deleted_state_is_shown_as_damage(working: Client) -> None:
    _delete_state(working)
    status = working.ok("session", "status", session_id=working.session_id)
    assert (status["status"], status["failure_reason"]) == ("failed", "state_corrupt")
    assert status["details"]["error_code"] == "SESSION_UNRECOVERABLE"


def test_a_deleted_state_can_be_given_up(working: Client) -> None:
    _delete_state(working)
    working.ok("session", "reset", session_id=working.session_id)
    working.ok("task", "complete", task_id="A-001")
    assert working.start()["counters"]["tasks_completed"] == 1


def test_a_deleted_state_can_be_made_anew(working: Client) -> None:
    _delete_state(working)
    working.ok("session", "resume", force=True)
    assert working.next()["next_step"]["task_id"] == "A-001"


def test_a_wiped_workspace_starts_anew_and_says_so(working: Client) -> None:
    _delete_everything(working)
    envelope = working.call("session", "start")
    assert envelope["success"]
    assert working.session_id in " ".join(envelope["meta"]["warnings"])
    working.session_id = envelope["data"]["session_id"]
    working.ok("session", "end")
    working.ok("task", "complete", task_id="A-001")


def test_a_lost_session_does_not_stand_before_the_one_that_replaced_it(working: Client) -> None:
    lost = working.session_id
    anchors = Trust(working.workspace.parent / "key").anchors(working.workspace)
    note = anchors.read(lost)
    assert note is not None
    _delete_everything(working)
    working.start()
    anchors.write(lost, note)  # as if the start had been killed before it gave the lost one up
    token = working.next()["next_step"]["step_proof_token"]
    working.ok("task", "complete", task_id="A-001", autonomy_step_proof=token)


def test_a_session_made_anew_is_never_taken_for_older_than_its_damaged_self(
    working: Client,
) -> None:
    version = working.state()["state_version"]
    working.session_file().write_bytes(b"")
    made = working.ok("session", "resume", force=True)
    assert made["state_version"] == version + 1


def test_an_ended_session_that_is_deleted_holds_nothing(working: Client) -> None:
    working.ok("session", "end")
    _delete_everything(working)
    working.ok("task", "complete", task_id="A-001")


def test_a_wipe_under_another_spec_leaves_no_lock_behind(working: Client) -> None:
    _delete_everything(working)
    path = working.workspace / ".runner" / "status.json"
    text = path.read_text(encoding="utf-8").replace('"demo"', '"elsewhere"')
    path.write_text(text, encoding="utf-8")
    working.start()
    working.ok("session", "end")
    working.ok("task", "complete", task_id="A-001")


def _folder_for_state(client: Client) -> None:
    client.session_file().unlink()
    client.session_file().mkdir()


def _file_for_sessions(client: Client) -> None:
    _delete_sessions(client)
    (_root(client) / "sessions").write_text("", encoding="utf-8")


@pytest.mark.parametrize("spoil", [_folder_for_state, _file_for_sessions])
def test_a_state_that_cannot_be_read_keeps_the_lock(
    working: Client, spoil: Callable[[Client], None]
) -> None:
    spoil(working)
    assert working.refused("task", "complete", task_id="A-001") == "SESSION_UNRECOVERABLE"


# The journal


def test_a_deleted_journal_is_noticed_and_the_state_wins(working: Client) -> None:
    working.next(working.report(working.ok("step", "replay")["next_step"]))
    working.journal_file.unlink()
    envelope = working.call("session", "status")
    assert "lost entries" in " ".join(envelope["meta"]["warnings"])
    step = working.ok("step", "replay")["next_step"]
    working.next(working.report(step))
    assert working.state()["completed_task_ids"] == ["A-001", "A-002"]
    assert "Journal damaged" in [event["title"] for event in working.journal()]


def test_a_shortened_journal_is_noticed(working: Client) -> None:
    step = working.next(working.report(working.ok("step", "replay")["next_step"]))["next_step"]
    lines = working.journal_file.read_bytes().splitlines(keepends=True)
    working.ok("session", "pause")
    working.journal_file.write_bytes(b"".join(lines[:1]))
    envelope = working.call("step", "report", last_step_result=working.report(step))
    assert "lost entries" in " ".join(envelope["meta"]["warnings"])


def test_a_changed_last_entry_is_noticed(working: Client) -> None:
    text = working.journal_file.read_text(encoding="utf-8")
    working.journal_file.write_text(text.replace("strict", "lenient"), encoding="utf-8")
    envelope = working.call("session", "status")
    assert "was changed" in " ".join(envelope["meta"]["warnings"])


def test_a_changed_entry_in_the_middle_is_noticed_at_the_next_resume(working: Client) -> None:
    working.next(working.report(working.ok("step", "replay")["next_step"]))
    working.ok("session", "pause")
    text = working.journal_file.read_text(encoding="utf-8")
    working.journal_file.write_text(text.replace("strict", "lenient"), encoding="utf-8")
    envelope = working.call("session", "resume")
    assert envelope["success"]
    assert "broken at line 2" in " ".join(envelope["meta"]["warnings"])
    assert "Journal damaged" in [event["title"] for event in working.journal()]


def test_who_reads_a_changed_journal_is_told(working: Client) -> None:
    working.next(working.report(working.ok("step", "replay")["next_step"]))
    assert "warnings" not in working.call("session", "events")["meta"]
    text = working.journal_file.read_text(encoding="utf-8")
    working.journal_file.write_text(text.replace("strict", "lenient"), encoding="utf-8")
    (warning,) = working.call("session", "events")["meta"]["warnings"]
    assert "journal" in warning


def test_a_journal_that_became_a_link_is_not_written_through(
    working: Client, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("precious\n", encoding="utf-8")
    working.journal_file.unlink()
    working.journal_file.symlink_to(target)
    envelope = working.call("session", "pause")
    assert envelope["success"]
    assert envelope["meta"]["warnings"]
    assert target.read_text(encoding="utf-8") == "precious\n"


def test_forged_entries_fail_closed(working: Client) -> None:
    last = json.loads(working.journal_file.read_bytes().splitlines()[-1])
    forged = last | {"seq": last["seq"] + 1, "title": "Gate evaluated"}
    with working.journal_file.open("a", encoding="utf-8") as file:
        file.write(json.dumps(forged) + "\n")
    assert working.refused("step", "replay") == "GATE_AUDIT_FAILURE"


# Receipts


@pytest.mark.parametrize("how", ["changed", "deleted"])
def test_a_receipt_that_was_tampered_with_is_noticed_at_the_next_resume(
    client: Client, how: str
) -> None:
    client.start()
    data = client.next()
    while data["next_step"]["type"] != "run_fidelity_gate":
        data = client.next(client.report(data["next_step"]))
    [receipt] = (_root(client) / "receipts").iterdir()
    if how == "changed":
        receipt.write_text(receipt.read_text().replace('"exit_code":0', '"exit_code":1'))
    else:
        receipt.unlink()
    client.ok("session", "pause")
    envelope = client.call("session", "resume")
    assert "receipt of p1" in " ".join(envelope["meta"]["warnings"])
    assert client.state()["phase_gates"]["p1"]["verified_at"]


# The deliverables


def test_a_status_that_was_written_by_hand_completes_nothing(working: Client) -> None:
    write_status(
        working.workspace,
        {"p1": ["A-001", "A-002"], "p2": ["B-001"]},
        passed=["A-001", "A-002", "B-001"],
        commands={"p1": ["make test"]},
    )
    step = working.next(working.report(working.ok("step", "replay")["next_step"]))["next_step"]
    assert step["task_id"] == "A-002"


def test_a_phase_that_was_taken_out_of_the_spec_fails_the_session(working: Client) -> None:
    report = working.report(working.ok("step", "replay")["next_step"])
    write_status(working.workspace, {"p1": ["A-001"]}, commands={"p1": ["make test"]})
    data = working.next(report)
    assert (data["status"], data["failure_reason"]) == ("failed", "spec_structure_changed")
