"""A spec from its first step to its last, over the protocol."""

import pytest
from tests.autonomy.plane import statuses
from tests.server.mcp_client import McpClient, read_envelope, server_log

from runner.server.schemas import ENVELOPE_SCHEMA

jsonschema = pytest.importorskip("jsonschema")


@pytest.mark.process
def test_three_phases_are_driven_to_their_end(client: McpClient) -> None:
    client.start()
    types = client.finish()
    assert types == [
        "implement_task", "implement_task", "execute_verification", "run_fidelity_gate",
        "implement_task", "run_fidelity_gate",
        "implement_task", "run_fidelity_gate",
        "complete_spec",
    ]  # fmt: skip
    assert set(statuses(client.workspace).values()) == {"passed"}
    assert server_log(client.workspace) == ""


def test_the_protected_calls_that_a_step_names_succeed(client: McpClient) -> None:
    client.start()
    step = client.next()["next_step"]
    proof = {"task_id": step["task_id"], "autonomy_step_proof": step["step_proof_token"]}
    assert client.ok("task", "prepare", task_id=step["task_id"])["acceptance_criteria"]
    assert client.ok("task", "start", **proof)["status"] == "pending"
    assert client.ok("task", "complete", **proof)["status"] == "passed"


def test_a_report_and_its_repetition_get_the_same_answer(client: McpClient) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    assert client.next(report) == client.next(report)


def test_every_answer_fits_the_output_schema_in_both_its_forms(client: McpClient) -> None:
    for arguments in ({"command": "start"}, {"command": "start"}, {"command": "list"}):
        result = client.tool("task", action="session", **arguments)
        envelope = read_envelope(result)
        jsonschema.validate(envelope, ENVELOPE_SCHEMA)
        assert result.structured_content == envelope


def test_a_refusal_is_a_tool_error_that_carries_its_envelope(client: McpClient) -> None:
    result = client.tool("task", action="session", command="status")
    assert result.is_error
    assert read_envelope(result)["data"]["error_code"] == "NO_ACTIVE_SESSION"


def test_a_success_is_no_tool_error(client: McpClient) -> None:
    assert not client.tool("task", action="session", command="list").is_error


def test_journal_and_events_are_read_page_by_page(client: McpClient) -> None:
    client.start()
    client.ok("journal", "add", title="Looked around", content="All quiet.")
    first = client.envelope("task", action="session-events", limit=1)
    assert first["data"]["events"][0]["title"] == "Looked around"
    cursor = first["meta"]["pagination"]["cursor"]
    second = client.envelope("journal", action="list", limit=1, cursor=cursor)
    assert second["data"]["events"][0]["title"] == "Autonomous session started"
