"""Which credential files are hidden: the list of the home folder, and what variables name."""

from pathlib import Path

import pytest

from runner.sandbox import secrets
from runner.sandbox.secrets import NAMING_FILES, secret_paths


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


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Give a credential file that lies in no place of the list."""
    path = tmp_path / "elsewhere" / "key"
    path.parent.mkdir()
    path.touch()
    return path


def test_what_is_there_and_secret_is_named(home: Path) -> None:
    names = {path.name for path in secret_paths(home, {})}
    assert names == {".ssh", ".aws", ".netrc", ".env.production", "runner"}


def test_our_own_secret_is_hidden_before_it_is_made(home: Path, state: Path) -> None:
    assert state in set(secret_paths(home, {}))


@pytest.mark.parametrize(
    ("value", "signs_in", "hidden"), [("1", True, False), ("0", True, True), ("1", False, True)]
)
def test_what_claude_code_signs_in_with_is_left_to_it_alone(
    home: Path, value: str, *, signs_in: bool, hidden: bool
) -> None:
    found = secret_paths(home, {"CLAUDE_CODE_USE_BEDROCK": value}, signs_in=signs_in)
    assert (home / ".aws" in set(found)) is hidden


def test_a_link_is_followed_to_the_secret_itself(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.write_text("token")
    (home / ".npmrc").symlink_to(elsewhere)
    assert elsewhere in set(secret_paths(home, {}))


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("XDG_CONFIG_HOME", "gh"), ("XDG_DATA_HOME", "keyrings"), ("XDG_CACHE_HOME", "huggingface/token"),
        ("CARGO_HOME", "credentials.toml"), ("GRADLE_USER_HOME", "gradle.properties"),
        ("COMPOSER_HOME", "auth.json"), ("HF_HOME", "token"),
    ],
)  # fmt: skip
def test_a_part_of_the_home_folder_that_was_moved_is_hidden_there(
    home: Path, tmp_path: Path, variable: str, place: str
) -> None:
    path = tmp_path / "moved" / place
    path.parent.mkdir(parents=True)
    path.touch()
    assert path in set(secret_paths(home, {variable: str(tmp_path / "moved")}))


@pytest.mark.parametrize("name", NAMING_FILES)
def test_what_a_variable_names_is_hidden(home: Path, key: Path, name: str) -> None:
    assert key in set(secret_paths(home, {name: str(key)}))


@pytest.mark.parametrize(
    "name",
    ["MY_SERVICE_KEY_FILE", "SIGNING_KEY_PATH", "DB_PASSWORD_FILE", "TOKEN_PATH", "SERVICE_CREDENTIALS",
     "SOPS_AGE_KEY_FILE", "HF_TOKEN_PATH", "VAULT_CLIENT_KEY", "SECRETS_FILE", "APP_PRIVATE_PEM"],
)  # fmt: skip
def test_a_file_that_a_variable_of_any_secret_name_names_is_hidden(
    home: Path, key: Path, name: str
) -> None:
    assert key in set(secret_paths(home, {name: str(key)}))


@pytest.mark.parametrize("form", ["{0}:/nowhere", "/nowhere:{0}", " {0} "])
def test_every_file_of_a_list_is_hidden(home: Path, key: Path, form: str) -> None:
    assert key in set(secret_paths(home, {"KUBECONFIG": form.format(key)}))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("SSH_AUTH_SOCK", "{0}"), ("DOCKER_HOST", "unix://{0}"), ("GPG_AGENT_INFO", "{0}:123:1"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path={0},guid=1"), ("KRB5CCNAME", "FILE:{0}"),
        ("TMUX", "{0},1,0"),
    ],
)  # fmt: skip
def test_a_path_among_other_words_is_found(home: Path, key: Path, name: str, form: str) -> None:
    assert key in set(secret_paths(home, {name: form.format(key)}))


def test_a_name_in_the_home_folder_and_one_relative_to_the_project_are_found(
    home: Path, tmp_path: Path
) -> None:
    (home / "mine").touch()
    project = tmp_path / "project"
    project.mkdir()
    (project / "key.json").touch()
    environ = {"HOME": str(home), "NETRC": "~/mine", "GOOGLE_APPLICATION_CREDENTIALS": "key.json"}
    found = set(secret_paths(home, environ, project=project))
    assert {home / "mine", project / "key.json"} <= found


def test_a_key_is_found_by_a_relative_path(home: Path, tmp_path: Path) -> None:
    (tmp_path / "project" / "conf").mkdir(parents=True)
    path = tmp_path / "project" / "conf" / "token"
    path.touch()
    environ = {"DEPLOY_TOKEN_FILE": "conf/token"}
    assert path in set(secret_paths(home, environ, project=tmp_path / "project"))


def test_what_is_handed_on_stays_readable(home: Path, key: Path) -> None:
    environ = {"KUBECONFIG": str(key)}
    assert key not in set(secret_paths(home, environ, needs=lambda name: name == "KUBECONFIG"))


@pytest.mark.parametrize(
    "value", ["/dev/null", "/", "/etc", "/usr", "", "\0", "x" * 5000, "{home}", "{path}"]
)
def test_what_everything_needs_is_never_hidden(home: Path, tmp_path: Path, value: str) -> None:
    tools = tmp_path / "tools" / "bin"
    tools.mkdir(parents=True)
    before = set(secret_paths(home, {}))
    named = value.format(home=home, path=tools.parent)
    environ = {"KUBECONFIG": named, "MY_TOKEN": named, "XDG_RUNTIME_DIR": named, "PATH": str(tools)}
    assert set(secret_paths(home, environ)) == before


def test_a_secret_that_is_no_path_is_not_looked_for(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "README").touch()
    monkeypatch.chdir(tmp_path)
    assert tmp_path / "README" not in set(secret_paths(home, {"CACHE_KEY": "README"}))
