"""The project's verification commands are looked at before anything is paid for."""

import os
from pathlib import Path

import pytest

from runner.app.verification import place_of_verification, require_runnable_verification
from runner.errors import ConfigError
from runner.project import Project
from runner.shell_policy.decision import PolicySettings


def _commands(project: Path, text: str) -> None:
    (project / ".runner").mkdir()
    (project / ".runner" / "runner.toml").write_text(
        f"[verification]\ncommands = [{text}]\n", encoding="utf-8"
    )


def test_a_command_that_the_policy_denies_is_refused_by_name(tmp_path: Path) -> None:
    _commands(tmp_path, '"true", "sudo make"')
    with pytest.raises(ConfigError, match="`sudo make` of \\[verification\\]"):
        require_runnable_verification(Project(tmp_path, {}), PolicySettings())


def test_a_command_whose_script_is_still_to_be_written_is_accepted(tmp_path: Path) -> None:
    _commands(tmp_path, '"python3 tests/check.py"')
    require_runnable_verification(Project(tmp_path, {}), PolicySettings())


def test_a_setup_command_that_the_policy_denies_is_refused(tmp_path: Path) -> None:
    _commands(tmp_path, '"true"]\nsetup = ["sudo apt-get install x"')
    with pytest.raises(ConfigError, match="`sudo apt-get install x` of \\[verification\\]"):
        require_runnable_verification(Project(tmp_path, {}), PolicySettings())


def test_setup_left_out_is_detected_and_an_empty_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"x": "1"}}')
    environ = {"PATH": os.environ["PATH"]}
    detected = place_of_verification(Project(tmp_path, environ))
    _commands(tmp_path, '"true"]\nsetup = [')
    declared = place_of_verification(Project(tmp_path, environ))
    assert "`npm install --no-audit" in detected[0]
    assert declared == ("in a clean room, without setup commands", True)


@pytest.mark.parametrize(
    ("in_place", "path", "why"), [(True, os.environ["PATH"], "in_place"), (False, "/none", "git")]
)
def test_why_commands_run_in_place_is_told(
    tmp_path: Path, in_place: bool, path: str, why: str
) -> None:
    if in_place:
        _commands(tmp_path, '"true"]\nin_place = true\nsetup = [')
    told, clean = place_of_verification(Project(tmp_path, {"PATH": path}))
    assert (why in told, clean) == (True, False)
