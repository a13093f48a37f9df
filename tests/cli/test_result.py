import signal
from typing import Any

import pytest
from tests.cli.phases import row
from tests.cli.scenes import result

from runner.app.result import result_object
from runner.deliverables.model import Counts
from runner.events import ExitReason, RunEnded

CONTRACT_FIELDS = [
    "type",
    "command",
    "exit_reason",
    "exit_code",
    "spec_id",
    "session_id",
    "loop_signal",
    "pause_reason",
    "failure_reason",
    "recommended_actions",
    "iterations",
    "agent_sessions",
    "duration_seconds",
    "total_cost_usd",
    "deliverables",
    "verified",
    "gates",
]


def test_the_fields_of_the_contract_come_first_and_in_its_order() -> None:
    found = result_object(RunEnded(result()))
    assert list(found)[: len(CONTRACT_FIELDS)] == CONTRACT_FIELDS


def test_values_come_from_the_run() -> None:
    found = result_object(RunEnded(result(duration_seconds=61.23456)))
    by_status = {"total": 3, "passed": 2, "blocked": 1, "pending": 0}
    assert found["deliverables"] == {**by_status, "claimed": 2, "verified": 0, "closed": 0}
    assert (found["exit_reason"], found["exit_code"]) == ("all_passed", 0)
    assert found["duration_seconds"] == 61.235


@pytest.mark.parametrize(
    ("phase", "passed", "verified", "closed"),
    [
        ({"gate_status": "failed", "verdict": "fail", "verified_at": "now"}, 0, 2, 0),
        ({"gate_status": "pending"}, 0, 0, 0),
        ({"gate_status": "passed", "verified_at": "now", "duration_seconds": 1.0}, 2, 2, 2),
        ({"gate_status": "waived", "duration_seconds": 1.0}, 2, 0, 2),
        ({"gate_status": None, "verified_at": "now", "duration_seconds": 1.0}, 2, 2, 0),
        ({"gate_status": None, "duration_seconds": 1.0}, 2, 0, 0),
    ],
)
def test_what_is_claimed_verified_and_closed_is_told_apart(
    phase: dict[str, Any], passed: int, verified: int, closed: int
) -> None:
    counts = result_object(RunEnded(result(), {"phases": [row(**phase)]}))["deliverables"]
    assert counts["claimed"] == 2
    assert (counts["passed"], counts["verified"], counts["closed"]) == (passed, verified, closed)


def test_what_nobody_knows_is_null_or_empty() -> None:
    found = result_object(RunEnded(result()))
    unknown = (found["session_id"], found["loop_signal"], found["pause_reason"], found["verified"])
    assert unknown == (None, None, None, None)
    assert (found["gates"], found["recommended_actions"]) == ([], [])


def test_what_the_control_plane_knows_is_taken_over() -> None:
    gates = [{"phase_id": "phase-1", "verdict": "pass", "cycles": 1}]
    details = {"session_id": "auto_01", "loop_signal": "spec_complete", "gates": gates}
    found = result_object(RunEnded(result(), details))
    assert (found["session_id"], found["loop_signal"]) == ("auto_01", "spec_complete")
    assert found["gates"] == gates


def test_details_can_not_change_what_the_run_says() -> None:
    found = result_object(RunEnded(result(), {"exit_code": 0, "exit_reason": "error"}))
    assert found["exit_reason"] == "all_passed"


def test_sync_says_how_many_were_verified() -> None:
    ended = RunEnded(result(command="sync", exit_reason=ExitReason.ALL_VERIFIED), {"verified": 3})
    assert result_object(ended)["verified"] == 3


def test_an_interrupted_run_has_the_code_of_its_signal() -> None:
    run = result(exit_reason=ExitReason.INTERRUPTED, signal_number=signal.SIGTERM)
    assert result_object(RunEnded(run))["exit_code"] == 143


def test_no_deliverables_are_zeros() -> None:
    found = result_object(RunEnded(result(counts=Counts())))
    assert set(found["deliverables"].values()) == {0}


def test_what_people_read_of_a_result_holds_no_control_characters() -> None:
    told = result_object(RunEnded(result(message="the agent said: \x1b]x", hint="\u202ego on")))
    assert (told["message"], told["hint"]) == ("the agent said: ␛]x", "[U+202E]go on")
