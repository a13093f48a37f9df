from pathlib import Path

import pytest

from runner.agent.containment import secrets
from runner.agent.containment.secrets import secret_paths


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setattr(secrets, "user_state_directory", lambda: state / "runner")
    return state / "runner"


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
    assert names == {".ssh", ".aws", ".netrc", ".env.production", "runner"}


def test_our_own_secret_is_hidden_before_it_is_made(home: Path, state: Path) -> None:
    assert state in set(secret_paths(home, {}))


def test_what_claude_code_signs_in_with_is_left_alone(home: Path) -> None:
    names = {path.name for path in secret_paths(home, {"CLAUDE_CODE_USE_BEDROCK": "1"})}
    assert ".aws" not in names


def test_a_link_is_followed_to_the_secret_itself(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.write_text("token")
    (home / ".npmrc").symlink_to(elsewhere)
    assert elsewhere in set(secret_paths(home, {}))
