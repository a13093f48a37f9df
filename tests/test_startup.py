"""What the quick answers of the command line import, and that they are the right ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli.help_cache import cached_help, rendered_help

pytestmark = pytest.mark.process

HEAVY = {
    "claude_agent_sdk", "mcp", "typer", "click", "rich", "pydantic", "anyio",
    "runner.autonomy.service",
}  # fmt: skip

# Ends the command as its entry point does, then tells which of the named modules it imported.
PROBE = """
import sys
from runner.__main__ import main
heavy, sys.argv = sys.argv[1].split(","), ["runner", *sys.argv[2:]]
status = main()
sys.stderr.write(",".join(name for name in heavy if name in sys.modules))
sys.exit(status)
"""


def _imports(*arguments: str, cwd: Path) -> tuple[int, str, set[str]]:
    """Return a command's exit code, its output, and which heavy modules it imported."""
    # Coverage and the like would import modules of their own.
    names = ("PATH", "PYTHONPATH", "HOME", "LANG")
    done = subprocess.run(
        [sys.executable, "-c", PROBE, ",".join(sorted(HEAVY)), *arguments],
        cwd=cwd,
        env={name: os.environ[name] for name in names if name in os.environ}
        | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, set(filter(None, done.stderr.split(",")))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], []])
def test_quick_answers_import_no_library(arguments: list[str], tmp_path: Path) -> None:
    status, said, imported = _imports(*arguments, cwd=tmp_path)
    assert (status, imported) == (0, set())
    assert said.strip()


@pytest.mark.parametrize("arguments", [["run", "--help"], ["demo", "--help"]])
def test_help_of_a_command_imports_no_agent(arguments: list[str], tmp_path: Path) -> None:
    status, _, imported = _imports(*arguments, cwd=tmp_path)
    assert status == 0
    assert not imported & {"claude_agent_sdk", "mcp", "anyio"}


def test_status_imports_no_agent(tmp_path: Path) -> None:
    status, said, imported = _imports("status", cwd=tmp_path)
    assert (status, "nothing is planned" in said) == (0, True)
    assert not imported & {"claude_agent_sdk", "mcp", "anyio", "rich"}


@pytest.mark.parametrize(
    "arguments", [["session", "--help"], ["step", "next", "--help"], ["session", "nonsense"]]
)
def test_help_and_bad_usage_of_the_control_plane_load_no_control_plane(
    arguments: list[str], tmp_path: Path
) -> None:
    _, _, imported = _imports(*arguments, cwd=tmp_path)
    assert not imported & {"claude_agent_sdk", "mcp", "anyio", "rich", "runner.autonomy.service"}


def test_a_command_of_the_control_plane_imports_no_agent(tmp_path: Path) -> None:
    status, said, imported = _imports("session", "list", cwd=tmp_path)
    assert (status, "There are no sessions" in said) == (0, True)
    assert not imported & {"claude_agent_sdk", "mcp", "anyio", "rich"}


def test_the_probe_sees_an_import(tmp_path: Path) -> None:
    assert "typer" in _imports("run", "--help", cwd=tmp_path)[2]


def test_the_cached_help_is_what_typer_renders() -> None:
    assert cached_help() == rendered_help(), "run `python -m runner.cli.help_cache`"
