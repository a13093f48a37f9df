"""Fixtures: a workspace with a spec of two phases, and a client for it."""

from pathlib import Path

import pytest
from tests.autonomy.plane import Client, write_status

from runner.autonomy.store.file_store import FileSessionStore


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001"]}
    write_status(folder, phases, commands={"p1": ["make test"]})
    return folder


@pytest.fixture
def client(workspace: Path, request: pytest.FixtureRequest) -> Client:
    """A client on files; on what the test's module calls `STORE`, where it has that."""
    return Client(workspace, store=getattr(request.module, "STORE", FileSessionStore))
