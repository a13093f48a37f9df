"""`runner completion`, as the shells use it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli.main import run_command_line


@pytest.mark.parametrize(
    ("shell", "mark"),
    [
        ("bash", "complete -o default -F _runner_completion runner"),
        ("zsh", "compdef _runner_completion runner"),
        ("fish", "complete --command runner"),
    ],
)
def test_each_shell_gets_its_script(
    shell: str, mark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["completion", shell]) == 0
    assert mark in capsys.readouterr().out


def test_without_a_name_it_is_the_users_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    run_command_line(["completion"])
    assert "compdef" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["", "/bin/dash"])
def test_a_shell_without_a_script_is_asked_for(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", shell)
    assert run_command_line(["completion"]) == 2
    assert "bash|zsh|fish" in capsys.readouterr().err


def test_a_shell_that_is_not_known_is_wrong_usage() -> None:
    assert run_command_line(["completion", "tcsh"]) == 2


def test_the_help_says_how_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    run_command_line(["completion", "--help"])
    assert "runner completion bash >> ~/.bashrc" in capsys.readouterr().out


def _completed(words: str, folder: Path) -> list[str]:
    """Let a real bash complete, with a `runner` on its PATH."""
    program = folder / "runner"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m runner "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(runner completion bash)"; '
        f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        '_runner_completion runner; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("runner ru", ["run"]),
        ("runner config sh", ["show"]),
        ("runner run --max-cos", ["--max-cost"]),
    ],
)
def test_bash_completes(words: str, expected: list[str], tmp_path: Path) -> None:
    assert _completed(words, tmp_path) == expected
