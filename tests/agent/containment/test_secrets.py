from pathlib import Path

import pytest

from runner.agent.containment.secrets import secret_paths


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".netrc").touch()
    (tmp_path / ".env.production").touch()
    (tmp_path / ".gitconfig").touch()
    return tmp_path


def test_what_is_there_and_secret_is_named(home: Path) -> None:
    names = {path.name for path in secret_paths(home, {})}
    assert names == {".ssh", ".aws", ".netrc", ".env.production"}


def test_what_claude_code_signs_in_with_is_left_alone(home: Path) -> None:
    names = {path.name for path in secret_paths(home, {"CLAUDE_CODE_USE_BEDROCK": "1"})}
    assert ".aws" not in names


def test_a_link_is_followed_to_the_secret_itself(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.write_text("token")
    (home / ".npmrc").symlink_to(elsewhere)
    assert elsewhere in set(secret_paths(home, {}))
