"""Launchers of runners that were killed are swept by the next one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runner.sandbox.process import sweep_launchers


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def launcher(folder: Path, pid: int) -> Path:
    path = folder / f"runner-agent-{pid}-abc"
    path.mkdir()
    (path / "agent").write_text("#!/bin/sh\n", encoding="utf-8")
    return path


@pytest.mark.process
def test_the_launcher_of_a_dead_runner_is_removed(folder: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    path = launcher(folder, dead.pid)
    sweep_launchers()
    assert not path.exists()


def test_the_launcher_of_a_living_runner_is_kept(folder: Path) -> None:
    path = launcher(folder, os.getpid())
    sweep_launchers()
    assert path.exists()


def test_nothing_else_is_touched(folder: Path) -> None:
    other = folder / "runner-agent-notes"
    other.mkdir()
    sweep_launchers()
    assert other.exists()
