"""Every feature flag, met by a caller of a server that is configured with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import RealClock
from tests.server.mcp_client import McpClient, serving

from runner.config.feature_flags import FEATURE_FLAGS

pytestmark = pytest.mark.process

SIGNED = "autonomy_signed_gate_evidence"

START: tuple[str, dict[str, Any]] = ("task", {"action": "session", "command": "start"})
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "autonomy_sessions": START,
    "autonomy_session_step": ("task", {"action": "session-step", "command": "next"}),
    "autonomy_resume": ("task", {"action": "session", "command": "resume"}),
    "autonomy_rebase": ("task", {"action": "session", "command": "rebase"}),
    "autonomy_fidelity_gates": START,
    "autonomy_auto_gate_retry": (
        "task",
        {"action": "session", "command": "start", "auto_retry_fidelity_gate": True},
    ),
    "autonomy_write_lock": START,
    "autonomy_step_proofs": START,
    "autonomy_context_heartbeat": (
        "task",
        {"action": "session-step", "command": "heartbeat", "context_usage_pct": 1},
    ),
}
"""What a flag that is off keeps from working."""


@pytest.fixture
def client(name: str, workspace: Path) -> Iterator[McpClient]:
    """A caller of a server whose flag is the other way round than by default."""
    value = "0" if FEATURE_FLAGS[name].default else "1"
    with serving(workspace, **{FEATURE_FLAGS[name].variable: value}) as client:
        client.clock = RealClock()
        yield client


def test_every_flag_has_its_row() -> None:
    assert {*CALLS, SIGNED} == set(FEATURE_FLAGS)


@pytest.mark.parametrize("name", CALLS)
def test_a_flag_that_is_off_is_met_and_told(client: McpClient, name: str) -> None:
    tool, arguments = CALLS[name]
    data = client.envelope(tool, **arguments)["data"]
    assert (data["error_code"], data["details"]["flag"]) == ("FEATURE_DISABLED", name)
    shown = client.ok("server", "capabilities")
    assert name in shown["supported"]
    assert name not in shown["enabled_now"]


@pytest.mark.parametrize("name", [SIGNED])
def test_the_flag_for_signatures_has_evidence_signed(client: McpClient, name: str) -> None:
    assert name in client.ok("server", "capabilities")["enabled_now"]
    client.start()
    data = client.next()
    while (step := data["next_step"])["type"] != "run_fidelity_gate":
        data = client.next(client.report(step))
    assert client.review(step)["gate_evidence_token"].startswith("ges.key_")
