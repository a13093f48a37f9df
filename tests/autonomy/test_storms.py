"""Real processes on one workspace: killed, racing, all at once. Short here, long in `make storm`."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, RealClock, statuses, write_status

from runner.autonomy.store.journal import Journal

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
LOGGER = logging.getLogger(__name__)
STORM = bool(os.environ.get("RUNNER_STORM"))


def _process(*args: str) -> subprocess.Popen[str]:
    """Start a process of `tests.autonomy.worker`, and wait until it has imported everything."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.autonomy.worker", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


class Worker:
    """A caller in another process, waiting for `go`."""

    def __init__(self, job: str, workspace: Path, *args: str) -> None:
        self.process = _process(job, str(workspace), *args)

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def said(self) -> list[dict[str, Any]]:
        """Wait for its end and return what it said; a line cut short was not said."""
        out, _ = self.process.communicate(timeout=120)
        return [json.loads(line) for line in out.split("\n")[:-1]]


class Nursery:
    """Forks callers that are killed at their work."""

    def __init__(self) -> None:
        self.process = _process("nurse")

    def killed_after(self, seconds: float, workspace: Path) -> list[dict[str, Any]]:
        """Let a caller work for that long, kill it, and return what it had said."""
        answers = workspace.parent / "answers.jsonl"
        pid = self._told(json.dumps(["work", str(workspace), str(answers)]))["pid"]
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        self._told("")
        text = answers.read_text(encoding="utf-8") if answers.exists() else ""
        answers.unlink(missing_ok=True)
        return [json.loads(line) for line in text.split("\n")[:-1]]  # a cut line was not said

    def close(self) -> None:
        self.process.communicate(timeout=120)

    def _told(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def _together(workers: Sequence[Worker]) -> list[list[dict[str, Any]]]:
    for worker in workers:
        worker.go()
    return [worker.said() for worker in workers]


def _workspace(parent: Path, name: str, tasks: int) -> Client:
    folder = parent / name
    folder.mkdir()
    write_status(folder, {"p1": [f"T-{n:03}" for n in range(tasks)]}, commands={"p1": ["make"]})
    client = Client(folder, RealClock(), lock_seconds=30)
    client.start(
        heartbeat_stale_minutes=601, heartbeat_grace_minutes=600, max_tasks_per_session=1000
    )
    return client


def _check_whole(client: Client, acknowledged: set[str]) -> None:
    """State, deliverables and journal agree, and hold everything that was acknowledged."""
    data = client.ok("session", "status", session_id=client.session_id)
    assert data["status"] in ("running", "completed")
    state = client.state()
    completed = set(state["completed_task_ids"])
    assert acknowledged <= completed
    assert {t for t, s in statuses(client.workspace).items() if s == "passed"} == completed
    events = client.journal()
    assert [event["seq"] for event in events] == list(range(1, state["journal_seq"] + 1))
    steps = [e["task_id"] for e in events if e["title"] == "Task step completed"]
    assert sorted(steps) == sorted(completed)
    path = client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl"
    assert Journal(path).first_break() is None


@pytest.mark.parametrize("rounds", [4])
def test_killed_callers_lose_nothing_and_repeat_nothing(tmp_path: Path, rounds: int) -> None:
    _kill_storm(tmp_path, rounds)


@pytest.mark.storm
@pytest.mark.timeout(4 * 3600)
@pytest.mark.skipif(not STORM, reason="a long run: make storm")
def test_a_thousand_killed_callers_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    _kill_storm(tmp_path, 1000)


def _kill_storm(tmp_path: Path, rounds: int) -> None:
    dice = random.Random(rounds)  # noqa: S311 - no secret, and the same storm every time
    client = _workspace(tmp_path, "w0", 60)
    acknowledged: set[str] = set()
    steps = 0
    nursery = Nursery()
    for number in range(rounds):
        answers = nursery.killed_after(dice.uniform(0.0, 0.25), client.workspace)
        said = [line for line in answers if "step_id" in line]
        acknowledged |= {line["task_id"] for line in said if line["task_id"]}
        steps += len(said)
        LOGGER.info("%d kills, %d steps acknowledged before them", number + 1, steps)
        _check_whole(client, acknowledged)
        if said:
            repeated = client.next(said[-1]["report"]) if _is_last(client, said[-1]) else None
            assert repeated in (None, said[-1]["answer"])
        if client.state()["status"] == "completed":
            client = _workspace(tmp_path, f"w{number + 1}", 60)
            acknowledged = set()
    nursery.close()
    client.start(force=True)
    leftovers = [p.name for p in client.workspace.rglob("*.tmp")]
    assert leftovers == []


def _is_last(client: Client, said: dict[str, Any]) -> bool:
    last = client.state()["last_report"]
    return last is not None and bool(last["step_id"] == said["step_id"])


def test_many_processes_at_the_first_next_get_one_step(tmp_path: Path) -> None:
    client = _workspace(tmp_path, "demo", 3)
    count = 20 if STORM else 6
    answers = _together([Worker("first_next", client.workspace) for _ in range(count)])
    envelopes = [said[0]["answer"] for said in answers]
    issued = [e["data"]["next_step"]["step_id"] for e in envelopes if e["success"]]
    refused = [e["data"]["error_code"] for e in envelopes if not e["success"]]
    assert len(issued) == 1
    assert refused == ["STEP_RESULT_REQUIRED"] * (count - 1)


def test_the_identical_report_from_many_processes_advances_once(tmp_path: Path) -> None:
    client = _workspace(tmp_path, "demo", 3)
    report = json.dumps(client.report(client.next()["next_step"]))
    count = 20 if STORM else 6
    answers = _together([Worker("repeat", client.workspace, report) for _ in range(count)])
    data = [said[0]["answer"]["data"] for said in answers]
    assert all(one == data[0] for one in data)
    assert client.state()["counters"]["tasks_completed"] == 1


def test_racing_starts_make_one_session_per_spec(tmp_path: Path) -> None:
    specs = 5 if STORM else 2
    folders = [tmp_path / f"spec-{n}" for n in range(specs)]
    for folder in folders:
        write_status(folder, {"p1": ["A-001"]})
    workers = [Worker("start", folder) for folder in folders for _ in range(4)]
    answers = [said[0]["answer"] for said in _together(workers)]
    assert sum(a["success"] for a in answers) == specs
    codes = {a["data"]["error_code"] for a in answers if not a["success"]}
    assert codes <= {"SPEC_SESSION_EXISTS", "LOCK_TIMEOUT"}
    for folder in folders:
        assert len(Client(folder).ok("session", "list")["sessions"]) == 1


def test_racing_starts_and_ends_never_leave_two_sessions_live(tmp_path: Path) -> None:
    write_status(tmp_path / "demo", {"p1": ["A-001"]})
    count, cycles = (8, 12) if STORM else (3, 5)
    workers = [Worker("cycle", tmp_path / "demo", str(cycles)) for _ in range(count)]
    started = [line["started"] for said in _together(workers) for line in said]
    rows = Client(tmp_path / "demo").ok("session", "list", limit=100)["sessions"]
    assert started
    assert len(set(started)) == len(started)
    assert {row["status"] for row in rows} == {"ended"}
    lives = sorted((row["created_at"], row["updated_at"]) for row in rows)
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(lives))


def test_a_pause_that_races_a_report_holds(tmp_path: Path) -> None:
    for number in range(10 if STORM else 2):
        client = _workspace(tmp_path, f"w{number}", 3)
        report = json.dumps(client.report(client.next()["next_step"]))
        pauser, reporter = _together(
            [Worker("pause", client.workspace), Worker("repeat", client.workspace, report)]
        )
        assert pauser[0]["answer"]["success"]
        assert reporter[0]["answer"]["success"]
        state = client.state()
        assert (state["status"], state["counters"]["tasks_completed"]) == ("paused", 1)


def test_notes_that_race_reports_are_all_there(tmp_path: Path) -> None:
    client = _workspace(tmp_path, "demo", 4)
    workers = [
        Worker("work", client.workspace),
        *(Worker("note", client.workspace, f"w{n}") for n in range(2)),
    ]
    worked, *noted = _together(workers)
    assert worked[-1] == {"done": True}
    titles = [event["title"] for event in client.journal()]
    for said in noted:
        assert {line["title"] for line in said} <= set(titles)
    _check_whole(client, {line["task_id"] for line in worked if line.get("task_id")})


def test_readers_never_take_a_writer_for_a_cheat(tmp_path: Path) -> None:
    client = _workspace(tmp_path, "w0", 25)
    stop = threading.Event()
    wrong: list[Any] = []

    def look() -> None:
        reader = Client(client.workspace, RealClock(), lock_seconds=30)
        while not stop.is_set():
            envelope = reader.call("session", "status", session_id=client.session_id)
            data = envelope["data"]
            if data.get("failure_reason") or not envelope["success"]:
                wrong.append(envelope)
            wrong.extend(envelope["meta"].get("warnings", ()))

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        client.finish()
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []
