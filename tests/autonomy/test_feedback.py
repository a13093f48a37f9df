"""Rules 1 to 3: which reports are accepted, and what they change."""

from datetime import timedelta
from typing import Any

import pytest
from tests.autonomy.kit import Caller, digest, make_spec

from runner.autonomy.codes import RefusedError
from runner.autonomy.enums import StepType, TaskStatus
from runner.autonomy.inputs import CommandResult

SPEC = make_spec({"p1": ["A", "B"]}, commands={"p1": ["make test", "make lint"]})


def _implementing(**options: Any) -> Caller:
    caller = Caller(SPEC, **options)
    caller.next()
    return caller


def _verifying(**options: Any) -> Caller:
    caller = Caller(SPEC, **options)
    caller.succeed_until("execute_verification")
    return caller


def _refused(caller: Caller, report: Any, code: str) -> RefusedError:
    before = caller.state
    with pytest.raises(RefusedError) as caught:
        caller.next(report)
    assert caught.value.code == code
    assert caller.state == before
    return caught.value


@pytest.mark.parametrize(
    "change",
    [
        {"step_id": "step_0000000000000000000000ZZZZ"},
        {"step_type": StepType.RUN_FIDELITY_GATE},
        {"task_id": "B"},
        {"task_id": None},
        {"phase_id": "p2"},
    ],
)
def test_a_report_must_fit_the_outstanding_step(change: dict[str, Any]) -> None:
    caller = _implementing()
    _refused(caller, caller.report(**change), "STEP_MISMATCH")


def test_a_task_report_may_leave_the_phase_out() -> None:
    caller = _implementing()
    assert caller.next_type(caller.report(phase_id=None)) == "implement_task"


def test_a_phase_report_must_name_its_phase_and_no_task() -> None:
    caller = _verifying()
    _refused(caller, caller.report(task_id="A"), "STEP_MISMATCH")


def test_a_report_when_nothing_is_outstanding_is_a_mismatch() -> None:
    caller = _implementing()
    report = caller.report()
    caller.record(report)
    _refused(caller, report, "STEP_MISMATCH")


def test_the_lock_wants_a_proof() -> None:
    caller = _implementing()
    _refused(caller, caller.report(step_proof=None), "STEP_PROOF_REQUIRED")


def test_a_wrong_proof_is_refused() -> None:
    caller = _implementing()
    _refused(caller, caller.report(step_proof="stp_wrong"), "STEP_PROOF_INVALID")


def test_a_proof_of_an_earlier_step_is_refused() -> None:
    caller = _implementing()
    old = caller.report().step_proof
    caller.succeed()
    _refused(caller, caller.report(step_proof=old), "STEP_PROOF_INVALID")


def test_a_report_on_a_long_step_counts_while_heartbeats_come() -> None:
    caller = _implementing()
    report = caller.report()
    for _ in range(5):
        caller.wait(minutes=4)
        caller.heartbeat(10)
    caller.next(report)
    assert caller.state.status == "running"
    assert caller.state.last_report is not None


def test_a_report_after_the_time_of_its_step_counts_and_the_session_pauses() -> None:
    caller = _implementing(limits={"heartbeat_stale_minutes": 100, "heartbeat_grace_minutes": 90})
    caller.wait(minutes=62)
    caller.next(caller.report())
    assert (caller.state.status, caller.state.pause_reason) == ("paused", "step_stale")
    assert caller.state.last_report is not None


def test_without_the_lock_no_proof_is_needed() -> None:
    caller = _implementing(enforced=False)
    assert caller.next_type(caller.report(step_proof=None)) == "implement_task"


@pytest.mark.parametrize("extra", [{"gate_attempt_id": "gate_1"}, {"gate_evidence_token": "gev_1"}])
def test_gate_fields_on_another_step_are_refused(extra: dict[str, Any]) -> None:
    caller = _implementing()
    _refused(caller, caller.report(**extra), "VALIDATION_ERROR")


def test_a_receipt_on_another_step_is_refused() -> None:
    caller = _implementing()
    _refused(caller, caller.report(verification_receipt=caller.receipt()), "VALIDATION_ERROR")


def test_a_failed_task_is_issued_again() -> None:
    caller = _implementing()
    step = caller.next(caller.report("failure"))
    assert step is not None
    assert step["task_id"] == "A"


def test_a_failed_task_goes_before_others_that_became_runnable() -> None:
    spec = make_spec({"p1": ["A", "B", "C"]}, depends={"A": ["B"]})
    caller = Caller(spec)
    caller.succeed_until("implement_task")
    caller.state = caller.state.evolve(retry_task_id="C", last_step_issued=None)
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "C"


def test_a_skipped_task_is_not_issued_again_and_not_completed() -> None:
    caller = _implementing()
    step = caller.next(caller.report("skipped"))
    assert step is not None
    assert step["task_id"] == "B"
    assert caller.state.completed_task_ids == ()
    assert caller.changes == []


def test_a_task_that_waits_for_a_skipped_one_blocks() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, depends={"B": ["A"]}))
    caller.next()
    caller.next(caller.report("skipped"))
    assert caller.state.pause_reason == "blocked"


def test_a_spec_with_everything_skipped_does_not_complete() -> None:
    caller = Caller(make_spec({"p1": ["A"]}))
    caller.next()
    caller.next(caller.report("skipped"))
    assert caller.state.pause_reason == "blocked"


def test_a_spec_with_something_skipped_needs_a_person_at_its_end() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}))
    caller.next()
    caller.next(caller.report("skipped"))
    caller.succeed()
    caller.succeed()
    assert caller.state.pause_reason == "blocked"
    assert caller.data["details"]["skipped_task_ids"] == ["A"]


def test_blocking_what_was_skipped_lets_the_spec_complete() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}))
    caller.next()
    caller.next(caller.report("skipped"))
    caller.succeed()
    caller.spec = make_spec({"p1": ["A", "B"]}, blocked=["A"], passed=["B"])
    assert caller.succeed_until("complete_spec")["type"] == "complete_spec"


def test_a_blocked_task_that_was_skipped_comes_back_when_it_is_unblocked() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}))
    caller.next()
    caller.spec = make_spec({"p1": ["A", "B"]}, blocked=["A"])
    caller.next(caller.report("skipped"))
    caller.spec = make_spec({"p1": ["A", "B"]})
    step = caller.succeed()
    assert step is not None
    assert step["task_id"] == "A"


def test_a_blocked_deliverable_cannot_be_reported_as_done() -> None:
    caller = Caller(make_spec({"p1": ["A"]}))
    caller.next()
    caller.spec = make_spec({"p1": ["A"]}, blocked=["A"])
    _refused(caller, caller.report(), "VALIDATION_ERROR")


def test_verification_wants_a_receipt() -> None:
    caller = _verifying()
    _refused(caller, caller.report(verification_receipt=None), "VERIFICATION_RECEIPT_REQUIRED")


def test_verification_cannot_be_skipped_under_the_lock() -> None:
    caller = _verifying()
    _refused(caller, caller.report("skipped"), "VERIFICATION_RECEIPT_REQUIRED")


def test_verification_can_be_skipped_without_the_lock() -> None:
    caller = _verifying(enforced=False)
    assert caller.next_type(caller.report("skipped")) == "run_fidelity_gate"


def test_failed_verification_is_asked_for_again() -> None:
    caller = _verifying()
    assert caller.next_type(caller.report("failure")) == "execute_verification"
    assert caller.state.counters.consecutive_errors == 1


def test_a_failure_may_bring_a_receipt_with_other_exit_codes() -> None:
    caller = _verifying()
    receipt = caller.receipt(results=_results(caller, exit_code=2))
    report = caller.report("failure", verification_receipt=receipt)
    assert caller.next_type(report) == "execute_verification"


def _results(caller: Caller, *, exit_code: int = 0) -> tuple[CommandResult, ...]:
    step = caller.state.last_step_issued
    assert step is not None
    return tuple(
        CommandResult(command_hash=c.command_hash, exit_code=exit_code, output_digest=digest("out"))
        for c in step.commands
    )


def _bad_receipts(caller: Caller) -> dict[str, dict[str, Any]]:
    results = _results(caller)
    foreign = results[0].model_copy(update={"command_hash": digest("other")})
    return {
        "exit code": {"results": _results(caller, exit_code=1)},
        "one missing": {"results": results[:1]},
        "one twice": {"results": (*results, results[0])},
        "foreign command": {"results": (*results[:1], foreign)},
        "nothing": {"results": ()},
        "too early": {"issued_at": caller.now - timedelta(minutes=1)},
        "too late": {"issued_at": caller.now + timedelta(minutes=1)},
        "other step": {"step_id": "step_0000000000000000000000ZZZZ"},
    }


@pytest.mark.parametrize("name", list(_bad_receipts(_verifying())))
def test_a_receipt_that_does_not_fit_is_refused(name: str) -> None:
    caller = _verifying()
    receipt = caller.receipt(**_bad_receipts(caller)[name])
    _refused(caller, caller.report(verification_receipt=receipt), "VERIFICATION_RECEIPT_INVALID")


def test_report_records_and_leaves_the_next_step_to_next() -> None:
    caller = _implementing()
    caller.record(caller.report())
    assert (caller.data["next_step"], caller.data["status"]) == (None, "running")
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"


def test_what_a_report_says_stands_in_the_journal() -> None:
    caller = _implementing()
    caller.next(caller.report(note="done", files_touched=("a.py",)))
    data = caller.journal[-1].data
    assert (data["note"], data["files_touched"], data["task_id"]) == ("done", ["a.py"], "A")


def test_work_reopened_by_hand_in_a_gated_phase_is_gated_again() -> None:
    caller = Caller(make_spec({"p1": ["A", "X"], "p2": ["B", "C"]}, blocked=["X"]))
    caller.succeed_until("run_fidelity_gate")
    caller.succeed()
    caller.spec = make_spec({"p1": ["A", "X"], "p2": ["B", "C"]}, passed=["A"])
    step = caller.succeed()
    assert step is not None
    assert step["task_id"] == "X"
    step = caller.succeed()
    assert step is not None
    assert (step["type"], step["phase_id"]) == ("run_fidelity_gate", "p1")
    assert TaskStatus.PASSED in {c.status for c in caller.changes}
