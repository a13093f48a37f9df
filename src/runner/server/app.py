"""The server: its tools, their time limits, maintenance, and an orderly end."""

import json
import logging
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from runner import __version__
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.service import ControlPlane, new_ulid
from runner.server.routes import TOOLS
from runner.server.schemas import list_tools
from runner.server.surface import Surface, ToolRequest
from runner.server.wire import Ends, open_wire

_LOG = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]

NAME = "runner"
MAINTENANCE_SECONDS = 6 * 60 * 60.0
_THREADS = 16
# A lock is waited for 5 s, as long as the shortest budget; LOCK_TIMEOUT is to be told, then.
_GRACE_SECONDS = 1.0
_VERSION_SECONDS = 2.0
_LEAST_SECONDS = 1e-9  # too little for any change
_SIGNAL_EXIT_BASE = 128

INSTRUCTIONS = (
    "Drives the implementation of a SPEC.md step by step. Begin with "
    "server(action='capabilities') and task(action='session', command='list'), start or resume a "
    "session, then ask task(action='session-step', command='next') and do what its next_step says. "
    "Every answer is one JSON envelope: success, data, error, meta. Stop when data.loop_signal is "
    "not null; go on by yourself after phase_complete alone."
)


async def serve(plane: ControlPlane, surface: Surface, ends: Ends) -> int:
    """Serve one client until its input ends or a signal comes; return the exit code."""
    code = 0
    async with anyio.create_task_group() as tasks:

        def stop(number: int) -> None:
            nonlocal code
            code = _SIGNAL_EXIT_BASE + number
            tasks.cancel_scope.cancel()

        await tasks.start(_stop_on_signal, stop)
        tasks.start_soon(maintain, plane)
        server = build_server(surface)
        async with open_wire(ends) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()
    return code


def build_server(surface: Surface) -> Server[Any]:
    """Return the MCP server of a surface; it serves any transport."""
    calls = ToolCallPool(surface)
    tools = list_tools(surface.schemas)

    async def on_list(_: _Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def on_call(_: _Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in TOOLS:
            raise MCPError(code=INVALID_PARAMS, message="There is no such tool.")
        return as_result(await calls.answer(params.name, params.arguments or {}))

    return Server(
        NAME,
        version=__version__,
        title="runner's control plane",
        instructions=INSTRUCTIONS,
        on_list_tools=on_list,
        on_call_tool=on_call,
    )


class ToolCallPool:
    """Answers tool calls in threads, so that a slow one holds up no other.

    Args:
        threads: how many calls are worked on at once; others wait, within their time.
        grace: seconds added to every call's time.
    """

    def __init__(
        self, surface: Surface, *, threads: int = _THREADS, grace: float = _GRACE_SECONDS
    ) -> None:
        self._surface = surface
        self._grace = grace
        self._limiter = anyio.CapacityLimiter(threads)
        # Of its own, so that a full house does not keep a late answer from its state_version.
        self._late = anyio.CapacityLimiter(threads)

    async def answer(self, tool: str, arguments: Mapping[str, Any]) -> Envelope:
        """Return the envelope of a tool call, TIMEOUT when its time runs out."""
        try:
            request = self._surface.resolve(tool, arguments)
        except RefusedError as error:
            return failure(error, request_id=new_ulid("req"))
        arrived = time.monotonic()
        with anyio.move_on_after(request.seconds + self._grace):
            return await anyio.to_thread.run_sync(
                self._run, request, arrived, abandon_on_cancel=True, limiter=self._limiter
            )
        return await self._timed_out(request)

    def _run(self, request: ToolRequest, arrived: float) -> Envelope:
        """Answer in a thread, within what waiting for it has left of the call's time.

        With the whole time again, a call could change something after its TIMEOUT was told.
        """
        left = request.seconds - (time.monotonic() - arrived)
        return self._surface.answer(request._replace(seconds=max(left, _LEAST_SECONDS)))

    async def _timed_out(self, request: ToolRequest) -> Envelope:
        """Return TIMEOUT, with the session's version for the caller to compare (seed 000)."""
        version = None
        with anyio.move_on_after(_VERSION_SECONDS):
            version = await anyio.to_thread.run_sync(
                self._surface.state_version, request, abandon_on_cancel=True, limiter=self._late
            )
        error = RefusedError(
            ErrorCode.TIMEOUT,
            f"There was no answer within {request.seconds:g} seconds.",
            details={"state_version": version},
        )
        return failure(error, request_id=new_ulid("req"))


def as_result(envelope: Envelope) -> CallToolResult:
    """Return the envelope as one text and as structured content (ADR 0151).

    Text that is not valid Unicode, from a damaged file say, must not break the protocol.
    """
    text = json.dumps(envelope, ensure_ascii=False).encode(errors="replace").decode()
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=json.loads(text),
        is_error=not envelope["success"],
    )


async def _stop_on_signal(
    stop: Callable[[int], None],
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            stop(int(number))


async def maintain(plane: ControlPlane, seconds: float = MAINTENANCE_SECONDS) -> None:
    """Do now and every six hours, for ever, what a long-lived server owes its workspace."""
    while True:
        try:
            done = await anyio.to_thread.run_sync(plane.maintain, abandon_on_cancel=True)
        except Exception:  # noqa: BLE001 - the server goes on, and tries again
            _LOG.exception("maintenance failed")
        else:
            _LOG.info("maintenance: %s", done)
        await anyio.sleep(seconds)
