"""The write lock: what a step's proof allows, once."""

from typing import Any

import pytest
from tests.autonomy.kit import KEY, Caller, make_spec

from runner.autonomy.codes import RefusedError
from runner.autonomy.engine.mutations import ALLOWED_ACTIONS, Mutation, TaskAction, authorise
from runner.autonomy.enums import StepType
from runner.autonomy.tokens import proof_token_of

SPEC = make_spec({"p1": ["A", "B"]}, commands={"p1": ["make"]})


def _token(caller: Caller) -> str:
    proof = caller.state.pending_step_proof
    assert proof is not None
    return proof_token_of(KEY, caller.state, proof)


def _implementing(**options: Any) -> Caller:
    caller = Caller(SPEC, **options)
    caller.next()
    return caller


def _mutation(action: str = "complete", task_id: str = "A", **payload: Any) -> Mutation:
    return Mutation(TaskAction(action), task_id, payload)


def _refused(caller: Caller, mutation: Mutation, token: str | None) -> str:
    with pytest.raises(RefusedError) as caught:
        authorise(caller.state, mutation, token, caller.env)
    return caught.value.code


def test_every_reported_step_type_says_what_it_allows() -> None:
    reported = set(StepType) - {StepType.PAUSE, StepType.COMPLETE_SPEC}
    assert set(ALLOWED_ACTIONS) == reported


def test_a_proof_is_good_for_each_action_once() -> None:
    caller = _implementing()
    state = caller.state
    for action in ("start", "complete"):
        state = authorise(state, _mutation(action), _token(caller), caller.env)
    assert state.pending_step_proof is not None
    assert [c.action for c in state.pending_step_proof.consumed_actions] == ["start", "complete"]


def test_the_report_still_needs_the_proof_and_retires_it() -> None:
    caller = _implementing()
    token = _token(caller)
    caller.state = authorise(caller.state, _mutation(), token, caller.env)
    caller.record(caller.report())
    assert _refused(caller, _mutation(), token) == "STEP_PROOF_INVALID"


def test_without_a_proof_nothing_is_changed() -> None:
    assert _refused(_implementing(), _mutation(), None) == "STEP_PROOF_REQUIRED"


def test_before_the_first_step_no_proof_is_good() -> None:
    assert _refused(Caller(SPEC), _mutation(), "stp_any") == "STEP_PROOF_INVALID"


@pytest.mark.parametrize("rest", ["paused", "failed"])
def test_the_lock_holds_while_a_session_rests(rest: str) -> None:
    caller = _implementing()
    if rest == "paused":
        caller.pause()
    else:
        caller.spec = None
        caller.next(caller.report())
    assert _refused(caller, _mutation(), None) == "STEP_PROOF_REQUIRED"


def test_a_forged_proof_is_refused() -> None:
    assert _refused(_implementing(), _mutation(), "stp_forged") == "STEP_PROOF_INVALID"


def test_a_proof_of_another_session_is_refused() -> None:
    caller, other = _implementing(), Caller(SPEC)
    other.next()
    other.wait(seconds=1)
    other.next(other.report("failure"))
    assert _refused(caller, _mutation(), _token(other)) == "STEP_PROOF_INVALID"


def test_an_expired_proof_is_refused() -> None:
    caller = _implementing()
    token = _token(caller)
    caller.wait(minutes=15)
    assert _refused(caller, _mutation(), token) == "STEP_PROOF_INVALID"


def test_a_heartbeat_prolongs_a_proof_by_its_whole_time() -> None:
    caller = _implementing()
    token = _token(caller)
    caller.wait(minutes=4)
    caller.heartbeat(10)
    caller.wait(minutes=14)
    authorise(caller.state, _mutation(), token, caller.env)
    caller.wait(minutes=1)
    assert _refused(caller, _mutation(), token) == "STEP_PROOF_INVALID"


def test_another_deliverable_is_locked() -> None:
    caller = _implementing()
    code = _refused(caller, _mutation(task_id="B"), _token(caller))
    assert code == "AUTONOMY_WRITE_LOCK_ACTIVE"


def test_a_step_without_a_deliverable_allows_no_change() -> None:
    caller = Caller(SPEC)
    caller.succeed_until("execute_verification")
    assert _refused(caller, _mutation(), _token(caller)) == "AUTONOMY_WRITE_LOCK_ACTIVE"


def test_the_identical_change_may_be_repeated_for_a_while() -> None:
    caller = _implementing()
    token = _token(caller)
    caller.state = authorise(caller.state, _mutation(note="x"), token, caller.env)
    caller.wait(seconds=60)
    assert authorise(caller.state, _mutation(note="x"), token, caller.env) == caller.state
    caller.wait(seconds=1)
    assert _refused(caller, _mutation(note="x"), token) == "STEP_PROOF_EXPIRED"


def test_another_change_with_a_used_proof_is_a_conflict() -> None:
    caller = _implementing()
    token = _token(caller)
    caller.state = authorise(caller.state, _mutation(note="x"), token, caller.env)
    assert _refused(caller, _mutation(note="y"), token) == "STEP_PROOF_CONFLICT"


@pytest.mark.parametrize("free", ["ended", "unlocked"])
def test_without_a_lock_changes_are_free(free: str) -> None:
    caller = _implementing(enforced=free != "unlocked")
    if free == "ended":
        caller.end()
    assert authorise(caller.state, _mutation(), None, caller.env) == caller.state
