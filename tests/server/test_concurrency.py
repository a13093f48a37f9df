"""Calls side by side: in one server, and in two on one workspace."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.autonomy.plane import statuses
from tests.server.mcp_client import McpClient, serving

pytestmark = pytest.mark.process

NEXT = {"action": "session-step", "command": "next"}
STATUS = {"action": "session", "command": "status"}


def _codes(envelopes: list[dict[str, Any]]) -> Counter[str]:
    return Counter(envelope["data"].get("error_code", "ok") for envelope in envelopes)


def test_of_many_starts_at_once_one_makes_the_session(client: McpClient) -> None:
    start = {"action": "session", "command": "start"}
    assert _codes(client.together(*[start] * 8)) == {"ok": 1, "SPEC_SESSION_EXISTS": 7}


def test_many_first_nexts_get_one_step(client: McpClient) -> None:
    client.start()
    codes = _codes(client.together(*[NEXT] * 8))
    assert codes == {"ok": 1, "STEP_RESULT_REQUIRED": 7}


def test_the_identical_report_many_times_at_once_advances_once(client: McpClient) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    answers = client.together(*[NEXT | {"last_step_result": report}] * 8)
    assert _codes(answers) == {"ok": 8}
    assert len({answer["data"]["next_step"]["step_id"] for answer in answers}) == 1


def test_a_call_that_waits_holds_up_no_other(client: McpClient) -> None:
    client.start()
    lock = client.workspace / f".runner/autonomy/locks/session_{client.session_id}.lock"
    assert lock.exists()
    with FileLock(lock):
        pause = {"action": "session", "command": "pause"}
        waiting, *others = client.together(pause, *[STATUS] * 8)
    assert waiting["data"]["error_code"] == "LOCK_TIMEOUT"
    assert _codes(others) == {"ok": 8}


def test_two_servers_drive_one_session_as_one(workspace: Path) -> None:
    with serving(workspace) as one, serving(workspace) as other:
        one.start()
        other.session_id = one.session_id
        pair = (one, other)
        data = one.next()
        turn = 0
        while data["next_step"]["type"] != "complete_spec":
            turn += 1
            step = data["next_step"]
            if step["type"] == "execute_verification":
                break
            data = pair[turn % 2].next(pair[(turn + 1) % 2].report(step))
        assert turn == 3
    assert statuses(workspace)["A-002"] == "passed"


def test_of_two_servers_one_starts_the_session(workspace: Path) -> None:
    with serving(workspace) as one, serving(workspace) as other:
        assert one.call("session", "start")["success"]
        assert other.refused("session", "start") == "SPEC_SESSION_EXISTS"
        assert other.ok("session", "status")["status"] == "running"
