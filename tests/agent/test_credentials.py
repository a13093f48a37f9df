"""What the agent signs in with: a run is refused only where it is certain that nothing is there."""

import json
from pathlib import Path

import pytest

from runner.agent.claude.credentials import Credentials, SignIn, find_credentials

CANARY = "canary-4711"


def found(
    home: Path, environ: dict[str, str] | None = None, platform: str = "linux"
) -> Credentials:
    return find_credentials(environ or {}, home=home, platform=platform, managed=home / "managed")


def test_nothing_at_all_is_certain(tmp_path: Path) -> None:
    assert found(tmp_path).state is SignIn.NONE


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    ],
)
def test_a_variable_that_signs_in_is_found_and_its_value_not_shown(
    name: str, tmp_path: Path
) -> None:
    credentials = found(tmp_path, {name: CANARY})
    assert (credentials.state, name in credentials.detail) == (SignIn.FOUND, True)
    assert CANARY not in credentials.detail


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_FOUNDRY_API_KEY",
        "ANTHROPIC_PROFILE",
        "ANTHROPIC_UNIX_SOCKET",
        "AWS_BEARER_TOKEN_BEDROCK",
        "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
        "CLAUDE_CODE_USE_GATEWAY",
        "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
    ],
)
def test_a_variable_that_may_sign_in_leaves_it_open(name: str, tmp_path: Path) -> None:
    credentials = found(tmp_path, {name: CANARY})
    assert (credentials.state, CANARY in credentials.detail) == (SignIn.POSSIBLE, False)


@pytest.mark.parametrize(
    "name",
    ["ANTHROPIC_MODEL", "ANTHROPIC_LOG", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CONFIG_DIR"],
)
def test_a_variable_about_other_things_says_nothing(name: str, tmp_path: Path) -> None:
    assert found(tmp_path, {name: str(tmp_path / "nowhere")}).state is SignIn.NONE


@pytest.mark.parametrize("chosen", [None, "elsewhere"])
def test_a_login_is_found_where_claude_keeps_it(chosen: str | None, tmp_path: Path) -> None:
    folder = tmp_path / (chosen or ".claude")
    folder.mkdir()
    (folder / ".credentials.json").write_text(CANARY)
    environ = {"CLAUDE_CONFIG_DIR": str(folder)} if chosen else {}
    assert found(tmp_path, environ) == Credentials(SignIn.FOUND, "logged in with `claude`")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".claude.json", {"primaryApiKey": CANARY}),
        (".claude.json", {"oauthAccount": {"emailAddress": CANARY}}),
        (".claude/settings.json", {"apiKeyHelper": CANARY}),
        (".claude/settings.json", {"env": {"ANTHROPIC_API_KEY": CANARY}}),
        (".claude/settings.json", [CANARY]),
        (".config/anthropic/credentials.json", {}),
        ("managed/managed-settings.json", {"apiKeyHelper": CANARY}),
    ],
)
def test_a_file_that_may_sign_in_leaves_it_open(path: str, content: object, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / path).write_text(json.dumps(content))
    credentials = found(tmp_path)
    assert (credentials.state, CANARY in credentials.detail) == (SignIn.POSSIBLE, False)


def test_settings_about_other_things_say_nothing(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / ".claude.json").write_text('{"userID": "1"}')
    assert found(tmp_path).state is SignIn.NONE


def test_a_keychain_that_can_not_be_seen_leaves_it_open(tmp_path: Path) -> None:
    assert found(tmp_path, platform="darwin").state is SignIn.POSSIBLE
