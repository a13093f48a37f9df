"""Refusals by flag and role, met by a client of a server that is so configured."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.mcp_client import McpClient, serving

from runner.autonomy.codes import CODES, ErrorCode

Envelope = dict[str, Any]
Scene = Callable[[McpClient], Envelope]

CONFIGURATION = """
[posture]
role = "autonomy_runner"

[feature_flags]
autonomy_resume = false
"""


def _switched_off(client: McpClient) -> Envelope:
    return client.call("session", "resume")


def _not_allowed(client: McpClient) -> Envelope:
    return client.call("session", "end")


def _asked_too_often(client: McpClient) -> Envelope:
    for _ in range(10):
        _not_allowed(client)
    return _not_allowed(client)


POLICY_SCENES: dict[ErrorCode, Scene] = {
    ErrorCode.FEATURE_DISABLED: _switched_off,
    ErrorCode.AUTHORIZATION: _not_allowed,
    ErrorCode.RATE_LIMITED: _asked_too_often,
}


@pytest.fixture
def bounded(workspace: Path) -> Iterator[McpClient]:
    """A client of a server whose callers may do little."""
    (workspace / ".runner" / "runner.toml").write_text(CONFIGURATION, encoding="utf-8")
    with serving(workspace) as client:
        yield client


@pytest.mark.parametrize("code", POLICY_SCENES)
def test_a_refusal_by_policy_stops_the_supervisor(bounded: McpClient, code: ErrorCode) -> None:
    data = POLICY_SCENES[code](bounded)["data"]
    assert (data["error_code"], data["error_type"]) == (code, CODES[code].error_type)
    assert data["loop_signal"] == "blocked_runtime"


def test_who_asks_too_often_is_told_how_long_to_wait(bounded: McpClient) -> None:
    assert 0 < _asked_too_often(bounded)["data"]["details"]["retry_after"] <= 60
