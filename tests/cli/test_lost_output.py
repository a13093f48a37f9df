"""Every command says so when its answer could not be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

FULL = Path("/dev/full")
COMMANDS = pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["status", "--json"],
        ["config", "show"],
        ["run", "-h"],
        ["status"],
        ["session", "list"],
        ["capabilities"],
    ],
)


def _run(arguments: list[str], folder: Path, stdout: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )


@COMMANDS
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_failure_and_no_bug(arguments: list[str], tmp_path: Path) -> None:
    with FULL.open("w") as full:
        done = _run(arguments, tmp_path, full.fileno())
    assert (done.returncode, done.stderr) == (
        1,
        "Error: The output could not be written: No space left on device.\n",
    )


@COMMANDS
def test_a_reader_that_left_is_no_news(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = _run(arguments, tmp_path, writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@COMMANDS
def test_a_closed_stdout_is_a_failure_and_no_bug(arguments: list[str], tmp_path: Path) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "runner", *arguments]
    done = subprocess.run(
        shell, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (
        1,
        "Error: The output could not be written: stdout is closed.\n",
    )


@pytest.mark.parametrize(("arguments", "code"), [(["config", "get"], 2), (["--version"], 0)])
def test_a_closed_stderr_changes_no_exit_code(
    arguments: list[str], code: int, tmp_path: Path
) -> None:
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "runner", *arguments]
    done = subprocess.run(shell, cwd=tmp_path, stdout=subprocess.DEVNULL, check=False, timeout=60)
    assert done.returncode == code
