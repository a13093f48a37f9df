"""Gate waivers: by whom, of what, and what the journal says."""

from pathlib import Path

import pytest
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client
from tests.autonomy.surface import Caller

STORE = MemoryStore


def waive(client: Client, phase_id: str = "p1") -> dict[str, object]:
    return client.ok("task", "gate-waiver", phase_id=phase_id, reason_code="false_positive")


def at_the_gate(client: Client, **params: object) -> dict[str, object]:
    """Go on to the first phase's review, and return its step."""
    client.start(**params)
    step = client.next()["next_step"]
    while step["type"] != "run_fidelity_gate":
        step = client.next(client.report(step))["next_step"]
    found: dict[str, object] = step
    return found


def test_a_waived_phase_is_left_without_a_review(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller, stop_on_phase_completion=False)
    waive(caller)
    assert caller.next()["next_step"]["phase_id"] == "p2"


def test_the_spec_can_be_completed_after_a_waiver(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller, stop_on_phase_completion=False)
    waive(caller)
    assert caller.finish()[-1] == "complete_spec"


def test_the_withdrawn_review_is_no_longer_taken(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    step = at_the_gate(caller)
    report = caller.report(step)
    waive(caller)
    assert caller.refused("step", "next", last_step_result=report) == "STEP_MISMATCH"


def test_a_waiver_ends_the_wait_for_an_acknowledgement(workspace: Path) -> None:
    caller = Caller(workspace, "debug")
    step = at_the_gate(caller)
    caller.next(caller.report(step))
    waive(caller)
    assert caller.ok("session", "resume")["status"] == "running"


def test_a_waiver_does_not_wake_the_session(workspace: Path) -> None:
    caller = Caller(workspace, "debug")
    step = at_the_gate(caller)
    caller.next(caller.report(step))
    assert waive(caller)["status"] == "paused"


def test_verification_is_not_waived(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    caller.start()
    step = caller.next()["next_step"]
    while step["type"] != "execute_verification":
        step = caller.next(caller.report(step))["next_step"]
    waive(caller)
    again = caller.next(caller.report(step, "failure"))["next_step"]
    assert again["type"] == "execute_verification"


@pytest.mark.parametrize("phase_id", ["p1", "p2"])
def test_a_phase_with_open_deliverables_is_not_waived(workspace: Path, phase_id: str) -> None:
    caller = Caller(workspace, "supervised")
    caller.start()
    code = caller.refused("task", "gate-waiver", phase_id=phase_id, reason_code="operator_override")
    assert code == "INVALID_STATE_TRANSITION"
    assert not [entry for entry in caller.journal() if entry["title"] == "Gate waived"]


def test_the_journal_says_who_waived_what_and_why(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller)
    caller.ok(
        "task", "gate-waiver", phase_id="p1", reason_code="false_positive", reason="seen by hand"
    )
    [entry] = [e for e in caller.journal() if e["title"] == "Gate waived"]
    assert entry["data"] == {
        "phase_id": "p1",
        "gate_status_before": "pending",
        "verdict": None,
        "reason_code": "false_positive",
        "reason": "seen by hand",
        "role": "maintainer",
        "posture": "supervised",
    }


def test_the_answer_warns(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller)
    params = {"phase_id": "p1", "reason_code": "testing"}
    envelope = caller.call("task", "gate-waiver", **params)
    assert "was waived" in envelope["meta"]["warnings"][0]


def test_a_waiver_needs_a_reason_code(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller)
    assert caller.refused("task", "gate-waiver", phase_id="p1") == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("posture", "role"),
    [
        ("unattended", None),
        ("unattended", "maintainer"),
        ("supervised", "autonomy_runner"),
        ("debug", "observer"),
    ],
)
def test_nobody_else_waives(workspace: Path, posture: str, role: str | None) -> None:
    at_the_gate(Caller(workspace, "supervised"))
    caller = Caller(workspace, posture, role)
    params = {"phase_id": "p1", "reason_code": "testing"}
    assert caller.refused("task", "gate-waiver", **params) == "AUTHORIZATION"


def test_a_gate_is_waived_once(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller)
    waive(caller)
    params = {"phase_id": "p1", "reason_code": "testing"}
    assert caller.refused("task", "gate-waiver", **params) == "INVALID_STATE_TRANSITION"


def test_a_phase_that_does_not_exist_can_not_be_waived(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    at_the_gate(caller)
    params = {"phase_id": "p9", "reason_code": "testing"}
    assert caller.details("task", "gate-waiver", **params)["field"] == "phase_id"


def test_a_session_that_is_over_has_no_gate_to_waive(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    caller.start()
    caller.ok("session", "end")
    params = {"session_id": caller.session_id, "phase_id": "p1", "reason_code": "testing"}
    assert caller.refused("task", "gate-waiver", **params) == "INVALID_STATE_TRANSITION"
