"""The program for machines without Python, as `make binary` built it."""

import os
import subprocess
from pathlib import Path

import pytest

from runner import __version__
from runner.sandbox.process import bundled_agent
from runner.cli.help_cache import cached_help

BINARY = os.environ.get("RUNNER_BINARY", "")

pytestmark = [
    pytest.mark.dist,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BINARY, reason="tries what was built: make binary"),
]


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program where only the system's programs and the agent are on PATH."""
    agents = cwd / "agents"
    agents.mkdir(exist_ok=True)
    if not (agents / "claude").exists():
        (agents / "claude").symlink_to(bundled_agent())
    return subprocess.run(
        [BINARY, *map(str, arguments)],
        cwd=cwd,
        env={"PATH": f"{agents}:/usr/bin:/bin", "HOME": str(cwd), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_tells_its_version(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).stdout == f"runner {__version__}\n"


def test_it_carries_the_cached_help(tmp_path: Path) -> None:
    assert run("--help", cwd=tmp_path).stdout == cached_help()


def test_the_demo_passes_in_the_sandbox(tmp_path: Path) -> None:
    done = run("demo", "-p", tmp_path / "demo", cwd=tmp_path)
    assert "All achievable deliverables passed" in done.stdout, done.stdout + done.stderr
    assert "Sandbox: bubblewrap" in done.stdout
