"""Rebase: what is kept, what is judged again, what is refused."""

from dataclasses import replace

import pytest
from tests.autonomy.kit import Caller, make_spec

from runner.autonomy.codes import RefusedError

SPEC = make_spec({"p1": ["A", "B"], "p2": ["C"]})


def _with_a_and_b_done() -> Caller:
    caller = Caller(SPEC)
    caller.succeed_until("run_fidelity_gate")
    caller.pause()
    return caller


def _with_phase_1_gated() -> Caller:
    caller = Caller(SPEC)
    caller.succeed_until("run_fidelity_gate")
    caller.succeed()
    caller.pause()
    return caller


def test_an_unchanged_spec_is_no_change_and_the_session_runs() -> None:
    caller = _with_a_and_b_done()
    transition = caller.rebase(make_spec({"p1": ["A", "B"], "p2": ["C"]}, passed=["A", "B"]))
    assert transition.detail["rebase_result"] == "no_change"
    assert caller.state.status == "running"


def test_added_work_is_taken_up() -> None:
    caller = _with_a_and_b_done()
    spec = make_spec({"p1": ["A", "B", "N"], "p2": ["C"], "p3": ["D"]}, passed=["A", "B"])
    result = caller.rebase(spec).detail["rebase_result"]
    assert (result["added_tasks"], result["added_phases"]) == (["N", "D"], ["p3"])
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "N"


def test_a_failed_session_recovers_and_keeps_what_was_done() -> None:
    caller = Caller(SPEC)
    caller.next()
    caller.spec = replace(make_spec({"p1": ["A", "B"], "p2": ["C", "D"]}), mtime=9.0)
    caller.next(caller.report())
    assert caller.state.status == "failed"
    assert caller.spec is not None
    caller.rebase(caller.spec)
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"
    assert caller.state.completed_task_ids == ("A",)


def test_removed_completed_work_needs_force() -> None:
    caller = _with_a_and_b_done()
    with pytest.raises(RefusedError) as caught:
        caller.rebase(make_spec({"p1": ["B"], "p2": ["C"]}, passed=["B"]))
    assert caught.value.code == "REBASE_COMPLETED_TASKS_REMOVED"
    assert caught.value.details["removed_task_ids"] == ["A"]


def test_with_force_removed_completed_work_is_dropped_and_counted() -> None:
    caller = _with_a_and_b_done()
    caller.rebase(make_spec({"p1": ["B"], "p2": ["C"]}, passed=["B"]), force=True)
    assert caller.state.completed_task_ids == ("B",)
    assert caller.state.counters.tasks_completed == 1


def test_a_phase_that_gained_work_is_gated_again() -> None:
    caller = _with_phase_1_gated()
    caller.rebase(make_spec({"p1": ["A", "B", "N"], "p2": ["C"]}, passed=["A", "B"]))
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "N"
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("run_fidelity_gate", "p1")


def test_a_phase_that_gained_finished_work_is_gated_again() -> None:
    caller = _with_phase_1_gated()
    caller.rebase(make_spec({"p1": ["A", "B", "N"], "p2": ["C"]}, passed=["A", "B", "N"]))
    step = caller.next()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("run_fidelity_gate", "p1")


def test_a_phase_that_gained_commands_is_verified_and_gated_again() -> None:
    caller = _with_phase_1_gated()
    spec = make_spec({"p1": ["A", "B"], "p2": ["C"]}, passed=["A", "B"], commands={"p1": ["make"]})
    caller.rebase(spec)
    assert caller.next_type() == "execute_verification"


def test_a_gate_of_an_untouched_phase_stands() -> None:
    caller = _with_phase_1_gated()
    caller.rebase(make_spec({"p1": ["A", "B"], "p2": ["C", "D"]}, passed=["A", "B"]))
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "C"


def test_work_that_a_sync_found_undone_is_done_again() -> None:
    caller = _with_phase_1_gated()
    result = caller.rebase(make_spec({"p1": ["A", "B"], "p2": ["C"]}, passed=["A"]))
    assert result.detail["rebase_result"]["reopened_tasks"] == ["B"]
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"


def test_work_that_a_sync_found_done_is_not_done_again() -> None:
    caller = _with_phase_1_gated()
    caller.rebase(make_spec({"p1": ["A", "B"], "p2": ["C"]}, passed=["A", "B", "C"]))
    assert caller.next_type() == "run_fidelity_gate"
    assert caller.state.completed_task_ids == ("A", "B", "C")


def test_skipped_work_is_offered_again_after_a_rebase() -> None:
    caller = Caller(SPEC)
    caller.next()
    caller.next(caller.report("skipped"))
    caller.pause()
    caller.rebase(SPEC)
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "A"


def test_a_removed_active_phase_leaves_a_valid_one_active() -> None:
    caller = _with_phase_1_gated()
    caller.rebase(make_spec({"p1": ["A", "B"]}, passed=["A", "B"]))
    assert caller.state.active_phase_id == "p1"
    assert caller.next_type() == "complete_spec"


def test_a_running_session_is_not_rebased() -> None:
    caller = Caller(SPEC)
    with pytest.raises(RefusedError) as caught:
        caller.rebase(SPEC)
    assert caught.value.code == "INVALID_STATE_TRANSITION"


def test_a_rebase_does_not_get_around_a_manual_gate() -> None:
    caller = Caller(SPEC, policy="manual")
    caller.succeed_until("run_fidelity_gate")
    caller.next(caller.review())
    assert caller.spec is not None
    caller.rebase(caller.spec)
    assert caller.next_type() == "run_fidelity_gate"
