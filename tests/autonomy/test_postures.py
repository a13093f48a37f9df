"""Postures: the table of the contract, and what `unattended` refuses."""

from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client
from tests.autonomy.surface import Caller, write_configuration

from runner.autonomy.access.postures import PROFILES
from runner.autonomy.assembly import open_control_plane
from runner.config.postures import Posture
from runner.errors import ConfigError

STORE = MemoryStore


TABLE = {
    "unattended": (False, False, "strict", True, True, 100, 3, 3),
    "supervised": (True, True, "strict", True, True, 100, 5, 3),
    "debug": (True, True, "manual", False, False, 250, 20, 10),
}


@pytest.mark.parametrize("posture", Posture)
def test_the_profiles_are_those_of_the_contract(posture: Posture) -> None:
    profile = PROFILES[posture]
    options = profile.defaults
    assert TABLE[posture] == (
        profile.lock_bypass,
        profile.gate_waiver,
        options.gate_policy,
        options.stop_conditions.stop_on_phase_completion,
        options.stop_conditions.auto_retry_fidelity_gate,
        options.limits.max_tasks_per_session,
        options.limits.max_consecutive_errors,
        options.limits.max_fidelity_review_cycles_per_phase,
    )


@pytest.mark.parametrize("posture", Posture)
def test_a_session_starts_with_the_values_of_the_posture(workspace: Path, posture: str) -> None:
    data = Caller(workspace, posture).start()
    limits = data["limits"]
    assert (
        data["gate_policy"],
        data["stop_conditions"]["stop_on_phase_completion"],
        data["stop_conditions"]["auto_retry_fidelity_gate"],
        limits["max_tasks_per_session"],
        limits["max_consecutive_errors"],
        limits["max_fidelity_review_cycles_per_phase"],
    ) == TABLE[posture][2:]


WEAKER: list[tuple[str, Any]] = [
    ("gate_policy", "lenient"),
    ("gates_required", False),
    ("enforce_autonomy_write_lock", False),
    ("stop_on_phase_completion", False),
    ("max_tasks_per_session", 101),
    ("max_consecutive_errors", 4),
    ("max_fidelity_review_cycles_per_phase", 4),
]


@pytest.mark.parametrize(("field", "value"), WEAKER)
def test_unattended_refuses_a_weaker_value(workspace: Path, field: str, value: Any) -> None:
    [violation] = Caller(workspace, "unattended").details("session", "start", **{field: value})[
        "violations"
    ]
    assert (violation["field"], violation["value"]) == (field, value)


def test_all_violations_are_named_at_once(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    found = caller.details("session", "start", gate_policy="lenient", gates_required=False)
    assert [one["field"] for one in found["violations"]] == ["gate_policy", "gates_required"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gate_policy", "manual"),
        ("max_consecutive_errors", 1),
        ("auto_retry_fidelity_gate", False),
        ("step_stale_minutes", 600),
    ],
)
def test_unattended_takes_what_is_not_weaker(workspace: Path, field: str, value: Any) -> None:
    assert Caller(workspace, "unattended").start(**{field: value})["status"] == "running"


@pytest.mark.parametrize("posture", ["supervised", "debug"])
def test_the_other_postures_take_weaker_values(workspace: Path, posture: str) -> None:
    data = Caller(workspace, posture).start(gate_policy="lenient", max_consecutive_errors=50)
    assert data["gate_policy"] == "lenient"


def test_a_refused_start_leaves_nothing_behind(workspace: Path) -> None:
    before = sorted(workspace.rglob("*"))
    Caller(workspace, "unattended").refused("session", "start", gate_policy="lenient")
    assert sorted(workspace.rglob("*")) == before


def test_unattended_does_not_take_up_a_weaker_session(workspace: Path) -> None:
    person = Caller(workspace, "supervised")
    person.start()
    person.ok("session", "pause")
    [violation] = Caller(workspace, "unattended").details("session", "resume")["violations"]
    assert violation["field"] == "max_consecutive_errors"


def test_unattended_does_not_rebase_a_weaker_session(workspace: Path) -> None:
    person = Caller(workspace, "supervised")
    person.start(gate_policy="lenient")
    person.ok("session", "pause")
    maintainer = Caller(workspace, "unattended", "maintainer")
    assert "violations" in maintainer.details("session", "rebase")


@pytest.mark.parametrize("command", ["next", "replay", "report"])
def test_unattended_does_not_drive_on_a_weaker_session_that_never_rested(
    workspace: Path, command: str
) -> None:
    person = Caller(workspace, "supervised")
    person.start(gates_required=False)
    step = person.next()["next_step"]
    params = {"last_step_result": person.report(step)} if command == "report" else {}
    caller = Caller(workspace, "unattended")
    assert "violations" in caller.details("step", command, **params)


def test_unattended_takes_up_a_session_that_is_as_strong(workspace: Path) -> None:
    person = Caller(workspace, "supervised")
    person.start(max_consecutive_errors=3)
    person.ok("session", "pause")
    assert Caller(workspace, "unattended").ok("session", "resume")["status"] == "running"


def test_a_session_without_the_lock_needs_a_reason_code(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    details = caller.details("session", "start", enforce_autonomy_write_lock=False)
    assert details["field"] == "reason_code"


def test_a_session_without_the_lock_needs_a_maintainer(workspace: Path) -> None:
    caller = Caller(workspace, "supervised", "autonomy_runner")
    found = caller.details(
        "session", "start", enforce_autonomy_write_lock=False, reason_code="testing"
    )
    assert found["required_role"] == "maintainer"


def test_a_bypass_of_the_lock_stands_in_the_journal(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    caller.start(
        enforce_autonomy_write_lock=False, reason_code="incident_response", reason="disk full"
    )
    [entry] = [e for e in caller.journal() if e["title"] == "Write lock bypassed"]
    assert entry["data"] == {
        "reason_code": "incident_response",
        "reason": "disk full",
        "role": "maintainer",
        "posture": "supervised",
    }


def test_a_session_without_gates_says_so_in_the_journal(workspace: Path) -> None:
    caller = Caller(workspace, "supervised")
    caller.start(gates_required=False)
    assert "Gates switched off" in [entry["title"] for entry in caller.journal()]


def test_an_ordinary_start_has_one_entry_in_the_journal(client: Client) -> None:
    client.start()
    assert [entry["title"] for entry in client.journal()] == ["Autonomous session started"]


def test_an_unknown_posture_stops_the_start(workspace: Path) -> None:
    with pytest.raises(ConfigError):
        Caller(workspace, "strict-prod")


def test_posture_and_role_come_from_the_file(workspace: Path) -> None:
    write_configuration(workspace, '[posture]\nprofile = "debug"\nrole = "observer"\n')
    standing = Caller(workspace).plane.policy.standing
    assert standing is not None
    assert (standing.posture, standing.role) == ("debug", "observer")


def test_the_command_line_chooses_the_posture(workspace: Path) -> None:
    plane = open_control_plane(
        workspace,
        surface="loop",
        environ={"AUTORUNNER_POSTURE": "debug"},
        interactive=False,
        posture="supervised",
    )
    assert plane.policy.describe()["posture"] == "supervised"


def test_the_verification_of_the_file_closes_every_phase(workspace: Path) -> None:
    write_configuration(workspace, '[verification]\ncommands = ["make lint"]\n')
    spec, _ = Caller(workspace).plane.core.read_spec()
    assert spec is not None
    assert "make lint" in spec.commands(spec.phases[-1])


def test_what_is_unsafe_is_said_in_the_answer_of_a_start(workspace: Path) -> None:
    envelope = Caller(workspace, "unattended", "maintainer").call("session", "start")
    assert "combined with the role maintainer" in envelope["meta"]["warnings"][0]


def test_safe_combinations_are_not_warned_about(workspace: Path) -> None:
    assert "warnings" not in Caller(workspace, "unattended").call("session", "start")["meta"]
