"""Seed 002's resumption figures and seed 003's fields for operators."""

from typing import Any

from tests.autonomy.kit import Caller, make_spec

from runner.autonomy.views import progress_view, session_view

PHASES = {"p1": ["A"], "p2": ["B"], "p3": ["C"]}


def _caller(**options: Any) -> Caller:
    return Caller(make_spec(PHASES), gates=False, **options)


def _progress(caller: Caller) -> dict[str, Any]:
    return progress_view(caller.state, caller.now)


def _view(caller: Caller) -> dict[str, Any]:
    return session_view(caller.state, caller.spec, caller.now)


def test_the_current_phase_never_leaves_the_valid_range() -> None:
    caller = _caller()
    caller.succeed_until("complete_spec")
    progress = _progress(caller)
    assert (progress["current_phase_number"], progress["total_phases"]) == (3, 3)
    assert (progress["percent_complete"], progress["resumption_status"]) == (100, "completed")


def test_average_and_estimate_come_from_the_closed_phases() -> None:
    caller = _caller()
    caller.next()
    caller.wait(minutes=3)
    caller.succeed()
    caller.wait(minutes=1)
    progress = _progress(caller)
    assert progress["average_phase_seconds"] == 180
    assert progress["estimated_remaining_seconds"] == 360
    assert progress["seconds_in_phase"] == 60


def test_twice_the_average_is_a_stall() -> None:
    caller = _caller()
    caller.next()
    caller.wait(minutes=4)
    caller.succeed()
    caller.wait(minutes=8)
    assert _progress(caller)["resumption_status"] == "active"
    caller.wait(seconds=1)
    assert _progress(caller)["resumption_status"] == "possibly_stalled"


def test_no_closed_phase_means_no_estimate() -> None:
    caller = _caller()
    caller.next()
    caller.wait(hours=9)
    progress = _progress(caller)
    assert (progress["average_phase_seconds"], progress["estimated_remaining_seconds"]) == (
        None,
        None,
    )
    assert progress["is_stalled"] is False


def test_a_failed_gate_is_what_one_should_reckon_with() -> None:
    caller = Caller(make_spec(PHASES))
    caller.succeed_until("run_fidelity_gate")
    caller.next(caller.review("fail"))
    assert _progress(caller)["resumption_status"] == "gate_failed"


def test_each_phase_has_its_row() -> None:
    caller = _caller()
    caller.next()
    caller.wait(minutes=2)
    caller.succeed()
    first, second, third = _progress(caller)["phases"]
    assert (first["phase_id"], first["tasks_completed"], first["duration_seconds"]) == (
        "p1",
        1,
        120,
    )
    assert first["gate_status"] is None
    assert (second["completed_at"], third["started_at"]) == (None, None)


def test_operators_see_the_outstanding_step_and_that_it_is_due() -> None:
    caller = _caller()
    step = caller.next()
    view = _view(caller)
    assert step is not None
    assert (view["last_step_id"], view["last_step_type"], view["current_task_id"]) == (
        step["step_id"],
        "implement_task",
        "A",
    )
    assert (view["report_due"], view["last_report"]) == (True, None)


def test_operators_see_the_last_report() -> None:
    caller = _caller()
    caller.next()
    report = caller.report("failure")
    caller.next(report)
    view = _view(caller)
    assert view["last_report"] == {
        "step_id": report.step_id,
        "outcome": "failure",
        "recorded_at": caller.now.isoformat(),
    }
    assert view["retry_counters"] == {
        "consecutive_errors": 1,
        "retry_task_id": "A",
        "gate_cycles": {},
    }


def test_after_a_resume_no_report_is_due() -> None:
    caller = _caller()
    caller.next()
    caller.pause()
    caller.resume()
    assert _view(caller)["report_due"] is False
