"""Time budgets: what takes too long says whether it was done (seed 000 «Timeout»)."""

from datetime import datetime
from pathlib import Path

import pytest
from tests.autonomy.plane import Client, Clock, write_status

from runner.autonomy.calls import budget_of, chosen_seconds
from runner.autonomy.codes import RefusedError
from runner.files import locked


class Ticker:
    """A monotonic clock that tests move."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class SlowClock(Clock):
    """A wall clock whose reading takes a minute of the budget from the `slow_from`th on."""

    def __init__(self, ticker: Ticker) -> None:
        super().__init__()
        self.ticker = ticker
        self.slow_from = 10**9

    def __call__(self) -> datetime:
        self.slow_from -= 1
        if self.slow_from < 0:
            self.ticker.seconds += 60
        return super().__call__()


@pytest.fixture
def clock() -> SlowClock:
    return SlowClock(Ticker())


@pytest.fixture
def client(tmp_path: Path, clock: SlowClock) -> Client:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1", "A-2"]})
    return Client(workspace, clock, monotonic=clock.ticker)


def test_a_call_that_is_late_before_its_write_changes_nothing(
    client: Client, clock: SlowClock
) -> None:
    client.start()
    before = client.session_file().read_bytes()
    clock.slow_from = 0
    assert client.refused("session", "pause") == "TIMEOUT"
    assert client.session_file().read_bytes() == before


def test_a_call_that_is_late_after_its_write_says_which_version_it_wrote(
    client: Client, clock: SlowClock
) -> None:
    client.start()
    clock.slow_from = 2  # after the readings of the lock's holder and of the transition
    envelope = client.call("session", "pause")
    assert envelope["data"]["error_code"] == "TIMEOUT"
    assert envelope["data"]["details"]["state_version"] == client.state()["state_version"]
    assert client.state()["status"] == "paused"


def test_a_late_review_writes_no_evidence(client: Client, clock: SlowClock) -> None:
    client.start()
    step = client.next()["next_step"]
    while step["type"] != "run_fidelity_gate":
        step = client.next(client.report(step))["next_step"]
    before = client.session_file().read_bytes()
    clock.slow_from = 0
    clock.ticker.seconds = 200
    named = {"phase_id": "p1", "step_id": step["step_id"], "verdict": "pass"}
    envelope = client.call("review", "gate", timeout_seconds=30, **named)
    assert envelope["data"]["error_code"] == "TIMEOUT"
    assert envelope["data"]["details"]["state_version"] is None
    assert client.session_file().read_bytes() == before


def test_a_timeout_is_of_the_type_unavailable(client: Client, clock: SlowClock) -> None:
    client.start()
    clock.slow_from = 0
    assert client.call("session", "pause")["data"]["error_type"] == "unavailable"


def test_the_step_that_a_late_next_issued_is_replayed(client: Client, clock: SlowClock) -> None:
    client.start()
    clock.slow_from = 0
    assert client.refused("step", "next") == "TIMEOUT"
    clock.slow_from = 10**9
    assert client.next()["next_step"]["task_id"] == "A-1"


def test_a_caller_may_ask_for_more_time(client: Client, clock: SlowClock) -> None:
    client.start()
    clock.ticker.seconds = 0
    clock.slow_from = 10**9
    assert client.ok("session", "status", timeout_seconds=15)["status"] == "running"


@pytest.mark.parametrize("wanted", [0, -1, 16, True, "5", float("nan")])
def test_a_budget_outside_its_bounds_is_refused(wanted: object) -> None:
    with pytest.raises(RefusedError, match="timeout_seconds"):
        chosen_seconds("session", "status", wanted)


@pytest.mark.parametrize(
    ("group", "command", "default", "most"),
    [
        ("session", "status", 5, 15),
        ("session", "list", 5, 15),
        ("session", "pause", 5, 15),
        ("session", "resume", 5, 15),
        ("session", "end", 5, 15),
        ("session", "reset", 5, 15),
        ("session", "rebase", 10, 30),
        ("session", "start", 10, 30),
        ("step", "heartbeat", 5, 15),
        ("step", "next", 15, 45),
        ("review", "gate", 120, 300),
    ],
)
def test_the_budgets_are_those_of_the_seed(
    group: str, command: str, default: float, most: float
) -> None:
    assert budget_of(group, command) == (default, most)


def test_waiting_for_a_lock_ends_with_the_budget(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1"]})
    client = Client(workspace, lock_seconds=3600)
    client.start()
    lock = workspace / f".runner/autonomy/locks/session_{client.session_id}.lock"
    with locked(lock):
        assert client.refused("session", "pause", timeout_seconds=0.05) == "LOCK_TIMEOUT"
