"""Runs the scripts of workflow steps as GitHub would, with stand-ins for the programs they call."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


class Ran(NamedTuple):
    """How a step ended: its exit code, what it printed, and the outputs it set on one line."""

    code: int
    said: str
    outputs: dict[str, str]


def load(path: Path) -> dict[str, Any]:
    """Return a workflow or an action."""
    return dict(YAML(typ="safe").load(path))


def step_named(steps: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the one step of that name."""
    (step,) = [step for step in steps if step.get("name") == name]
    return step


def stub(folder: Path, name: str, script: str) -> None:
    """Put a shell program into `folder`."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def run_script(
    step: dict[str, Any], cwd: Path, given: Mapping[str, str], stubs: Path | None = None
) -> Ran:
    """Run a step's script with the flags of `shell: bash`, and no variables but those given."""
    outputs = cwd / "github-output"
    outputs.unlink(missing_ok=True)
    outputs.touch()
    path = os.environ["PATH"] if stubs is None else f"{stubs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={"PATH": path, "GITHUB_OUTPUT": str(outputs), **given},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = outputs.read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    return Ran(done.returncode, done.stdout + done.stderr, pairs)
