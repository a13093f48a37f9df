"""Refusals are counted over processes, and too many of them are told to wait."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client, Clock
from tests.autonomy.surface import Caller

from runner.autonomy.access.guard import MOST_REFUSALS

STORE = MemoryStore


REFUSALS = """
import json, sys
from pathlib import Path
from runner.autonomy import open_control_plane
plane = open_control_plane(
    Path(sys.argv[1]), surface="mcp", environ={}, interactive=False, key_directory=Path(sys.argv[2])
)
for _ in range(int(sys.argv[3])):
    print(json.dumps(plane.call("session", "end")["data"]))
"""


def refuse(caller: Client, times: int) -> list[str]:
    return [caller.refused("session", "end") for _ in range(times)]


def test_after_ten_refusals_the_next_is_rate_limited(workspace: Path) -> None:
    codes = refuse(Caller(workspace, "unattended"), MOST_REFUSALS + 1)
    assert codes == ["AUTHORIZATION"] * MOST_REFUSALS + ["RATE_LIMITED"]


def test_it_says_how_long_to_wait(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    for _ in range(MOST_REFUSALS):
        caller.refused("session", "end")
        caller.clock.wait(seconds=1)
    assert caller.details("session", "end")["retry_after"] == 60 - MOST_REFUSALS


def test_having_waited_helps_although_one_went_on_asking(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    refuse(caller, MOST_REFUSALS)
    caller.clock.wait(seconds=50)
    wait = caller.details("session", "end")["retry_after"]
    caller.clock.wait(seconds=wait)
    assert caller.refused("session", "end") == "AUTHORIZATION"


def test_refusals_far_apart_are_not_limited(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    codes = []
    for _ in range(2 * MOST_REFUSALS):
        codes.append(caller.refused("session", "end"))
        caller.clock.wait(seconds=7)
    assert set(codes) == {"AUTHORIZATION"}


def test_what_is_allowed_is_not_limited(workspace: Path) -> None:
    caller = Caller(workspace, "unattended")
    refuse(caller, MOST_REFUSALS + 1)
    assert caller.start()["status"] == "running"


def test_one_role_does_not_use_up_the_refusals_of_another(workspace: Path) -> None:
    refuse(Caller(workspace, role="observer"), MOST_REFUSALS)
    assert Caller(workspace, "unattended").refused("session", "end") == "AUTHORIZATION"


@pytest.mark.process
def test_refusals_are_counted_over_processes(workspace: Path) -> None:
    codes = []
    for times in (MOST_REFUSALS - 1, 1, 1):
        done = subprocess.run(
            [sys.executable, "-c", REFUSALS, workspace, workspace.parent / "key", str(times)],
            check=True,
            capture_output=True,
            text=True,
        )
        codes += [json.loads(line)["error_code"] for line in done.stdout.splitlines()]
    assert codes == ["AUTHORIZATION"] * MOST_REFUSALS + ["RATE_LIMITED"]


def test_refusals_change_nothing_in_the_workspace(workspace: Path) -> None:
    before = sorted(workspace.rglob("*"))
    refuse(Caller(workspace, "unattended"), MOST_REFUSALS + 1)
    assert sorted(workspace.rglob("*")) == before


def record(workspace: Path) -> Path:
    [found] = (workspace.parent / "key").rglob("refusals.json")
    return found


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, '{"role autonomy_runner": 1}'])
def test_a_damaged_record_permits_nothing(workspace: Path, content: str) -> None:
    refuse(Caller(workspace, "unattended"), 1)
    record(workspace).write_text(content, encoding="utf-8")
    assert Caller(workspace, "unattended").refused("session", "end") == "AUTHORIZATION"


def test_without_a_record_a_process_goes_by_what_it_saw(workspace: Path) -> None:
    (workspace.parent / "key").write_text("no folder", encoding="utf-8")
    assert refuse(Caller(workspace, "unattended"), MOST_REFUSALS + 1)[-1] == "RATE_LIMITED"


def test_a_clock_that_was_set_back_forgets_no_refusal_and_locks_out_for_a_window_at_most(
    workspace: Path,
) -> None:
    late = Clock()
    late.wait(days=2)
    refuse(Caller(workspace, "unattended", clock=late), MOST_REFUSALS)
    clock = Clock()
    later = Caller(workspace, "unattended", clock=clock)
    assert later.refused("session", "end") == "RATE_LIMITED"
    clock.wait(seconds=61)
    assert later.refused("session", "end") == "AUTHORIZATION"


def _signals_of_forgery(client: Client, *named: str | None) -> list[str | None]:
    """Report forged evidence once for each name of the session, and return the signals."""
    step = client.at_gate()
    forged = client.report(step) | {"gate_evidence_token": "gev_forged"}
    answers = [
        client.call("step", "next", session_id=name, last_step_result=forged) for name in named
    ]
    return [answer["data"]["loop_signal"] for answer in answers]


def test_wrong_evidence_again_blocks_the_loop(client: Client) -> None:
    assert _signals_of_forgery(client, None, None) == [None, "blocked_runtime"]


def test_naming_the_session_does_not_make_wrong_evidence_new(client: Client) -> None:
    assert _signals_of_forgery(client, None) == [None]
    report = client.report(client.ok("step", "replay")["next_step"])
    forged = report | {"gate_evidence_token": "gev_forged"}
    data = client.call("step", "next", session_id=client.session_id, last_step_result=forged)
    assert data["data"]["loop_signal"] == "blocked_runtime"


def test_wrong_evidence_in_an_earlier_session_is_not_held_against_this_one(client: Client) -> None:
    assert _signals_of_forgery(client, None) == [None]
    client.ok("session", "end")
    assert _signals_of_forgery(client, None) == [None]
