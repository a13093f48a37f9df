"""What a step tells its caller to do can be done, word for word."""

from typing import Any

import pytest
from tests.autonomy.plane import Client, write_status

Json = dict[str, Any]


def _to(client: Client, step_type: str) -> Json:
    """Go on until a step of that type is outstanding."""
    write_status(client.workspace, {"p1": ["A-001"]}, commands={"p1": ["make test"]})
    client.start()
    step: Json = client.next()["next_step"]
    while step["type"] != step_type:
        gate = step["type"] == "run_fidelity_gate"
        step = client.next(client.reviewed(step, "fail") if gate else client.report(step))[
            "next_step"
        ]
    return step


def _target(row: Json) -> tuple[str, str]:
    """Translate a call of the MCP surface to the library's (CONTRACT §7)."""
    if row["action"] == "session-step":
        return "step", row["command"]
    return row["tool"], "gate" if row["action"] == "fidelity-gate" else row["action"]


def _needed(client: Client, step: Json, reviews: list[Json]) -> Json:
    values: Json = {
        "autonomy_step_proof": step["step_proof_token"],
        "verdict": "pass",
        "last_step_result": client.report(step, "failure") | {"outcome": "success"},
    }
    if step["type"] == "execute_verification":
        values["last_step_result"]["verification_receipt"] = client.receipt(step)
    for review in reviews:
        evidence = ("gate_attempt_id", "gate_evidence_token")
        values["last_step_result"] |= {key: review[key] for key in evidence}
    return values


@pytest.mark.parametrize(
    "step_type",
    [
        "implement_task",
        "execute_verification",
        "run_fidelity_gate",
        "address_fidelity_feedback",
    ],
)
def test_the_calls_that_a_step_names_succeed_and_finish_it(client: Client, step_type: str) -> None:
    step = _to(client, step_type)
    reviews: list[Json] = []
    for row in step["instructions"]:
        values = _needed(client, step, reviews)
        group, command = _target(row)
        params = row["params"] | {name: values[name] for name in row["needs"]}
        data = client.ok(group, command, **params)
        if row["action"] == "fidelity-gate":
            reviews.append(data)
    assert client.state()["last_step_issued"] is None
    assert client.next()["status"] in ("running", "completed")


def test_every_instruction_says_what_it_is_for(client: Client) -> None:
    rows = _to(client, "implement_task")["instructions"]
    assert [row["action"] for row in rows] == ["prepare", "start", "complete", "session-step"]
    assert all(row["description"] for row in rows)
