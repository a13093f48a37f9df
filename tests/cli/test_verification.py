"""The project's verification commands are looked at before anything is paid for."""

from pathlib import Path

import pytest

from runner.cli.verification import require_runnable_verification
from runner.errors import ConfigError
from runner.security.settings import PolicySettings


def _commands(project: Path, text: str) -> None:
    (project / ".runner").mkdir()
    (project / ".runner" / "runner.toml").write_text(
        f"[verification]\ncommands = [{text}]\n", encoding="utf-8"
    )


def test_a_command_that_the_policy_denies_is_refused_by_name(tmp_path: Path) -> None:
    _commands(tmp_path, '"true", "sudo make"')
    with pytest.raises(ConfigError, match="`sudo make` of \\[verification\\]"):
        require_runnable_verification(tmp_path, PolicySettings())


def test_a_command_whose_script_is_still_to_be_written_is_accepted(tmp_path: Path) -> None:
    _commands(tmp_path, '"python3 tests/check.py"')
    require_runnable_verification(tmp_path, PolicySettings())
