"""Pause, resume, end: which states take them, and what starts fresh."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.autonomy.kit import Caller, make_spec

from runner.autonomy.codes import ErrorCode, RefusedError

SPEC = make_spec({"p1": ["A", "B"], "p2": ["C"]})


def _code(action: Callable[[], object]) -> str:
    with pytest.raises(RefusedError) as caught:
        action()
    return caught.value.code


def _failed() -> Caller:
    caller = Caller(SPEC)
    caller.spec = replace(make_spec({"p1": ["A", "B"], "p2": ["C", "D"]}), mtime=9.0)
    caller.next()
    return caller


def test_pause_sets_every_flag_of_the_lifecycle() -> None:
    caller = Caller(SPEC)
    caller.next()
    caller.pause()
    lifecycle = caller.state.lifecycle
    assert (caller.state.status, caller.state.pause_reason) == ("paused", "user")
    assert (lifecycle.paused, lifecycle.paused_reason) == (True, "user")
    assert lifecycle.paused_context == "implement_task on A"


def test_only_a_running_session_is_paused() -> None:
    caller = Caller(SPEC)
    caller.pause()
    assert _code(caller.pause) == "INVALID_STATE_TRANSITION"


def test_resume_clears_the_pause_and_counts() -> None:
    caller = Caller(SPEC)
    caller.pause()
    caller.resume()
    assert (caller.state.status, caller.state.pause_reason) == ("running", None)
    assert (caller.state.lifecycle.paused, caller.state.lifecycle.resume_count) == (False, 1)


def test_a_running_session_is_not_resumed() -> None:
    caller = Caller(SPEC)
    assert _code(caller.resume) == "INVALID_STATE_TRANSITION"


def test_a_stale_session_can_be_resumed_at_once() -> None:
    caller = Caller(SPEC)
    caller.wait(minutes=6)
    caller.resume()
    assert caller.next_type() == "implement_task"
    assert caller.journal[-1].data["resumed_from"] == "heartbeat_stale"


def test_the_first_next_after_a_resume_owes_no_report_and_issues_the_task_again() -> None:
    caller = Caller(SPEC)
    first = caller.next()
    caller.pause()
    caller.resume()
    again = caller.next()
    assert first is not None
    assert again is not None
    assert again["task_id"] == first["task_id"]
    assert again["step_id"] != first["step_id"]


def test_the_first_next_after_a_resume_may_still_report_the_outstanding_step() -> None:
    caller = Caller(SPEC)
    caller.next()
    caller.pause()
    caller.resume()
    step = caller.next(caller.report())
    assert step is not None
    assert step["task_id"] == "B"


def test_a_resume_after_full_context_starts_with_an_empty_one() -> None:
    caller = Caller(SPEC)
    caller.heartbeat(95)
    caller.next()
    caller.resume()
    assert caller.next_type() == "implement_task"


def test_a_resume_after_a_stale_heartbeat_has_a_new_grace_window() -> None:
    caller = Caller(SPEC)
    caller.heartbeat()
    caller.wait(minutes=30)
    caller.next()
    caller.resume()
    caller.wait(minutes=4)
    assert caller.next_type() == "implement_task"


def test_a_resume_after_a_stale_step_does_not_stumble_over_the_old_one() -> None:
    caller = Caller(SPEC, limits={"step_stale_minutes": 1}, proof_ttl=60)
    caller.next()
    caller.wait(minutes=2)
    caller.heartbeat()
    caller.resume()
    assert caller.next_type(caller.report()) == "implement_task"


def test_a_resume_after_errors_counts_anew() -> None:
    caller = Caller(SPEC, limits={"max_consecutive_errors": 1})
    caller.next()
    caller.next(caller.report("failure"))
    caller.resume()
    assert caller.next_type() == "implement_task"


def test_a_failed_session_needs_force() -> None:
    assert _code(_failed().resume) == "INVALID_STATE_TRANSITION"


def test_force_does_not_get_past_a_changed_structure() -> None:
    caller = _failed()
    assert _code(lambda: caller.resume(force=True)) == "SPEC_REBASE_REQUIRED"


def test_force_resumes_when_the_structure_is_back() -> None:
    caller = _failed()
    caller.spec = SPEC
    caller.resume(force=True)
    assert caller.next_type() == "implement_task"


def test_force_cannot_resume_without_a_spec() -> None:
    caller = _failed()
    caller.spec = None
    assert _code(lambda: caller.resume(force=True)) == "SESSION_UNRECOVERABLE"


def test_an_ended_session_takes_nothing_more() -> None:
    caller = Caller(SPEC)
    caller.end()
    for action in (caller.pause, caller.resume, caller.end, lambda: caller.rebase(SPEC)):
        assert _code(action) == "INVALID_STATE_TRANSITION"
    assert caller.next() is None
    assert caller.state.status == "ended"


@pytest.mark.parametrize("prepare", ["running", "paused", "failed"])
def test_every_session_that_is_not_terminal_can_be_ended(prepare: str) -> None:
    caller = _failed() if prepare == "failed" else Caller(SPEC)
    if prepare == "paused":
        caller.pause()
    caller.end()
    assert caller.state.status == "ended"


def test_a_heartbeat_does_not_wake_a_paused_session() -> None:
    caller = Caller(SPEC)
    caller.pause()
    caller.heartbeat(50)
    assert caller.state.status == "paused"
    assert caller.state.context.context_usage_pct == 50


def test_a_heartbeat_on_an_ended_session_is_refused() -> None:
    caller = Caller(SPEC)
    caller.end()
    before = caller.state
    with pytest.raises(RefusedError) as refusal:
        caller.heartbeat(50)
    assert refusal.value.code is ErrorCode.INVALID_STATE_TRANSITION
    assert caller.state == before


def test_every_lifecycle_change_stands_in_the_journal() -> None:
    caller = Caller(SPEC)
    caller.pause()
    caller.resume()
    caller.pause()
    caller.rebase(SPEC)
    caller.end()
    assert caller.titles() == [
        "Autonomous session started",
        "Session paused",
        "Session resumed",
        "Session paused",
        "Session rebased",
        "Session ended",
    ]


def _remediating() -> Caller:
    """Return a caller whose outstanding step mends the findings of the first review."""
    caller = Caller(make_spec({"p1": ["A"]}))
    caller.succeed_until("run_fidelity_gate")
    assert caller.next_type(caller.review("fail")) == "address_fidelity_feedback"
    return caller


def test_findings_are_still_mended_after_a_persons_pause() -> None:
    caller = _remediating()
    caller.pause()
    caller.resume()
    assert caller.next_type() == "address_fidelity_feedback"


def test_findings_are_still_mended_in_a_fresh_context() -> None:
    caller = _remediating()
    caller.heartbeat(90)
    assert caller.next_type(caller.report("failure")) == "pause"
    caller.resume()
    assert caller.next_type() == "address_fidelity_feedback"


def test_findings_are_still_mended_after_a_rebase() -> None:
    caller = _remediating()
    caller.pause()
    assert caller.spec is not None
    caller.rebase(caller.spec)
    assert caller.next_type() == "address_fidelity_feedback"
