"""Fixtures: a workspace with a spec of three phases, and a client of its server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.autonomy.plane import RealClock, write_status
from tests.server.mcp_client import McpClient, serving

PHASES = {"p1": ["A-001", "A-002"], "p2": ["B-001"], "p3": ["C-001"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    write_status(folder, PHASES, commands={"p1": ["make test"]})
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpClient]:
    """A client of one server for all tests of a module; starting one takes a second."""
    workspace = tmp_path_factory.mktemp("server") / "demo"
    workspace.mkdir()
    with serving(workspace) as client:
        client.clock = RealClock()
        yield client


@pytest.fixture
def client(server: McpClient) -> McpClient:
    """A client whose workspace is as new: its server keeps nothing that is not on disk."""
    notes = server.workspace.parent / "state" / "runner" / "anchors"  # else a session was lost
    for folder in (server.workspace / ".runner", notes):
        shutil.rmtree(folder, ignore_errors=True)
    write_status(server.workspace, PHASES, commands={"p1": ["make test"]})
    server.session_id = ""
    return server
