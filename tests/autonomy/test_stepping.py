"""Whole walks through a spec: which step follows which."""

from tests.autonomy.kit import Caller, make_spec

ONE = {"p1": ["A", "B"]}
TWO = {"p1": ["A"], "p2": ["B"]}


def test_a_phase_goes_from_tasks_to_verification_to_gate_to_completion() -> None:
    caller = Caller(make_spec(ONE, commands={"p1": ["make test"]}))
    types = [caller.next_type()]
    while caller.state.status == "running":
        step = caller.succeed()
        assert step is not None
        types.append(step["type"])
    assert types == [
        "implement_task",
        "implement_task",
        "execute_verification",
        "run_fidelity_gate",
        "complete_spec",
    ]


def test_a_phase_without_commands_goes_straight_to_its_gate() -> None:
    caller = Caller(make_spec({"p1": ["A"]}))
    caller.next()
    step = caller.succeed()
    assert step is not None
    assert step["type"] == "run_fidelity_gate"


def test_a_passed_gate_opens_the_next_phase() -> None:
    caller = Caller(make_spec(TWO))
    caller.succeed_until("run_fidelity_gate")
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["task_id"], step["phase_id"]) == ("implement_task", "B", "p2")


def test_what_had_passed_at_the_start_is_not_issued_again_but_its_phase_is_reviewed() -> None:
    caller = Caller(make_spec(TWO, passed=["A"]))
    step = caller.next()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("run_fidelity_gate", "p1")


def test_a_phase_that_only_verifies_is_verified_and_gated() -> None:
    caller = Caller(make_spec({"p1": ["A"], "p2": []}, commands={"p2": ["make e2e"]}))
    caller.succeed_until("run_fidelity_gate")
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("execute_verification", "p2")
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("run_fidelity_gate", "p2")


def test_a_phase_without_anything_in_it_holds_nothing_up() -> None:
    caller = Caller(make_spec({"p1": [], "p2": ["A"]}))
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "A"


def test_without_gates_a_phase_ends_with_its_verification() -> None:
    caller = Caller(make_spec({"p1": ["A"]}, commands={"A": ["pytest"]}), gates=False)
    caller.succeed_until("execute_verification")
    assert caller.next_type(caller.report()) == "complete_spec"


def test_commands_of_phase_and_deliverables_are_issued_once_each() -> None:
    commands = {"A": ["pytest", "ruff"], "p1": ["pytest", "mypy"]}
    caller = Caller(make_spec({"p1": ["A"]}, commands=commands))
    step = caller.succeed_until("execute_verification")
    assert [c["command"] for c in step["commands"]] == ["pytest", "ruff", "mypy"]


def test_dependencies_decide_the_order_inside_a_phase() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, depends={"A": ["B"]}))
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"


def test_completion_is_a_flag_and_the_active_phase_stays_valid() -> None:
    caller = Caller(make_spec(TWO))
    caller.succeed_until("complete_spec")
    state = caller.state
    assert state.lifecycle.completed
    assert (state.status, state.active_phase_id) == ("completed", "p2")
    assert state.counters.tasks_completed == 2


def test_after_completion_next_answers_with_the_status_and_no_step() -> None:
    caller = Caller(make_spec({"p1": ["A"]}))
    caller.succeed_until("complete_spec")
    version = caller.state.state_version
    assert caller.next() is None
    assert (caller.data["status"], caller.data["loop_signal"]) == ("completed", "spec_complete")
    assert caller.state.state_version == version


def test_phase_timing_closes_a_phase_when_the_next_one_opens() -> None:
    caller = Caller(make_spec(TWO))
    caller.succeed_until("run_fidelity_gate")
    caller.wait(minutes=3)
    caller.succeed()
    timing = caller.state.phase_timing
    assert timing["p1"].duration_seconds == 180.0
    assert timing["p2"].completed_at is None


def test_each_step_carries_a_proof_while_the_lock_is_enforced() -> None:
    caller = Caller(make_spec(ONE))
    step = caller.next()
    assert step is not None
    assert step["step_proof_expires_at"] is not None
    assert caller.state.pending_step_proof is not None


def test_without_the_lock_no_proof_is_made() -> None:
    caller = Caller(make_spec(ONE), enforced=False)
    step = caller.next()
    assert step is not None
    assert step["step_proof_expires_at"] is None
    assert caller.state.pending_step_proof is None


def test_a_completed_task_has_its_deliverable_marked_as_passed() -> None:
    caller = Caller(make_spec(ONE))
    caller.next()
    caller.succeed()
    assert [(c.task_id, c.status) for c in caller.changes] == [("A", "passed")]


def test_a_finished_walk_has_one_journal_entry_per_step() -> None:
    caller = Caller(make_spec(ONE, commands={"p1": ["make"]}))
    caller.succeed_until("complete_spec")
    assert caller.titles() == [
        "Autonomous session started",
        "Task step completed",
        "Task step completed",
        "Verification passed",
        "Gate evaluated",
        "Session completed",
    ]
    assert [entry.seq for entry in caller.journal] == [1, 2, 3, 4, 5, 6]
