"""Where the agent binary is found."""

import sys
from pathlib import Path

import pytest

from runner.agent.process import bundled_agent
from runner.errors import PrerequisiteError


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_binary_of_the_sdks_wheel_is_found() -> None:
    assert bundled_agent().parts[-3:] == ("claude_agent_sdk", "_bundled", "claude")


def test_a_binary_on_path_serves_where_the_wheel_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = _program(tmp_path / "bin" / "claude")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(claude.parent))
    assert bundled_agent() == claude


def test_a_missing_binary_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError, match="on the PATH"):
        bundled_agent()
