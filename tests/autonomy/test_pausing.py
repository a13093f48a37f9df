"""Rules 4 to 8: each guard by itself, and which of two wins."""

from dataclasses import replace
from typing import Any

import pytest
from tests.autonomy.kit import Caller, make_spec, with_status

from runner.autonomy.codes import RefusedError
from runner.autonomy.enums import TaskStatus

SPEC = make_spec({"p1": ["A", "B", "C"], "p2": ["D"]})


def _caller(**options: Any) -> Caller:
    return Caller(SPEC, **options)


def test_an_unreadable_spec_fails_the_session() -> None:
    caller = _caller()
    caller.spec = None
    assert caller.next() is None
    assert (caller.data["status"], caller.data["failure_reason"]) == ("failed", "spec_not_found")


def test_a_changed_structure_fails_the_session_and_says_what_changed() -> None:
    caller = _caller()
    caller.spec = make_spec({"p1": ["A", "B"], "p2": ["D", "E"]})
    caller.spec = replace(caller.spec, mtime=9.0)
    assert caller.next() is None
    assert caller.data["failure_reason"] == "spec_structure_changed"
    drift = caller.data["details"]["spec_drift"]
    assert (drift["added_tasks"], drift["removed_tasks"]) == (["E"], ["C"])


def test_the_report_that_comes_with_a_changed_structure_counts() -> None:
    caller = _caller()
    caller.next()
    caller.spec = replace(make_spec({"p1": ["A", "B"]}), mtime=9.0)
    caller.next(caller.report())
    assert caller.state.status == "failed"
    assert caller.state.completed_task_ids == ("A",)


def test_equal_metadata_spare_the_hash() -> None:
    caller = _caller()
    caller.spec = make_spec({"p1": ["X"]})
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "X"


def test_a_fresh_reading_is_hashed_whatever_its_metadata_say() -> None:
    caller = _caller()
    caller.spec = replace(make_spec({"p1": ["X"]}), fresh=True)
    caller.next()
    assert caller.state.failure_reason == "spec_structure_changed"


def test_a_failed_session_is_answered_without_a_step() -> None:
    caller = _caller()
    caller.spec = None
    caller.next()
    caller.spec = SPEC
    assert caller.next() is None
    assert caller.data["loop_signal"] == "failed"


def test_the_first_heartbeat_may_take_the_grace_window() -> None:
    caller = _caller()
    caller.wait(minutes=5)
    assert caller.next_type() == "implement_task"


def test_without_a_heartbeat_the_session_pauses_after_the_grace_window() -> None:
    caller = _caller()
    caller.wait(minutes=5, seconds=1)
    step = caller.next()
    assert step is not None
    assert (step["type"], step["reason"]) == ("pause", "heartbeat_stale")
    assert caller.data["details"]["pause_trigger"] == "HEARTBEAT_STALE"


def test_a_heartbeat_holds_for_its_own_longer_time() -> None:
    caller = _caller()
    caller.heartbeat()
    caller.wait(minutes=10)
    assert caller.next_type() == "implement_task"
    caller.wait(seconds=1)
    caller.next(caller.report())
    assert caller.state.pause_reason == "heartbeat_stale"


def test_a_late_heartbeat_pauses_instead_of_counting() -> None:
    caller = _caller()
    caller.wait(minutes=6)
    caller.heartbeat()
    assert caller.state.pause_reason == "heartbeat_stale"
    assert caller.state.context.last_heartbeat_at is None


def test_a_late_heartbeat_is_refused_and_told_what_became_of_the_session() -> None:
    caller = _caller()
    caller.wait(minutes=6)
    refusal = caller.heartbeat()
    assert refusal is not None
    assert refusal.code == "HEARTBEAT_STALE"
    assert refusal.details["pause_trigger"] == "HEARTBEAT_STALE"
    assert refusal.details["state_version"] == caller.state.state_version


def test_the_next_late_heartbeat_is_refused_too_and_changes_nothing() -> None:
    caller = _caller()
    caller.wait(minutes=6)
    caller.heartbeat()
    before = caller.state
    refusal = caller.heartbeat()
    assert refusal is not None
    assert refusal.code == "HEARTBEAT_STALE"
    assert caller.state == before


def test_after_a_resume_heartbeats_count_again() -> None:
    caller = _caller()
    caller.wait(minutes=6)
    caller.heartbeat()
    caller.resume()
    assert caller.heartbeat(12) is None
    assert caller.state.context.context_usage_pct == 12


def test_who_asks_for_work_after_the_pause_is_told_its_trigger_too() -> None:
    caller = _caller()
    caller.wait(minutes=6)
    caller.heartbeat()
    assert caller.next() is None
    assert caller.data["details"]["pause_trigger"] == "HEARTBEAT_STALE"


def test_a_report_after_the_silence_counts_and_the_pause_stays() -> None:
    caller = _caller()
    caller.next()
    caller.wait(minutes=6)
    caller.heartbeat()
    caller.next(caller.report())
    assert caller.state.completed_task_ids == ("A",)
    assert caller.state.pause_reason == "heartbeat_stale"


def test_a_step_reported_too_late_counts_and_pauses() -> None:
    caller = _caller(limits={"step_stale_minutes": 2, "heartbeat_grace_minutes": 30})
    caller.next()
    caller.wait(minutes=2, seconds=1)
    caller.next(caller.report())
    assert caller.state.pause_reason == "step_stale"
    assert caller.state.completed_task_ids == ("A",)


def test_a_heartbeat_notices_a_stale_step() -> None:
    caller = _caller(limits={"step_stale_minutes": 1, "heartbeat_grace_minutes": 30})
    caller.next()
    caller.wait(minutes=1, seconds=1)
    assert caller.heartbeat() is None
    assert caller.state.pause_reason == "step_stale"


@pytest.mark.parametrize(("percent", "expected"), [(84, "implement_task"), (85, "pause")])
def test_context_usage_pauses_from_the_threshold_on(percent: int, expected: str) -> None:
    caller = _caller()
    caller.heartbeat(percent)
    assert caller.next_type() == expected


def test_consecutive_errors_pause_at_their_limit() -> None:
    caller = _caller(limits={"max_consecutive_errors": 2})
    caller.next()
    assert caller.next_type(caller.report("failure")) == "implement_task"
    caller.next(caller.report("failure", note="it broke"))
    assert caller.state.pause_reason == "error_threshold"
    assert caller.data["details"]["last_error"] == "it broke"


def test_success_resets_consecutive_errors() -> None:
    caller = _caller(limits={"max_consecutive_errors": 2})
    caller.next()
    caller.next(caller.report("failure"))
    caller.succeed()
    assert caller.state.counters.consecutive_errors == 0


def test_heartbeats_can_move_the_error_count_but_not_below_zero() -> None:
    caller = _caller()
    caller.heartbeat(consecutive_error_delta=2)
    assert caller.state.counters.consecutive_errors == 2
    caller.heartbeat(consecutive_error_delta=-5)
    assert caller.state.counters.consecutive_errors == 0


def test_the_task_limit_pauses_and_a_resume_counts_anew() -> None:
    caller = _caller(limits={"max_tasks_per_session": 1})
    caller.next()
    caller.succeed()
    assert caller.state.pause_reason == "task_limit"
    caller.resume()
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"


def test_staleness_comes_before_the_other_guards() -> None:
    caller = _caller()
    caller.heartbeat(99)
    caller.wait(minutes=11)
    caller.next()
    assert caller.state.pause_reason == "heartbeat_stale"


def test_context_comes_before_errors() -> None:
    caller = _caller(limits={"max_consecutive_errors": 1})
    caller.heartbeat(99, consecutive_error_delta=1)
    caller.next()
    assert caller.state.pause_reason == "context_limit"


def test_a_paused_session_is_answered_without_a_new_pause() -> None:
    caller = _caller()
    caller.pause()
    before = caller.state
    assert caller.next() is None
    assert (caller.data["status"], caller.data["pause_reason"]) == ("paused", "user")
    assert caller.state == before


def test_a_report_on_a_paused_session_counts_and_the_pause_stays() -> None:
    caller = _caller()
    caller.next()
    caller.pause()
    assert caller.next(caller.report()) is None
    assert caller.state.completed_task_ids == ("A",)
    assert caller.state.pause_reason == "user"


def test_every_pause_has_one_journal_entry() -> None:
    caller = _caller()
    caller.pause()
    caller.next()
    caller.next()
    assert caller.titles().count("Session paused") == 1


def test_the_signal_of_an_ordinary_pause_asks_for_attention() -> None:
    caller = _caller()
    caller.pause()
    caller.next()
    assert caller.data["loop_signal"] == "paused_needs_attention"
    assert caller.data["recommended_actions"][0]["action"] == "resume"


def test_everything_blocked_pauses() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, blocked=["A", "B"]))
    caller.next()
    assert caller.state.pause_reason == "blocked"
    assert caller.data["details"]["blocked_task_ids"] == ["A", "B"]


def test_a_dependency_on_a_later_phase_is_a_deadlock_not_a_detour() -> None:
    caller = Caller(make_spec({"p1": ["A"], "p2": ["B"]}, depends={"A": ["B"]}))
    caller.next()
    assert caller.state.pause_reason == "blocked"
    assert caller.data["details"]["waiting"] == {"A": ["B"]}


def test_a_deadlock_of_very_many_is_told_by_its_first_and_their_number() -> None:
    names = [f"A-{number}" for number in range(300)]
    circle = {name: [after] for name, after in zip(names, [*names[1:], names[0]], strict=True)}
    caller = Caller(make_spec({"p1": names}, depends=circle))
    caller.next()
    details = caller.data["details"]
    assert (len(details["waiting"]), details["waiting_count"]) == (50, 300)


def test_an_empty_spec_never_completes() -> None:
    caller = Caller(make_spec({"p1": []}))
    caller.next()
    assert caller.state.pause_reason == "blocked"


def test_blocked_work_is_left_out_and_listed_at_the_end() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, blocked=["B"]))
    caller.succeed_until("complete_spec")
    assert caller.data["details"]["blocked_task_ids"] == ["B"]


def test_a_phase_that_a_person_has_blocked_needs_no_gate() -> None:
    caller = Caller(make_spec({"p1": ["A"], "p2": ["B"]}, blocked=["A"]))
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"


def test_work_that_is_unblocked_in_an_earlier_phase_goes_first_and_is_gated() -> None:
    caller = Caller(make_spec({"p1": ["A"], "p2": ["B", "C"]}, blocked=["A"]))
    caller.next()
    assert caller.spec is not None
    caller.spec = with_status(caller.spec, "A", TaskStatus.PENDING)
    step = caller.succeed()
    assert step is not None
    assert step["task_id"] == "A"
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("run_fidelity_gate", "p1")


def test_a_new_report_is_owed_before_the_next_step() -> None:
    caller = _caller()
    step = caller.next()
    assert step is not None
    with pytest.raises(RefusedError) as caught:
        caller.next()
    assert caught.value.code == "STEP_RESULT_REQUIRED"
    assert caught.value.details["outstanding_step_id"] == step["step_id"]
