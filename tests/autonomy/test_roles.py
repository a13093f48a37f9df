"""Roles: who may run which command, on every surface."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client
from tests.autonomy.surface import Caller

from runner.autonomy.access.callers import LOOP_COMMANDS, MUTATIONS, PRIVILEGES, REQUIRED_ROLES, Key
from runner.config.postures import Role

STORE = MemoryStore


WELL_FORMED: dict[Key, dict[str, Any]] = {
    ("session", "reset"): {"session_id": "auto_01J00000000000000000000000"},
    ("step", "heartbeat"): {"context_usage_pct": 1},
    ("step", "report"): {
        "last_step_result": {
            "step_id": "step_01J00000000000000000000000",
            "step_type": "implement_task",
            "task_id": "A-001",
            "outcome": "success",
        }
    },
    ("review", "gate"): {
        "phase_id": "p1",
        "step_id": "step_01J00000000000000000000000",
        "verdict": "pass",
    },
    ("journal", "add"): {"title": "a note"},
    ("task", "gate-waiver"): {"phase_id": "p1", "reason_code": "testing"},
    ("task", "update-status"): {"task_id": "A-001", "status": "passed"},
    **{
        ("task", name): {"task_id": "A-001"}
        for name in ("prepare", "start", "complete", "block", "unblock")
    },
}


def test_every_command_has_its_role(client: Client) -> None:
    assert set(REQUIRED_ROLES) == set(client.plane.commands)


def test_privileges_belong_to_commands(client: Client) -> None:
    assert set(PRIVILEGES) | MUTATIONS | set(LOOP_COMMANDS) <= set(client.plane.commands)


@pytest.mark.parametrize(
    ("role", "key"),
    [
        (role, key)
        for role, key in itertools.product(Role, REQUIRED_ROLES)
        if not role.covers(REQUIRED_ROLES[key])
    ],
)
def test_a_role_is_refused_what_it_may_not(workspace: Path, role: Role, key: Key) -> None:
    caller = Caller(workspace, "supervised", role)
    data = caller.call(*key, **WELL_FORMED.get(key, {}))["data"]
    found = (data["error_code"], data["details"]["role"], data["details"]["required_role"])
    assert found == ("AUTHORIZATION", role, REQUIRED_ROLES[key])


@pytest.mark.parametrize("key", REQUIRED_ROLES)
def test_a_maintainer_is_refused_nothing(workspace: Path, key: Key) -> None:
    data = Caller(workspace, "supervised").call(*key, **WELL_FORMED.get(key, {}))["data"]
    assert data.get("error_code") != "AUTHORIZATION"


def test_a_refusal_blocks_the_loop_and_says_where_to_look(workspace: Path) -> None:
    data = Caller(workspace, "unattended").call("session", "end")["data"]
    assert data["loop_signal"] == "blocked_runtime"
    assert data["recommended_actions"][0]["command"] == "runner capabilities"


def test_malformed_input_is_told_so_before_anything_else(workspace: Path) -> None:
    assert Caller(workspace, role="observer").refused("session", "end", nonsense=1) == (
        "VALIDATION_ERROR"
    )


def test_an_unknown_role_may_only_read(workspace: Path) -> None:
    assert Caller(workspace, role="root").refused("session", "start") == "AUTHORIZATION"


def test_a_forced_start_is_an_end_and_needs_the_same_role(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    caller.start()
    assert caller.refused("session", "start", force=True) == "AUTHORIZATION"


def test_a_runner_can_not_acknowledge_its_own_review(workspace: Path) -> None:
    runner = Caller(workspace, "unattended")
    runner.start(gate_policy="manual")
    action = runner.details(
        "session",
        "resume",
        acknowledge_gate_review=True,
        acknowledged_gate_attempt_id="gate_1",
    )["action"]
    assert action == "acknowledge a gate review"


@pytest.mark.parametrize(
    ("posture", "role"), [("unattended", "maintainer"), ("supervised", "autonomy_runner")]
)
def test_a_recorded_review_needs_posture_and_role(workspace: Path, posture: str, role: str) -> None:
    caller = Caller(workspace, posture, role)
    code = caller.refused("review", "gate", **WELL_FORMED[("review", "gate")])
    assert code == "AUTHORIZATION"


def test_the_program_may_hand_in_the_review_that_it_ran(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    caller.start()
    code = caller.plane.program.call("review", "gate", **WELL_FORMED[("review", "gate")])["data"]
    assert code["error_code"] == "STEP_MISMATCH"


def test_the_program_may_rebase_after_its_own_sync(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    caller.start()
    caller.ok("session", "pause")
    assert caller.plane.program.call("session", "rebase")["success"]


def test_a_runner_changes_the_deliverable_of_its_step(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    caller.start()
    step = caller.next()["next_step"]
    token = step["step_proof_token"]
    changed = caller.ok("task", "complete", task_id=step["task_id"], autonomy_step_proof=token)
    assert changed["status"] == "passed"


def test_a_runner_without_a_proof_is_told_that_it_needs_one(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    caller.start()
    assert caller.refused("task", "complete", task_id="A-001") == "STEP_PROOF_REQUIRED"


@pytest.mark.parametrize("key", sorted(MUTATIONS))
def test_a_runner_changes_nothing_without_a_session(workspace: Path, key: Key) -> None:
    caller = Caller(workspace, "unattended")
    given = WELL_FORMED[key] | {"autonomy_step_proof": "stp_forged"}
    assert caller.refused(*key, **given) == "AUTHORIZATION"


def test_a_runner_changes_nothing_in_a_session_without_the_lock(workspace: Path) -> None:
    maintainer = Caller(workspace, "supervised")
    maintainer.start(enforce_autonomy_write_lock=False, reason_code="testing")
    runner = Caller(workspace, "unattended")
    assert runner.refused("task", "complete", task_id="A-001") == "AUTHORIZATION"


def test_a_maintainer_changes_a_deliverable_without_a_session(workspace: Path) -> None:
    changed = Caller(workspace, "supervised").ok("task", "complete", task_id="A-001")
    assert changed["status"] == "passed"


def test_the_preflight_lets_a_runner_through(workspace: Path) -> None:
    assert Caller(workspace, surface="mcp").plane.role_preflight() is None


def test_the_preflight_stops_an_observer_before_any_session(workspace: Path) -> None:
    envelope = Caller(workspace, role="observer").plane.role_preflight()
    assert envelope is not None
    assert envelope["data"]["details"]["action"] == "session start"
