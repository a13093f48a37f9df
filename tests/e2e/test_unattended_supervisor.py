"""Posture `unattended` over MCP: the server has its own agent review, and nobody else may."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import RealClock, write_status
from tests.e2e.harness import agent_environment, eventually, project
from tests.e2e.scripts import REVIEW_PASS
from tests.server import supervisor
from tests.server.mcp_client import McpClient, serving

pytestmark = pytest.mark.e2e

PHASES = {"p1": ["A-001", "A-002"], "p2": ["B-001"], "p3": ["C-001"]}


def _work(client: McpClient, step: dict[str, Any]) -> dict[str, Any]:
    if step["type"] != "run_fidelity_gate":
        return client.report(step)
    answer = client.ok(
        "review", "gate", phase_id=step["phase_id"], step_id=step["step_id"], timeout_seconds=120
    )
    evidence = {name: answer[name] for name in ("gate_attempt_id", "gate_evidence_token")}
    return client.report(step, "failure") | {"outcome": "success"} | evidence


def test_a_supervisor_finishes_three_phases_in_three_rounds(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    with project(tmp_path, REVIEW_PASS) as ours:
        write_status(ours.path, PHASES)
        for name in ("typer", "click", "anyio", "mcp", "jinja2", "sitecustomize"):
            # Neither the server nor a review of its own imports what an agent may have left.
            (ours.path / f"{name}.py").write_text(f"open({str(sprung)!r}, 'w')")
        agent = agent_environment(tmp_path / "home", ours.model.base_url)
        over = agent | {"AUTORUNNER_POSTURE": "unattended", "XDG_STATE_HOME": str(tmp_path / "x")}
        with serving(ours.path, **over) as client:
            client.clock = RealClock()
            task = partial(client.envelope, "task")
            assert supervisor.supervise(task, partial(_work, client)) == ("spec_complete", 3)
    assert not sprung.exists()


SLOW = """
[[session]]
instruction = "review"
repeat = true

[[session.turn]]
text = "Let me think."
delay_ms = 100000
"""


def test_a_review_ends_with_the_server_that_has_it_made(tmp_path: Path) -> None:
    with project(tmp_path, SLOW) as ours:
        write_status(ours.path, {"p1": ["A-001"]})
        over = ours.environment | {"AUTORUNNER_POSTURE": "unattended"}
        with serving(ours.path, **over) as client:
            client.clock = RealClock()
            assert client.envelope("task", action="session", command="start")["success"]
            gate = client.next(client.report(client.next()["next_step"]))["next_step"]
            named = {"phase_id": gate["phase_id"], "step_id": gate["step_id"]}
            with ThreadPoolExecutor(1) as pool:
                pool.submit(client.call, "review", "gate", **named)
                assert eventually(lambda: ours.model.requests, 30)
                for pid in ours.processes():
                    if b"mcp" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                        os.kill(pid, signal.SIGTERM)
                assert ours.wait_until_gone(20) == []


def test_a_verdict_from_outside_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    write_status(workspace, {"p1": ["A-001"]})
    with serving(workspace, AUTORUNNER_POSTURE="unattended") as client:
        client.clock = RealClock()
        assert client.envelope("task", action="session", command="start")["success"]
        gate = client.next(client.report(client.next()["next_step"]))["next_step"]
        named = {"phase_id": gate["phase_id"], "step_id": gate["step_id"]}
        assert client.refused("review", "gate", **named, verdict="pass") == "AUTHORIZATION"
