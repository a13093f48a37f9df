"""Before the end every phase's commands have succeeded on the work as it is (ADR-0071)."""

import json
from pathlib import Path
from typing import Any

from tests.autonomy.kit import Caller, make_spec
from tests.autonomy.plane import Client, write_status

from runner.autonomy.enums import GateStatus
from runner.autonomy.models import SessionState

TWO = make_spec({"p1": ["A"], "p2": ["B"]}, commands={"p1": ["make one"], "p2": ["make two"]})
SAME = make_spec({"p1": ["A"], "p2": ["B"]}, commands={"p1": ["make"], "p2": ["make"]})


def steps_of(caller: Caller, most: int = 40) -> list[str]:
    """Succeed with every step to the end; return what they were."""
    step = caller.next()
    found: list[str] = []
    while step is not None and len(found) < most:
        found.append(f"{step['type']} {step['phase_id']}")
        if step["type"] in ("pause", "complete_spec"):
            break
        step = caller.succeed()
    return found


def at_the_end(caller: Caller) -> dict[str, Any]:
    """Go on to the first step that verifies a closed phase again, and return it."""
    step = caller.succeed_until("execute_verification")
    while not step["reverifies"]:
        caller.succeed()
        step = caller.succeed_until("execute_verification")
    return step


def test_an_earlier_phase_is_verified_again_after_later_work() -> None:
    caller = Caller(TWO)
    assert steps_of(caller)[-2:] == ["execute_verification p1", "complete_spec p2"]


def test_a_phase_that_fails_at_the_end_is_verified_and_reviewed_again() -> None:
    caller = Caller(TWO)
    at_the_end(caller)
    assert caller.next_type(caller.report("failure")) == "execute_verification"
    assert caller.state.active_phase_id == "p1"
    assert caller.next_type(caller.report()) == "run_fidelity_gate"
    assert caller.state.status == "running"


def test_the_evidence_of_a_reopened_phase_counts_no_more() -> None:
    caller = Caller(TWO)
    at_the_end(caller)
    caller.next(caller.report("failure"))
    gate = caller.state.gate("p1")
    assert (gate.status, gate.verified_at, gate.receipt_hash) == ("pending", None, None)


def test_a_failure_at_the_end_is_no_error_of_the_caller() -> None:
    caller = Caller(TWO, limits={"max_consecutive_errors": 1})
    at_the_end(caller)
    assert caller.next_type(caller.report("failure")) == "execute_verification"


def test_mending_a_reopened_phase_has_the_others_verified_again() -> None:
    caller = Caller(TWO)
    at_the_end(caller)
    caller.tree = "broken"
    caller.next(caller.report("failure"))
    caller.tree = "mended"
    caller.next(caller.report())
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["phase_id"], step["reverifies"]) == (
        "execute_verification",
        "p2",
        True,
    )


def test_phases_that_break_each_other_for_ever_need_a_person() -> None:
    caller = Caller(TWO)
    step = at_the_end(caller)
    for number in range(30):
        if step["type"] == "pause":
            break
        caller.tree = f"tree {number}"
        failing = step.get("reverifies")
        found = caller.next(caller.report("failure")) if failing else caller.succeed()
        assert found is not None
        step = found
    assert caller.state.pause_reason == "verification_unsettled"


def test_a_resumed_session_verifies_again_from_the_start() -> None:
    caller = Caller(TWO, limits={"max_fidelity_review_cycles_per_phase": 1})
    at_the_end(caller)
    caller.tree = "other"
    caller.next(caller.report("failure"))
    caller.tree = "mended"
    caller.next(caller.report())
    caller.succeed()
    caller.tree = "moved"
    assert caller.next_type(caller.report()) == "pause"
    caller.resume()
    assert caller.next_type() == "execute_verification"


def test_on_one_tree_nothing_is_verified_twice() -> None:
    caller = Caller(TWO)
    caller.tree = "the same all along"
    assert steps_of(caller).count("execute_verification p1") == 1


def test_a_command_that_succeeded_on_this_tree_for_another_phase_is_proved() -> None:
    caller = Caller(SAME)
    assert steps_of(caller) == [
        "implement_task p1",
        "execute_verification p1",
        "run_fidelity_gate p1",
        "implement_task p2",
        "execute_verification p2",
        "run_fidelity_gate p2",
        "complete_spec p2",
    ]


def test_a_single_phase_has_nothing_more_to_run() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, commands={"p1": ["make"]}))
    assert steps_of(caller).count("execute_verification p1") == 1


def test_a_tree_that_changed_after_the_last_verification_is_verified_again() -> None:
    caller = Caller(make_spec({"p1": ["A"]}, commands={"p1": ["make"]}))
    caller.tree = "as verified"
    caller.succeed_until("run_fidelity_gate")
    caller.tree = "edited since"
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["reverifies"]) == ("execute_verification", True)


def test_the_commands_of_a_phase_are_those_of_the_end() -> None:
    caller = Caller(TWO)
    caller.tree = "the same"
    caller.succeed_until("run_fidelity_gate")
    caller.spec = make_spec(
        {"p1": ["A"], "p2": ["B"]}, passed=["A"], commands={"p1": ["make it"], "p2": ["make two"]}
    )
    caller.succeed_until("complete_spec")
    assert caller.titles().count("Verification passed") == 3


def test_the_gates_may_be_off() -> None:
    caller = Caller(TWO, gates=False)
    assert steps_of(caller)[-2:] == ["execute_verification p1", "complete_spec p2"]


def test_a_waived_gate_stays_waived_when_its_phase_reopens() -> None:
    caller = Caller(TWO)
    at_the_end(caller)
    gate = caller.state.gate("p1").evolve(status=GateStatus.WAIVED, waiver_reason="because")
    caller.state = caller.state.evolve(phase_gates={**caller.state.phase_gates, "p1": gate})
    assert caller.next_type(caller.report("failure")) == "execute_verification"
    assert caller.state.gate("p1").status == "waived"


def test_an_unlocked_caller_that_skips_verification_is_asked_once() -> None:
    caller = Caller(TWO, enforced=False)
    at_the_end(caller)
    assert caller.next_type(caller.report("skipped")) == "complete_spec"


def test_a_failed_attempt_to_mend_proves_nothing_about_other_phases() -> None:
    caller = Caller(TWO, limits={"max_consecutive_errors": 9})
    at_the_end(caller)
    caller.next(caller.report("failure"))
    before = caller.state.work_reports
    caller.next(caller.report("failure"))
    assert caller.state.work_reports == before + 1


def test_a_session_of_before_this_was_kept_verifies_every_phase_at_its_end() -> None:
    caller = Caller(TWO)
    caller.succeed_until("run_fidelity_gate")
    document = json.loads(caller.state.model_dump_json(by_alias=True))
    for name in ("proven", "work_reports"):
        del document[name]
    for gate in document["phase_gates"].values():
        del gate["reverified"]
    for name in ("reverifies", "scope"):
        del document["last_step_issued"][name]
    caller.state = SessionState.model_validate_json(json.dumps(document))
    at_the_end(caller)
    assert caller.state.last_step_issued is not None
    assert caller.state.last_step_issued.phase_id == "p1"


class Tree:
    """A work tree that tests change."""

    def __init__(self) -> None:
        self.now = "first"

    def __call__(self) -> str:
        if self.now == "unreadable":
            raise OSError(5, "Input/output error")
        return self.now


def at_last_gate(workspace: Path, tree: Tree) -> tuple[Client, dict[str, Any]]:
    """Return a client of two phases with commands, and the step of the last gate."""
    write_status(
        workspace, {"p1": ["A"], "p2": ["B"]}, commands={"p1": ["make one"], "p2": ["make two"]}
    )
    client = Client(workspace, tree_of=tree)
    client.start()
    step = client.next()["next_step"]
    while (step["type"], step["phase_id"]) != ("run_fidelity_gate", "p2"):
        step = client.next(client.report(step))["next_step"]
    return client, step


def test_the_control_plane_looks_at_the_tree_itself(tmp_path: Path) -> None:
    tree = Tree()
    client, gate = at_last_gate(tmp_path / "project", tree)
    tree.now = "edited by hand"
    step = client.next(client.report(gate))["next_step"]
    assert (step["type"], step["phase_id"], step["reverifies"]) == (
        "execute_verification",
        "p1",
        True,
    )


def test_an_unchanged_tree_is_at_its_end(tmp_path: Path) -> None:
    client, gate = at_last_gate(tmp_path / "project", Tree())
    assert client.next(client.report(gate))["next_step"]["type"] == "complete_spec"


def test_a_tree_that_cannot_be_read_is_never_proved(tmp_path: Path) -> None:
    tree = Tree()
    client, gate = at_last_gate(tmp_path / "project", tree)
    tree.now = "unreadable"
    step = client.next(client.report(gate))["next_step"]
    assert step["type"] == "execute_verification"


def test_a_session_of_the_schema_before_goes_on(tmp_path: Path) -> None:
    client, gate = at_last_gate(tmp_path / "project", Tree())
    client.forge_state(without=("proven", "work_reports"), _schema_version=2)
    step = client.next(client.report(gate))["next_step"]
    assert (step["type"], step["phase_id"]) == ("execute_verification", "p1")
