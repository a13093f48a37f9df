"""Fidelity gates: policies, retries, cycles, evidence."""

from typing import Any

import pytest
from tests.autonomy.kit import Caller, make_spec

from runner.autonomy.codes import RefusedError
from runner.autonomy.engine.gates import mint_evidence, policy_passes
from runner.autonomy.enums import GatePolicy, GateVerdict

SPEC = make_spec({"p1": ["A"], "p2": ["B"]})


def _at_gate(**options: Any) -> Caller:
    caller = Caller(SPEC, **options)
    caller.succeed_until("run_fidelity_gate")
    return caller


@pytest.mark.parametrize(
    ("policy", "verdict", "passes"),
    [
        ("strict", "pass", True),
        ("strict", "warn", False),
        ("strict", "fail", False),
        ("lenient", "pass", True),
        ("lenient", "warn", True),
        ("lenient", "fail", False),
        ("manual", "pass", False),
        ("manual", "warn", False),
        ("manual", "fail", False),
    ],
)
def test_a_policy_decides_what_a_verdict_means(policy: str, verdict: str, passes: bool) -> None:
    assert policy_passes(GatePolicy(policy), GateVerdict(verdict)) is passes


def test_a_failed_review_is_mended_and_reviewed_again() -> None:
    caller = _at_gate()
    step = caller.next(caller.review("fail"))
    assert step is not None
    assert step["type"] == "address_fidelity_feedback"
    assert step["gate_attempt_id"] == caller.state.gate("p1").gate_attempt_id
    assert caller.next_type(caller.report()) == "run_fidelity_gate"


def test_mended_findings_are_verified_before_they_are_reviewed() -> None:
    caller = Caller(make_spec({"p1": ["A"]}, commands={"p1": ["make"]}))
    caller.succeed_until("run_fidelity_gate")
    caller.next(caller.review("fail"))
    assert caller.next_type(caller.report()) == "execute_verification"
    assert caller.next_type(caller.report()) == "run_fidelity_gate"


def test_a_failed_review_is_no_error() -> None:
    caller = _at_gate()
    caller.next(caller.review("fail"))
    assert caller.state.counters.consecutive_errors == 0


def test_reviews_that_keep_failing_pause_at_the_cycle_limit() -> None:
    caller = _at_gate(limits={"max_fidelity_review_cycles_per_phase": 2})
    caller.next(caller.review("fail"))
    caller.next(caller.report())
    caller.next(caller.review("fail"))
    assert caller.state.pause_reason == "fidelity_cycle_limit"


def test_a_resume_after_the_cycle_limit_reviews_again() -> None:
    caller = _at_gate(limits={"max_fidelity_review_cycles_per_phase": 1})
    caller.next(caller.review("fail"))
    caller.resume()
    assert caller.next_type() == "run_fidelity_gate"
    step = caller.next(caller.review("pass"))
    assert step is not None
    assert step["task_id"] == "B"


def test_the_cycle_count_starts_anew_in_the_next_phase() -> None:
    caller = _at_gate()
    caller.next(caller.review("fail"))
    caller.next(caller.report())
    caller.next(caller.review("pass"))
    assert caller.state.active_phase_id == "p2"
    assert caller.state.counters.fidelity_review_cycles_in_active_phase == 0


def test_without_automatic_retry_a_failed_review_pauses() -> None:
    caller = _at_gate(auto_retry=False)
    caller.next(caller.review("warn"))
    assert caller.state.pause_reason == "gate_failed"


def test_a_resume_after_a_failed_gate_reviews_again() -> None:
    caller = _at_gate(auto_retry=False)
    caller.next(caller.review("fail"))
    caller.resume()
    assert caller.next_type() == "run_fidelity_gate"


def test_failed_remediation_is_asked_for_again() -> None:
    caller = _at_gate()
    caller.next(caller.review("fail"))
    assert caller.next_type(caller.report("failure")) == "address_fidelity_feedback"
    assert caller.state.counters.consecutive_errors == 1


def test_skipped_remediation_needs_a_person() -> None:
    caller = _at_gate()
    caller.next(caller.review("fail"))
    caller.next(caller.report("skipped"))
    assert caller.state.pause_reason == "gate_failed"


@pytest.mark.parametrize("verdict", ["pass", "warn", "fail"])
def test_the_manual_policy_always_asks_a_person(verdict: str) -> None:
    caller = _at_gate(policy="manual", limits={"max_fidelity_review_cycles_per_phase": 1})
    caller.next(caller.review(verdict))
    assert caller.state.pause_reason == "gate_review_required"


def test_an_acknowledged_review_lets_the_phase_pass() -> None:
    caller = _at_gate(policy="manual")
    caller.next(caller.review("warn"))
    attempt = caller.data["details"]["gate_attempt_id"]
    caller.resume(acknowledge_gate_review=True, acknowledged_gate_attempt_id=attempt)
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"
    assert caller.state.gate("p1").acknowledged


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "MANUAL_GATE_ACK_REQUIRED"),
        ({"acknowledge_gate_review": True}, "MANUAL_GATE_ACK_REQUIRED"),
        ({"acknowledged_gate_attempt_id": "gate_x"}, "MANUAL_GATE_ACK_REQUIRED"),
        (
            {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": "gate_x"},
            "INVALID_GATE_ACK",
        ),
        (
            {"force": True, "acknowledge_gate_review": False},
            "MANUAL_GATE_ACK_REQUIRED",
        ),
    ],
)
def test_a_review_is_acknowledged_by_its_own_attempt_only(
    options: dict[str, Any], code: str
) -> None:
    caller = _at_gate(policy="manual")
    caller.next(caller.review())
    with pytest.raises(RefusedError) as caught:
        caller.resume(**options)
    assert caught.value.code == code


def test_a_review_that_could_not_run_is_an_error_and_no_cycle() -> None:
    caller = _at_gate()
    assert caller.next_type(caller.report("failure")) == "run_fidelity_gate"
    counters = caller.state.counters
    assert (counters.consecutive_errors, counters.fidelity_review_cycles_in_active_phase) == (1, 0)


def test_a_gate_cannot_be_skipped() -> None:
    caller = _at_gate()
    with pytest.raises(RefusedError) as caught:
        caller.next(caller.report("skipped"))
    assert caught.value.code == "REQUIRED_GATE_UNSATISFIED"


def test_the_latest_attempt_wins() -> None:
    caller = _at_gate()
    first = caller.review("pass")
    caller.review("fail")
    _refused(caller, first, "INVALID_GATE_EVIDENCE")


def test_evidence_expires() -> None:
    limits = {"heartbeat_grace_minutes": 90, "gate_nonce_ttl_minutes": 5}
    caller = _at_gate(limits=limits, proof_ttl=90)
    report = caller.review()
    caller.wait(minutes=5)
    _refused(caller, report, "INVALID_GATE_EVIDENCE")


@pytest.mark.parametrize(
    "change",
    [
        {"gate_evidence_token": "gev_forged"},
        {"gate_evidence_token": None},
        {"gate_attempt_id": "gate_other"},
        {"gate_attempt_id": None},
    ],
)
def test_forged_or_missing_evidence_is_refused(change: dict[str, Any]) -> None:
    caller = _at_gate()
    report = caller.review().model_copy(update=change)
    _refused(caller, report, "INVALID_GATE_EVIDENCE")


def test_a_refused_gate_report_can_be_corrected() -> None:
    caller = _at_gate()
    good = caller.review()
    _refused(caller, good.model_copy(update={"gate_attempt_id": "gate_x"}), "INVALID_GATE_EVIDENCE")
    step = caller.next(good)
    assert step is not None
    assert step["task_id"] == "B"


def test_an_edited_verdict_is_noticed() -> None:
    caller = _at_gate()
    report = caller.review("fail")
    evidence = caller.state.pending_gate_evidence
    assert evidence is not None
    edited = evidence.evolve(verdict=GateVerdict.PASS)
    caller.state = caller.state.evolve(pending_gate_evidence=edited)
    _refused(caller, report, "GATE_INTEGRITY_CHECKSUM")


def test_evidence_of_another_step_is_refused() -> None:
    caller = _at_gate()
    report = caller.review("pass")
    old = caller.state.pending_gate_evidence
    caller.next(caller.report("failure"))
    caller.state = caller.state.evolve(pending_gate_evidence=old)
    stolen: dict[str, Any] = {
        "gate_attempt_id": report.gate_attempt_id,
        "gate_evidence_token": report.gate_evidence_token,
    }
    _refused(caller, caller.report(**stolen), "INVALID_GATE_EVIDENCE")


def test_used_tokens_are_forgotten_when_no_evidence_can_live_so_long() -> None:
    caller = _at_gate(limits={"heartbeat_grace_minutes": 500, "step_stale_minutes": 500})
    caller.next(caller.review())
    assert caller.state.consumed_gate_nonces
    caller.wait(minutes=121)
    caller.heartbeat()
    assert not caller.state.consumed_gate_nonces


def test_only_the_outstanding_gate_step_can_be_reviewed() -> None:
    caller = Caller(SPEC)
    step = caller.next()
    assert step is not None
    with pytest.raises(RefusedError) as caught:
        mint_evidence(
            caller.state,
            caller.env,
            phase_id="p1",
            step_id=step["step_id"],
            verdict=GateVerdict.PASS,
        )
    assert caught.value.code == "STEP_MISMATCH"


def test_the_session_stops_after_a_phase_when_asked_to_and_goes_on_after_a_resume() -> None:
    caller = _at_gate(stop=True)
    caller.succeed()
    assert (caller.state.pause_reason, caller.data["loop_signal"]) == (
        "phase_complete",
        "phase_complete",
    )
    caller.resume()
    step = caller.next()
    assert step is not None
    assert step["task_id"] == "B"


def test_the_last_phase_ends_in_completion_not_in_a_stop() -> None:
    caller = Caller(make_spec({"p1": ["A"]}), stop=True)
    caller.succeed_until("complete_spec")
    assert caller.state.status == "completed"


def _refused(caller: Caller, report: Any, code: str) -> None:
    before = caller.state
    with pytest.raises(RefusedError) as caught:
        caller.next(report)
    assert caught.value.code == code
    assert caller.state == before
