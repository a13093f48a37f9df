"""What a caller of `runner mcp` may not, in the posture that the server has unless told otherwise."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import RealClock, statuses, write_status
from tests.server.conftest import PHASES
from tests.server.mcp_client import McpClient, serving

pytestmark = pytest.mark.process

Envelope = dict[str, Any]
Attempt = Callable[[McpClient], Envelope]


@pytest.fixture
def client(workspace: Path) -> Iterator[McpClient]:
    """A caller of a server that nobody has configured, with a session that has begun."""
    with serving(workspace, AUTORUNNER_POSTURE="") as client:
        client.clock = RealClock()
        client.session_id = client.ok("session", "start")["session_id"]
        yield client


def _files(workspace: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


def _refused(client: McpClient, attempt: Attempt) -> str:
    """Return the code that an attempt is refused with; it must have changed nothing."""
    before = _files(client.workspace)
    envelope = attempt(client)
    assert not envelope["success"], envelope
    assert _files(client.workspace) == before
    return str(envelope["data"]["error_code"])


def _session(command: str, **params: Any) -> Attempt:
    return lambda client: client.call("session", command, **params)


def _waive(client: McpClient) -> Envelope:
    return client.call("task", "gate-waiver", phase_id="p1", reason_code="testing")


def _judge_oneself(client: McpClient) -> Envelope:
    step = "step_01J00000000000000000000000"
    return client.call("review", "gate", phase_id="p1", step_id=step, verdict="pass")


def _end_by_its_former_name(client: McpClient) -> Envelope:
    return client.envelope("task", action="session-end", session_id=client.session_id)


def _reset(client: McpClient) -> Envelope:
    return client.call("session", "reset", session_id=client.session_id)


def _acknowledge(client: McpClient) -> Envelope:
    named = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": "gate_x"}
    return client.call("session", "resume", **named)


OVER_A_SESSION: dict[str, Attempt] = {
    "waive the gate": _waive,
    "bring a verdict of its own": _judge_oneself,
    "acknowledge a review": _acknowledge,
    "end the session": _session("end"),
    "end it by its former name": _end_by_its_former_name,
    "end it by a forced start": _session("start", force=True),
    "reset it": _reset,
    "rebase it": _session("rebase"),
}

OVER_A_START: dict[str, Attempt] = {
    "start without the lock": _session("start", enforce_autonomy_write_lock=False),
    "start without gates": _session("start", gates_required=False),
    "start with lenient gates": _session("start", gate_policy="lenient"),
    "start without stops": _session("start", stop_on_phase_completion=False),
    "start with more reviews": _session("start", max_fidelity_review_cycles_per_phase=4),
}


def test_nobody_has_to_ask_for_it(client: McpClient) -> None:
    posture = client.ok("server", "capabilities")["posture"]
    assert (posture["profile"], posture["role"]) == ("unattended", "autonomy_runner")


@pytest.mark.parametrize("attempts", [OVER_A_SESSION, OVER_A_START])
def test_what_is_not_the_callers_to_decide_is_refused(
    client: McpClient, attempts: dict[str, Attempt]
) -> None:
    codes = {name: _refused(client, attempt) for name, attempt in attempts.items()}
    assert codes == dict.fromkeys(attempts, "AUTHORIZATION")


def test_a_configuration_in_the_project_is_read_at_the_start_alone(client: McpClient) -> None:
    path = client.workspace / ".runner" / "runner.toml"
    path.write_text('[posture]\nprofile = "debug"\n', encoding="utf-8")
    assert _refused(client, _session("end")) == "AUTHORIZATION"


def _report(client: McpClient, report: dict[str, Any]) -> Attempt:
    return lambda _: client.call("step", "next", last_step_result=report)


def test_another_deliverable_can_not_be_marked(client: McpClient) -> None:
    proof = client.next()["next_step"]["step_proof_token"]
    marking = {"task_id": "C-001", "autonomy_step_proof": proof}
    found = _refused(client, lambda _: client.call("task", "complete", **marking))
    assert found == "AUTONOMY_WRITE_LOCK_ACTIVE"


def test_no_deliverable_can_be_marked_without_a_proof(client: McpClient) -> None:
    task_id = client.next()["next_step"]["task_id"]
    found = _refused(client, lambda _: client.call("task", "complete", task_id=task_id))
    assert found == "STEP_PROOF_REQUIRED"


def test_a_step_that_was_never_issued_can_not_be_reported(client: McpClient) -> None:
    report = client.report(client.next()["next_step"])
    forged = report | {"step_id": "step_01ARZ3NDEKTSV4RRFFQ69G5FAV"}
    assert _refused(client, _report(client, forged)) == "STEP_MISMATCH"


def test_a_phase_can_not_be_left_without_its_review(client: McpClient) -> None:
    data = client.next()
    while (step := data["next_step"])["type"] != "run_fidelity_gate":
        data = client.next(client.report(step))
    proven = client.report(step, "failure")
    forged = {"gate_attempt_id": "gate_x", "gate_evidence_token": "gev_x"}
    found = [
        _refused(client, _report(client, proven | {"outcome": "skipped"})),
        _refused(client, _report(client, proven | {"outcome": "success"} | forged)),
    ]
    assert found == ["REQUIRED_GATE_UNSATISFIED", "INVALID_GATE_EVIDENCE"]
    assert statuses(client.workspace)["B-001"] == "pending"


def test_a_spec_that_was_marked_by_hand_still_has_its_steps(client: McpClient) -> None:
    write_status(
        client.workspace, PHASES, commands={"p1": ["make test"]},
        passed=[task for tasks in PHASES.values() for task in tasks],
    )  # fmt: skip
    assert client.next()["next_step"]["type"] != "complete_spec"


def test_two_servers_do_not_add_up_to_more(client: McpClient) -> None:
    with serving(client.workspace, AUTORUNNER_POSTURE="") as other:
        other.session_id = client.session_id
        step = client.next()["next_step"]
        report = client.report(step)
        other.next(report)
        conflicting = report | {"outcome": "failure"}
        assert _refused(client, _report(client, conflicting)) == "STEP_PROOF_CONFLICT"
        assert _refused(other, _session("end")) == "AUTHORIZATION"


def test_refusals_of_two_servers_are_counted_together(client: McpClient) -> None:
    with serving(client.workspace, AUTORUNNER_POSTURE="") as other:
        codes = [_refused(pair, _session("end")) for _ in range(6) for pair in (client, other)]
    assert codes == ["AUTHORIZATION"] * 10 + ["RATE_LIMITED"] * 2
