"""The policy refuses what the sandbox hides: both have one list."""

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.decision import Mode, PolicyRefusalError
from runner.shell_policy.paths import PathPolicy
from runner.shell_policy.policy import judge_command
from runner.shell_policy.private_files import ALSO_IN_PROJECTS, IN_HOME

SEEN_TO_BE_READ = (
    "~/.gemini/oauth_creds.json", "~/.local/share/opencode/auth.json", "~/.pi/agent/auth.json",
    "~/.cache/huggingface/token", "~/.huggingface/token", "~/.fly/config.yml",
    "~/.config/stripe/config.toml", "~/.config/sops/age/keys.txt", "~/.config/hcloud/cli.toml",
    "~/.databrickscfg", "~/.snowflake/config.toml", "~/.local/share/com.vercel.cli/auth.json",
    "~/.config/Code/User/globalStorage/state.vscdb", "~/.wakatime.cfg",
    "~/.config/google-chrome/Default/Cookies", "~/.config/doctl/config.yaml", "~/.boto",
    "~/.terraform.d/credentials.tfrc.json", "~/.pip/pip.conf", "~/.config/pip/pip.conf",
    "~/.netlify/config.json", "~/.terraformrc", "~/.m2/settings-security.xml", "~/.sentryclirc",
    "~/.oci/config", "~/.codex/auth.json", "~/.sqlite_history", "~/.lesshst", "~/.viminfo",
    "~/.mycli-history", "~/.cursor/cli-config.json",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["run", "sync"])
@pytest.mark.parametrize("path", SEEN_TO_BE_READ)
def test_a_credential_file_is_not_read(path: str, mode: Mode) -> None:
    for text in (f"cat {path}", f"cat {path.replace('~', '/home/ada')}", f"cp {path} x"):
        assert not judge_command(text, command=mode, project_dir="/srv/app").allowed, text


@pytest.mark.parametrize("entry", IN_HOME)
def test_every_entry_is_refused_in_the_home_folder(entry: str) -> None:
    with pytest.raises(PolicyRefusalError):
        PathPolicy.of(MemoryFacts(), "run").read(f"~/{entry}", ".")


@pytest.mark.parametrize("entry", sorted(ALSO_IN_PROJECTS))
def test_a_project_may_have_files_of_such_names(entry: str) -> None:
    PathPolicy.of(MemoryFacts(), "run").read(f"web/{entry}", ".")


@pytest.mark.parametrize(
    "text", ["ls *", "ls -a", "ls .cache/*", "cat src/*.py", "ls .config/app/*.json"]
)
def test_everyday_patterns_stay_allowed(text: str) -> None:
    assert judge_command(text, project_dir="/srv/app").allowed


def test_the_only_names_outside_of_the_list_are_its_own() -> None:
    assert set(IN_HOME) >= ALSO_IN_PROJECTS
