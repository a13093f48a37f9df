"""A supervisor that knows only `loop_signal`, over the protocol (seed 003 WS3)."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import statuses, write_status
from tests.server import supervisor
from tests.server.conftest import PHASES
from tests.server.mcp_client import McpClient

# What posture `unattended` decides for every session.
UNATTENDED = {"stop_on_phase_completion": True, "gate_policy": "strict"}


def _supervise(client: McpClient, work: supervisor.Work, **start: Any) -> tuple[str, int]:
    task = partial(client.envelope, "task")
    return supervisor.supervise(task, work, **UNATTENDED | start)


def _failing_review(client: McpClient, step: dict[str, Any]) -> dict[str, Any]:
    report = client.report(step, "failure")
    if step["type"] == "run_fidelity_gate":
        return report | {"outcome": "success"} | client.review(step, "fail")
    return client.report(step)


@pytest.mark.process
def test_three_phases_take_three_rounds(client: McpClient) -> None:
    assert _supervise(client, client.report) == ("spec_complete", 3)
    assert set(statuses(client.workspace).values()) == {"passed"}


def test_it_stops_when_reviews_keep_failing(client: McpClient) -> None:
    work = partial(_failing_review, client)
    limit = {"max_fidelity_review_cycles_per_phase": 2}
    assert _supervise(client, work, **limit) == ("paused_needs_attention", 1)


def test_it_stops_when_work_keeps_failing(client: McpClient) -> None:
    work = partial(client.report, outcome="failure")
    assert _supervise(client, work) == ("paused_needs_attention", 1)


def test_it_stops_when_the_spec_is_changed_under_it(client: McpClient) -> None:
    def work(step: dict[str, Any]) -> dict[str, Any]:
        report = client.report(step)
        write_status(client.workspace, {**PHASES, "p4": ["D-001"]}, passed=["A-001"])
        return report

    assert _supervise(client, work) == ("failed", 1)


def test_it_stops_when_the_runtime_refuses(client: McpClient) -> None:
    def work(step: dict[str, Any]) -> dict[str, Any]:
        skips = step["type"] == "run_fidelity_gate"
        return client.report(step, "skipped" if skips else "success")

    assert _supervise(client, work) == ("blocked_runtime", 1)


def test_it_stops_when_it_can_not_begin(client: McpClient) -> None:
    client.start()
    assert _supervise(client, client.report) == ("refused", 1)


def test_it_is_as_small_as_promised() -> None:
    text = Path(supervisor.__file__).read_text(encoding="utf-8")
    code = text[text.index("def supervise") :].splitlines()
    assert len([line for line in code if line.strip()]) <= 30
