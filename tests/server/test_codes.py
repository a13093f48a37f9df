"""CONTRACT §6: every code is met by the protocol library's own client, over stdio."""

import json
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.autonomy.plane import Client as PlaneClient
from tests.autonomy.plane import statuses, write_status
from tests.cli.control.kit import Cli
from tests.server.conftest import PHASES
from tests.server.mcp_client import McpClient, in_the_past, serving

from runner.autonomy.codes import CODES, ErrorCode
from runner.autonomy.signals import ERROR_ROWS

pytestmark = pytest.mark.process

Envelope = dict[str, Any]
Scene = Callable[[McpClient], Envelope]

NEVER = {ErrorCode.INTERNAL}
"""It says that there is a bug, and no input is to yield it; test_calls.py has one."""

BOUNDED = """
[posture]
role = "autonomy_runner"

[feature_flags]
autonomy_resume = false
"""
"""The configuration of a server whose callers may do little."""


def _plan(client: McpClient, phases: dict[str, list[str]], **options: Any) -> Path:
    return write_status(client.workspace, phases, commands={"p1": ["make test"]}, **options)


def _session(client: McpClient, command: str, **params: Any) -> Envelope:
    return client.call("session", command, **params)


def _report(client: McpClient, report: dict[str, Any]) -> Envelope:
    return client.call("step", "next", last_step_result=report)


def _first(client: PlaneClient, **options: Any) -> dict[str, Any]:
    client.start(**options)
    step: dict[str, Any] = client.next()["next_step"]
    return step


def _at(client: McpClient, step_type: str, **options: Any) -> dict[str, Any]:
    """Go on to the first step of a type and return it."""
    step = _first(client, **options)
    while step["type"] != step_type:
        step = client.next(client.report(step))["next_step"]
    return step


def _step_result_required(client: McpClient) -> Envelope:
    _first(client)
    return client.call("step", "next")


def _step_mismatch(client: McpClient) -> Envelope:
    report = client.report(_first(client))
    return _report(client, report | {"step_id": "step_01ARZ3NDEKTSV4RRFFQ69G5FAV"})


def _step_proof_required(client: McpClient) -> Envelope:
    return _report(client, client.report(_first(client)) | {"step_proof": None})


def _step_proof_invalid(client: McpClient) -> Envelope:
    return _report(client, client.report(_first(client)) | {"step_proof": "stp_" + "A" * 43})


def _step_proof_conflict(client: McpClient) -> Envelope:
    report = client.report(_first(client))
    client.next(report)
    return _report(client, report | {"note": "Something else."})


def _step_proof_expired(client: McpClient) -> Envelope:
    earlier = in_the_past(client, minutes=2)
    report = earlier.report(_first(earlier))
    earlier.next(report)
    return _report(client, report)


def _write_lock_active(client: McpClient) -> Envelope:
    proof = _first(client)["step_proof_token"]
    return client.call("task", "complete", task_id="B-001", autonomy_step_proof=proof)


def _invalid_gate_evidence(client: McpClient) -> Envelope:
    report = client.report(_at(client, "run_fidelity_gate"))
    return _report(client, report | {"gate_evidence_token": "gev_" + "A" * 43})


def _ambiguous(client: McpClient) -> Envelope:
    client.start()
    path = client.workspace / ".runner" / "status.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"specId": "other"}))
    client.start()
    return client.call("step", "next")


def _exists(client: McpClient) -> Envelope:
    client.start()
    return _session(client, "start")


def _unrecoverable(client: McpClient) -> Envelope:
    client.start()
    client.session_file().write_text("{")
    return client.call("step", "next", session_id=client.session_id)


def _locked(client: McpClient) -> Envelope:
    client.start()
    with FileLock(_locks(client) / f"session_{client.session_id}.lock"):
        return _session(client, "pause")


def _late(client: McpClient) -> Envelope:
    """Wait for the session first, and then for the deliverables, until the time is up."""
    step = _first(client)
    session = FileLock(_locks(client) / f"session_{client.session_id}.lock", thread_local=False)
    with FileLock(_locks(client) / "status.lock"):
        session.acquire()
        threading.Timer(3, session.release).start()
        proof = {"task_id": step["task_id"], "autonomy_step_proof": step["step_proof_token"]}
        envelope = client.call("task", "block", **proof)
    _session(client, "status")  # the change was made; its status is written at the next access
    assert statuses(client.workspace)[step["task_id"]] == "blocked"
    return envelope


def _locks(client: McpClient) -> Path:
    return client.workspace / ".runner" / "autonomy" / "locks"


def _manual_gate(client: McpClient, **acknowledged: Any) -> Envelope:
    client.next(client.report(_at(client, "run_fidelity_gate", gate_policy="manual")))
    return _session(client, "resume", **acknowledged)


def _wrong_acknowledgement(client: McpClient) -> Envelope:
    wrong = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": "gate_x"}
    return _manual_gate(client, **wrong)


def _wrong_transition(client: McpClient) -> Envelope:
    client.start()
    return _session(client, "resume")


def _auto_mode(client: McpClient) -> Envelope:
    (client.workspace / ".runner" / "status.json").unlink()
    return client.envelope("task", action="session-config", auto_mode=True)


def _changed_spec(client: McpClient) -> None:
    """Complete A-001, then take it away, so that the session fails."""
    report = client.report(_first(client))
    step = client.next(report)["next_step"]
    _plan(client, PHASES | {"p1": ["A-002"]})
    assert client.next(client.report(step))["status"] == "failed"


def _rebase_required(client: McpClient) -> Envelope:
    client.start()
    _plan(client, PHASES | {"p4": ["D-001"]})
    assert client.next()["status"] == "failed"
    return _session(client, "resume", force=True)


def _completed_removed(client: McpClient) -> Envelope:
    _changed_spec(client)
    return _session(client, "rebase")


def _no_spec(client: McpClient) -> Envelope:
    return _session(client, "start", spec_id="other")


def _no_session(client: McpClient) -> Envelope:
    return _session(client, "status", session_id="auto_01ARZ3NDEKTSV4RRFFQ69G5FAV")


def _receipt(client: McpClient, **changes: Any) -> Envelope:
    report = client.report(_at(client, "execute_verification"))
    return _report(client, report | changes)


def _no_receipt(client: McpClient) -> Envelope:
    return _receipt(client, verification_receipt=None)


def _wrong_receipt(client: McpClient) -> Envelope:
    step = _at(client, "execute_verification")
    receipt = client.receipt(step) | {"results": []}
    return _report(client, client.report(step) | {"verification_receipt": receipt})


def _edited_evidence(client: McpClient) -> Envelope:
    step = _at(client, "run_fidelity_gate")
    report = client.report(step, "failure") | {"outcome": "success"} | client.review(step, "fail")
    evidence = client.state()["pending_gate_evidence"]
    client.edit_state(pending_gate_evidence=evidence | {"verdict": "pass"})
    return _report(client, report)


def _older_copy(client: McpClient) -> Envelope:
    client.start()
    before = client.session_file().read_bytes()
    client.next()
    client.session_file().write_bytes(before)
    return client.call("step", "next", session_id=client.session_id)


def _skipped_gate(client: McpClient) -> Envelope:
    return _report(client, client.report(_at(client, "run_fidelity_gate"), "skipped"))


def _unwritable(client: McpClient) -> Envelope:
    (client.workspace / ".runner" / "autonomy").write_text("A file where a folder is needed.")
    return _session(client, "start")


def _late_heartbeat(client: McpClient) -> Envelope:
    in_the_past(client, minutes=30).start()
    return client.call("step", "heartbeat", context_usage_pct=1)


def _review_beside_a_run(client: McpClient) -> Envelope:
    """Ask for an agent's review while a run has the workspace."""
    step = _at(client, "run_fidelity_gate")
    with FileLock(_locks(client) / "run.lock"):
        return client.call(
            "review",
            "gate",
            phase_id=step["phase_id"],
            step_id=step["step_id"],
            session_id=client.session_id,
        )


def _asked_too_often(client: McpClient) -> Envelope:
    for _ in range(10):
        _session(client, "end")
    return _session(client, "end")


SCENES: dict[ErrorCode, Scene] = {
    ErrorCode.STEP_RESULT_REQUIRED: _step_result_required,
    ErrorCode.STEP_MISMATCH: _step_mismatch,
    ErrorCode.STEP_PROOF_REQUIRED: _step_proof_required,
    ErrorCode.STEP_PROOF_INVALID: _step_proof_invalid,
    ErrorCode.STEP_PROOF_CONFLICT: _step_proof_conflict,
    ErrorCode.STEP_PROOF_EXPIRED: _step_proof_expired,
    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE: _write_lock_active,
    ErrorCode.INVALID_GATE_EVIDENCE: _invalid_gate_evidence,
    ErrorCode.INVALID_CURSOR: lambda client: _session(client, "list", cursor="x"),
    ErrorCode.NO_ACTIVE_SESSION: lambda client: _session(client, "status"),
    ErrorCode.AMBIGUOUS_ACTIVE_SESSION: _ambiguous,
    ErrorCode.SPEC_SESSION_EXISTS: _exists,
    ErrorCode.SESSION_UNRECOVERABLE: _unrecoverable,
    ErrorCode.LOCK_TIMEOUT: _locked,
    ErrorCode.TIMEOUT: _late,
    ErrorCode.MANUAL_GATE_ACK_REQUIRED: _manual_gate,
    ErrorCode.INVALID_GATE_ACK: _wrong_acknowledgement,
    ErrorCode.INVALID_STATE_TRANSITION: _wrong_transition,
    ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED: _auto_mode,
    ErrorCode.SPEC_REBASE_REQUIRED: _rebase_required,
    ErrorCode.REBASE_COMPLETED_TASKS_REMOVED: _completed_removed,
    ErrorCode.HEARTBEAT_STALE: _late_heartbeat,
    ErrorCode.VALIDATION_ERROR: lambda client: client.call("step", "heartbeat"),
    ErrorCode.SPEC_NOT_FOUND: _no_spec,
    ErrorCode.SESSION_NOT_FOUND: _no_session,
    ErrorCode.VERIFICATION_RECEIPT_REQUIRED: _no_receipt,
    ErrorCode.VERIFICATION_RECEIPT_INVALID: _wrong_receipt,
    ErrorCode.GATE_INTEGRITY_CHECKSUM: _edited_evidence,
    ErrorCode.GATE_AUDIT_FAILURE: _older_copy,
    ErrorCode.REQUIRED_GATE_UNSATISFIED: _skipped_gate,
    ErrorCode.REVIEW_UNAVAILABLE: _review_beside_a_run,
    ErrorCode.STATE_UNWRITABLE: _unwritable,
}


BOUNDED_SCENES: dict[ErrorCode, Scene] = {
    ErrorCode.FEATURE_DISABLED: lambda client: _session(client, "resume"),
    ErrorCode.AUTHORIZATION: lambda client: _session(client, "end"),
    ErrorCode.RATE_LIMITED: _asked_too_often,
}
"""Met by the callers of a server that is configured so."""

ROWS = SCENES | BOUNDED_SCENES


@pytest.fixture
def bounded(workspace: Path) -> Iterator[McpClient]:
    (workspace / ".runner" / "runner.toml").write_text(BOUNDED, encoding="utf-8")
    with serving(workspace) as client:
        yield client


@pytest.fixture
def caller(code: ErrorCode, request: pytest.FixtureRequest) -> McpClient:
    """The client that can meet a code."""
    found: McpClient = request.getfixturevalue("bounded" if code in BOUNDED_SCENES else "client")
    return found


def test_every_code_has_its_row() -> None:
    assert set(ROWS) == set(ErrorCode) - NEVER


@pytest.mark.parametrize("code", ROWS)
def test_the_code_stands_in_the_data_of_the_refusal(caller: McpClient, code: ErrorCode) -> None:
    envelope = ROWS[code](caller)
    data = envelope["data"]
    assert (envelope["success"], data["error_code"]) == (False, code)
    assert data["error_type"] == CODES[code].error_type
    assert data["loop_signal"] == ERROR_ROWS[code].signal
    assert data["remediation"]
    assert envelope["error"]


@pytest.mark.parametrize("code", ROWS)
def test_what_a_refusal_recommends_can_be_pasted_in_the_workspace(
    caller: McpClient, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions = ROWS[code](caller)["data"]["recommended_actions"]
    monkeypatch.setenv("XDG_STATE_HOME", str(caller.workspace.parent / "state"))
    monkeypatch.chdir(caller.workspace)
    for command in [action["command"] for action in actions if "command" in action]:
        program, *words = shlex.split(command)
        assert program == "runner"
        if words[0] != "run":  # that needs an agent; tests/e2e has it
            done = Cli(caller.workspace).run(*words)
            assert done.code == 0, (command, done)


def test_who_asks_too_often_is_told_how_long_to_wait(bounded: McpClient) -> None:
    assert 0 < _asked_too_often(bounded)["data"]["details"]["retry_after"] <= 60


def test_a_silent_caller_finds_the_session_paused_and_the_trigger_named(
    client: McpClient,
) -> None:
    earlier = in_the_past(client, minutes=30)
    step = _first(earlier, step_proof_ttl_minutes=60)
    earlier.ok("step", "heartbeat", context_usage_pct=1)
    data = client.next(client.report(step))
    assert data["pause_reason"] == "heartbeat_stale"
    assert data["details"]["pause_trigger"] == "HEARTBEAT_STALE"
