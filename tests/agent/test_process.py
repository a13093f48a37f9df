"""Where the agent binary is found."""

import os
import sys
from pathlib import Path

import pytest

from runner.errors import PrerequisiteError
from runner.sandbox.process import bundled_agent


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


@pytest.mark.parametrize(("order", "refused"), [((0, 1), True), ((1, 0), False)])
def test_a_script_for_an_interpreter_that_agents_could_replace_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[int, int], refused: bool
) -> None:
    project, tools = tmp_path / "project", tmp_path / "tools"
    (project / "bin").mkdir(parents=True)
    _program(tools / "node")
    (tools / "claude").write_text("#!/usr/bin/env node\n")
    (tools / "claude").chmod(0o755)
    folders = [str(project / "bin"), str(tools)]
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", os.pathsep.join(folders[place] for place in order))
    if refused:
        with pytest.raises(PrerequisiteError, match="a node of their own"):
            bundled_agent(project)
    else:
        assert bundled_agent(project) == tools / "claude"


def test_a_binary_in_the_project_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = _program(tmp_path / "project" / "node_modules" / ".bin" / "claude")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(claude.parent))
    with pytest.raises(PrerequisiteError, match="agents can write"):
        bundled_agent(tmp_path / "project")
