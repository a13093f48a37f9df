"""Blocked is a claim: judged with its phase, refuted by a review, and never waited for."""

from tests.autonomy.kit import Caller, make_spec
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client, write_status

from runner.autonomy.enums import TaskStatus

STORE = MemoryStore


CLAIMED = {"B": "There is no database."}


def test_a_phase_that_is_all_blocked_is_verified_and_reviewed() -> None:
    spec = make_spec({"p1": ["A"], "p2": ["B"]}, reasons=CLAIMED, commands={"p2": ["make two"]})
    caller = Caller(spec)
    assert caller.succeed_until("execute_verification")["phase_id"] == "p2"
    assert caller.next_type(caller.report()) == "run_fidelity_gate"
    step = caller.succeed()
    assert step is not None
    assert step["type"] == "complete_spec"


def test_what_a_blocked_deliverable_would_be_verified_by_is_not_run() -> None:
    spec = make_spec(
        {"p1": ["A", "B"]}, reasons=CLAIMED, commands={"A": ["test a"], "B": ["test b"]}
    )
    step = Caller(spec).succeed_until("execute_verification")
    assert [command["command"] for command in step["commands"]] == ["test a"]


def test_a_block_that_a_review_does_not_believe_is_pending_again() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, reasons=CLAIMED))
    caller.succeed_until("run_fidelity_gate")
    step = caller.next(caller.review("fail", about=["B"]))
    assert step is not None
    assert (step["type"], step["task_id"]) == ("implement_task", "B")
    assert "Block refuted" in caller.titles()


def test_whoever_takes_it_up_is_told_what_the_review_found() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, reasons=CLAIMED))
    caller.succeed_until("run_fidelity_gate")
    step = caller.next(caller.review("fail", about=["B", "A"]))
    assert step is not None
    assert [finding["deliverable_id"] for finding in step["findings"]] == ["B"]


def test_a_block_in_an_earlier_phase_is_refuted_by_the_last_review() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"], "p2": ["C"]}, reasons=CLAIMED))
    step = caller.succeed_until("run_fidelity_gate")
    assert step["scope"] == "phase"
    caller.succeed()
    assert caller.succeed_until("run_fidelity_gate")["scope"] == "spec"
    found = caller.next(caller.review("fail", about=["B"]))
    assert found is not None
    assert (found["phase_id"], found["task_id"]) == ("p1", "B")


def test_what_a_person_has_blocked_stays_blocked() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, blocked=["B"]))
    caller.succeed_until("run_fidelity_gate")
    assert caller.next_type(caller.review("fail", about=["B"])) == "address_fidelity_feedback"


def test_a_block_that_is_claimed_again_and_again_needs_a_person() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, reasons=CLAIMED))
    step = caller.succeed_until("run_fidelity_gate")
    for _ in range(12):
        if step["type"] == "run_fidelity_gate":
            found = caller.next(caller.review("fail", about=["B"]))
        elif step["type"] == "implement_task":
            assert caller.spec is not None
            caller.apply_status("B", TaskStatus.BLOCKED, "Still no database.")
            found = caller.next(caller.report("skipped"))
        else:
            break
        assert found is not None
        step = found
    assert caller.state.pause_reason == "fidelity_cycle_limit"


def test_under_the_manual_policy_a_person_decides_about_blocks() -> None:
    caller = Caller(make_spec({"p1": ["A", "B"]}, reasons=CLAIMED), policy="manual")
    caller.succeed_until("run_fidelity_gate")
    assert caller.next_type(caller.review("fail", about=["B"])) == "pause"


def test_what_waits_for_blocked_work_is_left_out_and_the_rest_goes_on() -> None:
    spec = make_spec(
        {"p1": ["A", "B", "C"], "p2": ["D", "E"]},
        reasons=CLAIMED,
        depends={"C": ["B"], "E": ["C"]},
    )
    caller = Caller(spec)
    step, worked_on = caller.next(), []
    while step is not None and step["type"] != "complete_spec":
        worked_on.append(step.get("task_id"))
        step = caller.succeed()
    assert [task for task in worked_on if task] == ["A", "D"]
    assert caller.data["details"]["waiting_task_ids"] == ["C", "E"]


def test_work_of_which_all_waits_for_blocked_work_needs_a_person() -> None:
    caller = Caller(make_spec({"p1": ["B", "C"]}, reasons=CLAIMED, depends={"C": ["B"]}))
    assert caller.next_type() == "pause"
    assert caller.state.pause_reason == "blocked"


def test_the_reason_of_a_block_is_kept_and_goes_with_it(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    proof = {"autonomy_step_proof": step["step_proof_token"]}
    task_id = step["task_id"]
    client.ok("task", "block", task_id=task_id, reason="No database.", **proof)
    assert client.ok("task", "prepare", task_id=task_id)["block_reason"] == "No database."
    client.ok("task", "unblock", task_id=task_id, **proof)
    assert client.ok("task", "prepare", task_id=task_id)["block_reason"] is None


def test_a_block_in_a_session_is_a_claim_also_without_a_reason(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.ok(
        "task", "block", task_id=step["task_id"], autonomy_step_proof=step["step_proof_token"]
    )
    assert client.ok("task", "prepare", task_id=step["task_id"])["block_reason"]


def test_the_last_review_of_one_phase_looks_at_the_whole_specification(client: Client) -> None:
    write_status(client.workspace, {"p1": ["A"]})
    client.start()
    step = client.next(client.report(client.next()["next_step"]))["next_step"]
    assert (step["type"], step["scope"]) == ("run_fidelity_gate", "spec")
