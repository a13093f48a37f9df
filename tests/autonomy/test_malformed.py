"""Whatever comes in, an envelope comes out, and a refusal changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client

from runner.autonomy.codes import CODES, ErrorCode

STORE = MemoryStore


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | st.text(max_size=20)
    | st.sampled_from(
        ["auto_01ARZ3NDEKTSV4RRFFQ69G5FAV", "demo", "step_1", "../x", "\x00", "\ud800"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
_FIELDS = st.sampled_from(
    [
        "session_id", "spec_id", "limit", "cursor", "last_step_result", "context_usage_pct",
        "force", "reason", "idempotency_key", "gate_policy", "max_tasks_per_session", "phase_id",
        "step_id", "verdict", "findings", "title", "content", "status_filter", "unknown",
    ]
)  # fmt: skip
_REPORT_FIELDS = st.sampled_from(
    ["step_id", "step_type", "task_id", "phase_id", "outcome", "note", "step_proof",
     "files_touched", "verification_receipt", "gate_attempt_id", "gate_evidence_token"]
)  # fmt: skip


def _files(workspace: Path) -> dict[str, bytes]:
    """Return every file but locks, which are names and no state."""
    return {
        str(path): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_input_yields_an_internal_error_or_a_changed_file(
    client: Client, data: st.DataObject
) -> None:
    if not client.session_id:
        client.start()
        client.next()
    group, command = data.draw(st.sampled_from(sorted(client.plane.commands)))
    params: dict[str, Any] = data.draw(st.dictionaries(_FIELDS, _JSON, max_size=4))
    before = _files(client.workspace)
    _check(client, client.call(group, command, **params), before)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.dictionaries(_REPORT_FIELDS, _JSON, min_size=1, max_size=3))
def test_no_report_yields_an_internal_error_or_a_changed_file(
    client: Client, changes: dict[str, Any]
) -> None:
    if not client.session_id:
        client.start()
        client.next()
    step = client.call("step", "replay")["data"].get("next_step")
    report = (client.report(step) if step and step["type"] == "implement_task" else {}) | changes
    before = _files(client.workspace)
    _check(client, client.call("step", "next", last_step_result=report), before)


def _check(client: Client, envelope: dict[str, Any], before: dict[str, bytes]) -> None:
    assert set(envelope) == {"success", "data", "error", "meta"}
    if envelope["success"]:
        return
    code = ErrorCode(envelope["data"]["error_code"])
    assert code is not ErrorCode.INTERNAL
    assert envelope["data"]["error_type"] == CODES[code].error_type
    assert envelope["error"]
    assert envelope["data"]["remediation"]
    assert _files(client.workspace) == before


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_numbers_beyond_all_bounds_are_refused(client: Client, number: int) -> None:
    assert client.refused("session", "start", max_tasks_per_session=number) == "VALIDATION_ERROR"


def test_half_a_character_is_called_by_its_name(client: Client) -> None:
    envelope = client.call("session", "status", session_id="\udcff")
    assert envelope["error"] == "The input holds text that is not valid Unicode."
