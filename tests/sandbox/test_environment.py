"""Which variables of the user's environment agents and verification get."""

import os
import subprocess
from pathlib import Path

import pytest

from runner.agent.claude.options import AgentSettings
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.process import AgentProcess

SECRET = "correct-horse-0123456789"
CREDENTIALS = (
    "NPM_TOKEN", "NODE_AUTH_TOKEN", "PYPI_TOKEN", "TWINE_PASSWORD", "VAULT_TOKEN",
    "CARGO_REGISTRY_TOKEN", "CARGO_REGISTRIES_MINE_TOKEN", "DOCKER_AUTH_CONFIG", "SSH_AUTH_SOCK",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET",
    "OPENAI_API_KEY", "GOOGLE_API_KEY", "DATABASE_URL", "PGPASSWORD", "STRIPE_SECRET_KEY", "SLACK_TOKEN",
    "HF_TOKEN", "CLOUDFLARE_API_TOKEN", "SENTRY_AUTH_TOKEN", "TF_VAR_db", "GITHUB_TOKEN", "GH_TOKEN",
    "CI_JOB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "BUNDLE_GEM__FURY__IO", "COMPOSER_AUTH", "DIRENV_DIFF",
    "npm_config_//registry.npmjs.org/:_authToken", "COREPACK_NPM_TOKEN", "MISE_GITHUB_TOKEN",
    "HOMEBREW_GITHUB_API_TOKEN", "NIX_CONFIG", "GOAUTH", "GIT_ASKPASS", "GIT_SSH_COMMAND", "LD_PRELOAD",
    "SSLKEYLOGFILE", "BASH_ENV", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "DOCKER_HOST", "KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "MY_OWN_THING", "AUTORUNNER_MODEL",
)  # fmt: skip


@pytest.mark.parametrize("name", CREDENTIALS)
def test_what_is_not_listed_stays_outside(name: str) -> None:
    environ = {name: SECRET}
    assert ALLOWLIST.of_agents(environ) == {}
    assert ALLOWLIST.of_commands(environ) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/home/ada/token=a1b2c3d4e5f6/bin"), ("HOME", "/home/ada"), ("LANG", "C.UTF-8"),
        ("SSL_CERT_FILE", "/etc/ssl/x.pem"), ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ("GOFLAGS", "-mod=mod"), ("GOPROXY", "https://proxy.golang.org,direct"),
        ("RUSTFLAGS", "-D warnings"), ("JAVA_HOME", "/usr/lib/jvm/17"), ("VIRTUAL_ENV", "/p/.venv"),
        ("PYTHONPATH", "/p/src"), ("PYENV_ROOT", "/home/ada/.pyenv"), ("GEM_HOME", "/home/ada/gems"),
        ("DOTNET_ROOT", "/usr/lib/dotnet"), ("COMPOSER_HOME", "/c"), ("CC", "clang"), ("CI", "true"),
        ("GITHUB_ACTIONS", "true"), ("GITHUB_SHA", "3f2b9c0d1e4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c"),
        ("PIP_INDEX_URL", "https://mirror.example.com/simple"), ("https_proxy", "http://proxy:3128"),
        ("CARGO_REGISTRIES_MINE_INDEX", "sparse+https://crates.example.com/"),
    ],
)  # fmt: skip
def test_what_tool_chains_need_enters(name: str, value: str) -> None:
    assert ALLOWLIST.of_agents({name: value}) == {name: value}
    assert ALLOWLIST.of_commands({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAVEN_OPTS", "-Djavax.net.ssl.keyStorePassword=hunter2hunter2"),
        ("PYTHON_THING", "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("LC_ALL", SECRET),
    ],
)
def test_a_credential_under_a_listed_name_stays_outside(name: str, value: str) -> None:
    environ = {name: value, "MY_TOKEN": SECRET}
    assert ALLOWLIST.of_agents(environ) == {}


def test_an_address_enters_without_its_user() -> None:
    environ = {"PIP_INDEX_URL": "https://ada:hunter2@mirror/simple https://a1b2c3d4@other/x"}
    expected = {"PIP_INDEX_URL": "https://mirror/simple https://other/x"}
    assert ALLOWLIST.of_agents(environ) == expected
    assert ALLOWLIST.of_commands(environ) == expected


def test_the_user_of_a_proxy_enters_with_the_agent_alone() -> None:
    environ = {"HTTPS_PROXY": "http://ada:hunter2@proxy:3128"}
    assert ALLOWLIST.of_agents(environ) == environ
    assert ALLOWLIST.of_commands(environ) == {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    "name",
    ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
     "API_TIMEOUT_MS"],
)  # fmt: skip
def test_what_the_agent_signs_in_with_is_the_agents_alone(name: str) -> None:
    assert ALLOWLIST.of_agents({name: "x"}) == {name: "x"}
    assert ALLOWLIST.of_commands({name: "x"}) == {}


@pytest.mark.parametrize(
    ("switch", "name"),
    [
        ("CLAUDE_CODE_USE_BEDROCK", "AWS_SECRET_ACCESS_KEY"),
        ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("CLAUDE_CODE_USE_FOUNDRY", "AZURE_CLIENT_SECRET"),
    ],
)
@pytest.mark.parametrize(("value", "enters"), [("1", True), ("0", False), ("", False)])
def test_a_clouds_credentials_enter_where_the_agent_signs_in_with_them(
    switch: str, name: str, value: str, *, enters: bool
) -> None:
    environ = {switch: value, name: SECRET}
    assert (name in ALLOWLIST.of_agents(environ)) is enters
    assert ALLOWLIST.of_commands(environ) == {}


def test_what_the_user_hands_on_enters_as_it_is() -> None:
    rules = EnvironmentRules(passed=("DATABASE_URL", "MY_*"))
    environ = {"DATABASE_URL": "postgres://a:b@db/x", "MY_TOKEN": SECRET, "OTHER": "x"}
    inside = {"DATABASE_URL": "postgres://a:b@db/x", "MY_TOKEN": SECRET}
    assert rules.of_agents(environ) == inside
    assert rules.of_commands(environ) == inside
    assert rules.left_out(environ) == ["OTHER"]


def test_what_agent_json_names_enters_with_the_agent_alone() -> None:
    rules = EnvironmentRules(named=("TRACKER_KEY",))
    assert rules.of_agents({"TRACKER_KEY": SECRET}) == {"TRACKER_KEY": SECRET}
    assert rules.of_commands({"TRACKER_KEY": SECRET}) == {}


@pytest.mark.parametrize("passed", [("GITHUB_TOKEN", "GITHUB_ENV", "HOOK"), ("G*", "H*")])
def test_a_jobs_means_and_a_webhook_are_never_handed_on(passed: tuple[str, ...]) -> None:
    rules = EnvironmentRules(passed=passed, named=("GITHUB_TOKEN",), never=("HOOK",))
    environ = {"GITHUB_TOKEN": SECRET, "GITHUB_ENV": "/x", "HOOK": "https://example.com/secret"}
    assert rules.of_agents(environ) == {}
    assert rules.of_commands(environ) == {}


@pytest.mark.parametrize("passed", [("ANTHROPIC_API_KEY",), ("ANTHROPIC_*",), ("A*",)])
def test_what_signs_in_is_never_handed_on_to_commands(passed: tuple[str, ...]) -> None:
    assert EnvironmentRules(passed=passed).of_commands({"ANTHROPIC_API_KEY": SECRET}) == {}


def test_the_names_that_are_refused_are_told() -> None:
    rules = EnvironmentRules(passed=("GITHUB_TOKEN", "ANTHROPIC_API_KEY", "MINE", "A*"))
    assert rules.refused({}) == ["ANTHROPIC_API_KEY", "GITHUB_TOKEN"]


def test_gits_settings_enter_without_those_that_sign_in() -> None:
    environ = {
        "GIT_CONFIG_COUNT": "3",
        "GIT_CONFIG_KEY_0": "http.https://github.com/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {SECRET}",
        "GIT_CONFIG_KEY_1": "safe.directory",
        "GIT_CONFIG_VALUE_1": "*",
        "GIT_CONFIG_KEY_2": "core.sshCommand",
        "GIT_CONFIG_VALUE_2": "ssh -i key",
    }
    assert ALLOWLIST.of_commands(environ) == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def _told(launcher: Path, environ: dict[str, str]) -> dict[str, str]:
    done = subprocess.run([launcher], env=environ, capture_output=True, check=True)
    rows = done.stdout.decode(errors="surrogateescape").split("\0")
    return {name: value for name, _, value in (row.partition("=") for row in rows) if name}


def test_a_launched_program_gets_what_is_named() -> None:
    entries = ["KEPT", "CHANGED=other=value", "ALL_OF*", "MISSING"]
    launcher = AgentProcess(["/usr/bin/env", "-0"], entries).launcher
    environ = {
        **os.environ,
        "KEPT": "a\nb\udcff",
        "CHANGED": SECRET,
        "ALL_OF_IT": "1",
        "A_KEY": SECRET,
    }
    assert _told(launcher, environ) == {
        "KEPT": "a\nb\udcff",
        "CHANGED": "other=value",
        "ALL_OF_IT": "1",
    }


def test_a_launcher_without_its_list_starts_nothing() -> None:
    process = AgentProcess(["/usr/bin/env"], ["KEPT"])
    (process.launcher.parent / "environment").unlink()
    done = subprocess.run([process.launcher], capture_output=True, check=False)
    assert (done.returncode != 0, done.stdout) == (True, b"")


def test_a_session_gets_what_it_is_given_and_the_list(tmp_path: Path) -> None:
    environ = {**os.environ, "MY_SECRET": SECRET, "GOPROXY": "https://u:p@mirror", "CLAUDE_X": "1"}
    settings = AgentSettings(tmp_path, tmp_path, {"OF_OURS": "x"})
    entries = settings.environment_entries(environ)
    launcher = AgentProcess(["/usr/bin/env", "-0"], entries).launcher
    told = _told(launcher, {**environ, "OF_OURS": "x", "CLAUDE_OF_THE_SDK": "1"})
    assert "MY_SECRET" not in told
    assert told["GOPROXY"] == "https://mirror"
    assert (told["OF_OURS"], told["CLAUDE_X"], told["CLAUDE_OF_THE_SDK"]) == ("x", "1", "1")
