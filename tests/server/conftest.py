"""Fixtures: a workspace with a spec of three phases, and a client of its server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.autonomy.plane import write_status
from tests.server.mcp_client import McpClient, serving

PHASES = {"p1": ["A-001", "A-002"], "p2": ["B-001"], "p3": ["C-001"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    write_status(folder, PHASES, commands={"p1": ["make test"]})
    return folder


@pytest.fixture
def client(workspace: Path) -> Iterator[McpClient]:
    with serving(workspace) as client:
        yield client
