"""What happens when a command takes too long, and what a long-lived server does by itself."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.autonomy.plane import Client, write_status

from runner.autonomy.envelope import Envelope
from runner.server import app
from runner.server.app import ToolCallPool, build_server, maintain
from runner.server.surface import Surface, ToolRequest

pytestmark = pytest.mark.anyio


class _SlowSurface(Surface):
    """A surface whose answers wait until a test lets them go."""

    released = threading.Event()
    answered = 0
    most_seconds = 0.01

    def resolve(self, tool: str, arguments: Mapping[str, Any]) -> ToolRequest:
        request = super().resolve(tool, arguments)
        return request._replace(seconds=min(request.seconds, self.most_seconds))

    def answer(self, request: ToolRequest) -> Envelope:
        self.released.wait(20)
        self.answered += 1
        return super().answer(request)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    workspace = tmp_path / "demo"
    workspace.mkdir()
    write_status(workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    client = Client(workspace)
    client.start()
    return client


@pytest.fixture
def surface(client: Client) -> Iterator[_SlowSurface]:
    surface = _SlowSurface(client.plane, client.workspace)
    surface.released = threading.Event()
    yield surface
    surface.released.set()


SOON: Mapping[str, Any] = {"action": "session", "command": "pause"}


async def test_a_late_answer_is_a_timeout_with_the_state_version(surface: _SlowSurface) -> None:
    envelope = await ToolCallPool(surface, grace=0).answer("task", SOON)
    assert envelope["data"]["error_code"] == "TIMEOUT"
    assert envelope["data"]["error_type"] == "unavailable"
    assert envelope["data"]["details"] == {"state_version": 1}


async def test_a_timeout_about_no_session_has_no_version(surface: _SlowSurface) -> None:
    arguments = {**SOON, "session_id": "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV"}
    envelope = await ToolCallPool(surface, grace=0).answer("task", arguments)
    assert envelope["data"]["details"] == {"state_version": None}


async def test_a_call_that_never_got_its_turn_is_dropped(surface: _SlowSurface) -> None:
    calls = ToolCallPool(surface, threads=1, grace=0)
    calls._limiter.acquire_on_behalf_of_nowait(surface)
    envelope = await calls.answer("task", SOON)
    assert envelope["data"]["error_code"] == "TIMEOUT"
    calls._limiter.release_on_behalf_of(surface)
    surface.released.set()
    surface.most_seconds = 20
    assert (await ToolCallPool(surface).answer("task", {"action": "list"}))["success"]
    assert surface.answered == 1


async def test_waiting_for_a_turn_counts_against_the_calls_time(client: Client) -> None:
    seconds: list[float] = []

    class _Noting(Surface):
        def answer(self, request: ToolRequest) -> Envelope:
            seconds.append(request.seconds)
            return super().answer(request)

    calls = ToolCallPool(_Noting(client.plane, client.workspace), threads=1)
    somebody = object()
    calls._limiter.acquire_on_behalf_of_nowait(somebody)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.answer, "task", {**SOON, "timeout_seconds": 15})
        await anyio.sleep(0.05)
        calls._limiter.release_on_behalf_of(somebody)
    assert 0 < seconds[0] < 15


async def test_a_call_whose_time_went_by_in_the_queue_changes_nothing(client: Client) -> None:
    request = Surface(client.plane, client.workspace).resolve("task", SOON)
    calls = ToolCallPool(Surface(client.plane, client.workspace))
    envelope = calls._run(request, arrived=time.monotonic() - request.seconds - 1)
    assert envelope["data"]["error_code"] == "TIMEOUT"
    assert client.ok("session", "status")["status"] == "running"


@pytest.mark.parametrize("auto_mode", [True, False])
def test_session_config_keeps_to_its_time_too(client: Client, *, auto_mode: bool) -> None:
    if auto_mode:
        client.ok("session", "end")
    surface = Surface(client.plane, client.workspace)
    arguments = {"action": "session-config", "auto_mode": auto_mode}
    request = surface.resolve("task", arguments)._replace(seconds=1e-6)
    assert surface.answer(request)["data"]["error_code"] == "TIMEOUT"


async def test_a_quick_answer_comes_through(client: Client) -> None:
    surface = Surface(client.plane, client.workspace)
    assert (await ToolCallPool(surface).answer("task", {"action": "list"}))["success"]


async def test_a_stale_session_is_paused_without_being_asked(client: Client) -> None:
    client.clock.wait(minutes=30)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(maintain, client.plane)
        await _until(lambda: client.state()["status"] == "paused")
        tasks.cancel_scope.cancel()
    assert client.state()["pause_reason"] == "heartbeat_stale"


async def test_maintenance_comes_again_and_survives_a_failure(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(type(client.plane)):  # type: ignore[misc] # a class of its own
        times = 0

        def maintain(self) -> dict[str, int]:
            self.times += 1
            raise OSError

    plane = Failing(client.workspace)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(maintain, plane, 0.001)
        await _until(lambda: plane.times > 2)
        tasks.cancel_scope.cancel()
    assert "maintenance failed" in caplog.text


def test_maintenance_is_due_every_six_hours() -> None:
    assert app.MAINTENANCE_SECONDS == 6 * 3600


def test_the_server_says_how_to_begin(client: Client) -> None:
    server = build_server(Surface(client.plane, client.workspace))
    assert "loop_signal" in (server.instructions or "")


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        await anyio.sleep(0.01)
    pytest.fail("it never came about")
