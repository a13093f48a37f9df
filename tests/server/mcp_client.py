"""A real MCP client over stdio, for tests that are not asynchronous themselves."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent, Tool
from tests.autonomy.plane import Client as PlaneClient
from tests.autonomy.plane import Clock

from runner.autonomy.service import ControlPlane
from runner.autonomy.store.layout import user_state_directory


def command(workspace: Path) -> list[str]:
    """Return the command line of the server."""
    return [sys.executable, "-m", "runner", "mcp", "--workspace", str(workspace)]


def environment(workspace: Path, **over: str) -> dict[str, str]:
    """Return an environment of its own: no settings, no secret of the user's."""
    kept = ("PATH", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(workspace.parent),
        "XDG_STATE_HOME": str(workspace.parent / "state"),
        # Tests bring their own verdicts, which posture `unattended` takes from nobody.
        "AUTORUNNER_POSTURE": "supervised",
        **over,
    }


def parameters(workspace: Path, **over: str) -> StdioServerParameters:
    program, *arguments = command(workspace)
    return StdioServerParameters(
        command=program, args=arguments, env=environment(workspace, **over), cwd=workspace
    )


class McpClient(PlaneClient):
    """Drives a workspace as `tests.autonomy.plane.Client` does, but over the protocol."""

    def __init__(self, portal: BlockingPortal, client: Client, workspace: Path) -> None:
        super().__init__(workspace)
        self._portal = portal
        self._client = client

    def start(self, **params: Any) -> dict[str, Any]:
        return super().start(**{"stop_on_phase_completion": False} | params)

    def tool(self, name: str, /, **arguments: Any) -> CallToolResult:
        """Call a tool and return its result as it came."""
        result: CallToolResult = self._portal.call(self._client.call_tool, name, arguments)
        return result

    def envelope(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return the envelope in its one text."""
        return read_envelope(self.tool(name, **arguments))

    def call(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        tool, shape = _SHAPES[group](command)
        return self.envelope(tool, **shape, **params)

    def together(self, *calls: dict[str, Any]) -> list[dict[str, Any]]:
        """Call `task` several times at once."""
        waiting = [
            self._portal.start_task_soon(self._client.call_tool, "task", arguments)
            for arguments in calls
        ]
        return [read_envelope(future.result()) for future in waiting]

    def tools(self) -> dict[str, Tool]:
        listed = self._portal.call(self._client.list_tools)
        return {tool.name: tool for tool in listed.tools}


_SHAPES: dict[str, Any] = {
    "session": lambda command: ("task", _session(command)),
    "step": lambda command: ("task", {"action": "session-step", "command": command}),
    "review": lambda command: ("review", {"action": "fidelity-gate"}),
    "task": lambda command: ("task", {"action": command}),
    "journal": lambda command: ("journal", {"action": command}),
    "server": lambda command: ("server", {"action": command}),
}


def _session(command: str) -> dict[str, str]:
    if command == "events":
        return {"action": "session-events"}
    return {"action": "session", "command": command}


def read_envelope(result: CallToolResult) -> dict[str, Any]:
    """Return the envelope of a result, which must carry it as its one text."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    envelope: dict[str, Any] = json.loads(content.text)
    return envelope


@contextmanager
def serving(workspace: Path, **over: str) -> Iterator[McpClient]:
    """Start a server as a process of its own and connect to it; `over` adds to its environment."""
    log = workspace.parent / "server.log"
    with start_blocking_portal() as portal, log.open("a", encoding="utf-8") as errors:
        transport = stdio_client(parameters(workspace, **over), errlog=errors)
        with portal.wrap_async_context_manager(Client(transport)) as client:
            yield McpClient(portal, client, workspace)


def in_the_past(client: McpClient, **span: float) -> PlaneClient:
    """Return a caller of the same workspace for whom it is that long ago."""
    clock = Clock()
    clock.now = datetime.now(UTC) - timedelta(**span)
    keys = client.workspace.parent / "state" / user_state_directory().name
    earlier = PlaneClient(client.workspace, clock)
    earlier.plane = ControlPlane(client.workspace, clock=clock, key_directory=keys)
    return earlier


def server_log(workspace: Path) -> str:
    """Return what the servers of a workspace wrote to stderr."""
    return (workspace.parent / "server.log").read_text(encoding="utf-8")
