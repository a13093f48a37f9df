"""Fixtures: a workspace with a spec of two phases, and the command line for it."""

from pathlib import Path

import pytest
from tests.cli.control.kit import Cli, make_workspace


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Cli(make_workspace(tmp_path / "demo"))
