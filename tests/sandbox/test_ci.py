"""What a CI job holds is kept from agents; the commands run in the real bubblewrap where it starts."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.sandbox.test_probe import AGENT, contains, run

from runner.agent.claude.options import AgentSettings
from runner.marker import Instruction
from runner.sandbox.ci import ci_secrets, is_ci_variable, job_folder
from runner.sandbox.environment import ALLOWLIST
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.process import AgentProcess
from runner.sandbox.sdk import sdk_sandbox
from runner.sandbox.status import Containment
from runner.sandbox.tokens import configuration_with_token

ROOT = Path(__file__).parents[2]
HEADER = '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic eDp5\n'


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
        "GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_OF_NEXT_YEAR", "CI_JOB_TOKEN", "CI_REPOSITORY_URL", "SYSTEM_ACCESSTOKEN",
    ],
)  # fmt: skip
def test_a_jobs_tokens_and_files_are_named(name: str) -> None:
    assert is_ci_variable(name)


@pytest.mark.parametrize("name", ["GITHUB_SHA", "GITHUB_ACTIONS", "CI", "ANTHROPIC_API_KEY"])
def test_what_says_only_where_one_is_may_stay(name: str) -> None:
    assert not is_ci_variable(name)


@pytest.mark.parametrize("named", ["", "relative", "/nowhere/at/all"])
def test_a_job_folder_that_is_none_is_left_alone(named: str) -> None:
    assert job_folder({"RUNNER_TEMP": named}) is None


def test_without_bubblewrap_the_files_themselves_are_named(tmp_path: Path) -> None:
    commands, token = tmp_path / "_runner_file_commands", tmp_path / "git-credentials-1.config"
    commands.mkdir()
    token.touch()
    (tmp_path / "program").mkdir()
    environ = {"RUNNER_TEMP": str(tmp_path), "ACTIONS_RUNTIME_TOKEN": "x"}
    assert set(ci_secrets(environ)) == {commands, token}
    settings = sdk_sandbox(tmp_path / "project", tmp_path, environ, read_only=False)
    assert str(commands) in settings["filesystem"]["denyRead"]


def test_what_a_machine_signs_in_with_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "_work/_temp"
    folder.mkdir(parents=True)
    assert tmp_path / ".credentials_rsaparams" in set(ci_secrets({"RUNNER_TEMP": str(folder)}))


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a job in a home folder, which an agent can otherwise read."""
    home = tmp_path / "home"
    folder = home / "machine/_work/_temp"
    for name in ("_runner_file_commands", "tools/bin", "project"):
        (folder / name).mkdir(parents=True)
    (folder / "_runner_file_commands/set_env_1").write_text("canary")
    (folder / "git-credentials-1.config").write_text("canary")
    (folder / "of-another-step").write_text("canary")
    (home / "machine/.credentials").write_text("canary")
    tool = folder / "tools/bin/a-tool"
    tool.write_text("#!/bin/sh\necho works\n")
    tool.chmod(0o755)
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("RUNNER_TEMP", str(folder))
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_ENV", str(folder / "_runner_file_commands/set_env_1"))
    monkeypatch.setenv("ACTIONS_OF_NEXT_YEAR", "canary")
    return folder


@pytest.fixture
def box(job: Path, tmp_path: Path) -> Iterator[Containment]:
    assert job.is_dir()
    with contained(ContainmentRequest(tmp_path / "project", AGENT)) as containment:
        yield containment


SESSIONS = pytest.mark.parametrize("session", [Instruction.CODING, Instruction.VERIFY])


@pytest.mark.process
@contains
@SESSIONS
def test_a_jobs_files_and_credentials_are_hidden(
    box: Containment, job: Path, session: Instruction
) -> None:
    places = f"{job}/_runner*/* {job}/git-* {job}/of-* {job}/../../.cred*"
    said = run(box, session, f"ls {job}; cat {places} 2>/dev/null")
    assert "tools" in said.splitlines()
    assert "of-another-step" not in said
    assert "canary" not in said


@pytest.mark.process
@contains
def test_the_runners_own_commands_see_no_more_of_a_job(box: Containment, job: Path) -> None:
    look = box.wrap_verification(["/bin/sh", "-c", f"cat {job}/*/* {job}/*; env"])
    inside = ALLOWLIST.of_commands(os.environ)
    said = subprocess.run(look, env=inside, capture_output=True, text=True, check=False).stdout
    assert f"HOME={job.parents[2]}" in said
    assert "canary" not in said


@pytest.mark.process
@contains
@SESSIONS
def test_a_jobs_folder_can_not_be_written(
    box: Containment, job: Path, session: Instruction
) -> None:
    said = run(box, session, f"( : > {job}/_runner_file_commands/x ) 2>/dev/null || "
               f"( : > {job}/x ) 2>/dev/null || echo refused")  # fmt: skip
    assert said == "refused\n"


@pytest.mark.process
@contains
def test_programs_of_earlier_steps_still_run(box: Containment) -> None:
    assert run(box, Instruction.CODING, "a-tool") == "works\n"


@pytest.mark.process
@contains
def test_programs_of_earlier_steps_still_run_outside_of_tmp(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where GitHub has it. What lies under /tmp is put back for another reason.
    with TemporaryDirectory(prefix=".job-", dir=ROOT) as folder:
        shutil.copytree(job, folder, dirs_exist_ok=True)
        monkeypatch.setenv("RUNNER_TEMP", folder)
        monkeypatch.setenv("PATH", f"{folder}/tools/bin{os.pathsep}{os.defpath}")
        with contained(ContainmentRequest(tmp_path / "project", AGENT)) as containment:
            said = run(containment, Instruction.CODING, f"a-tool; cat {folder}/of-another-step")
    assert said.startswith("works\n")
    assert "canary" not in said


@pytest.mark.process
@contains
def test_programs_that_want_the_jobs_folder_get_scratch(box: Containment) -> None:
    assert run(box, Instruction.CODING, ': > "$RUNNER_TEMP/x"; ls /tmp/x') == "/tmp/x\n"


@pytest.mark.process
@contains
def test_a_jobs_variables_are_gone(box: Containment) -> None:
    assert run(box, Instruction.CODING, "echo $GITHUB_ENV$ACTIONS_OF_NEXT_YEAR") == "\n"


@pytest.mark.process
@contains
def test_a_project_in_the_jobs_folder_can_be_worked_on(job: Path) -> None:
    with contained(ContainmentRequest(job / "project", AGENT)) as containment:
        said = run(containment, Instruction.CODING, ": > made; cat ../of-another-step")
    assert (job / "project/made").exists()
    assert "canary" not in said


@pytest.mark.process
@contains
@pytest.mark.parametrize("place", ["/", "/tmp", "home", "inside"])
def test_a_folder_that_can_not_be_missed_is_not_hidden(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "project/inside").mkdir()
    (tmp_path / "home/kept").write_text("kept\n")
    folder = {"home": job.parents[2], "inside": tmp_path / "project/inside"}.get(place, Path(place))
    monkeypatch.setenv("RUNNER_TEMP", str(folder))
    with contained(ContainmentRequest(tmp_path / "project", AGENT)) as containment:
        assert run(containment, Instruction.CODING, ': > made && cat "$HOME/kept"') == "kept\n"


def test_without_a_sandbox_the_jobs_variables_are_gone_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_ENV", "canary")
    monkeypatch.setenv("ACTIONS_OF_NEXT_YEAR", "canary")
    monkeypatch.setenv("GOFLAGS", "kept")
    script = "echo $GITHUB_ENV$ACTIONS_OF_NEXT_YEAR$GOFLAGS"
    entries = AgentSettings(Path(), Path()).environment_entries(os.environ)
    launcher = AgentProcess(["/bin/sh", "-c", script], entries).launcher
    assert subprocess.run([launcher], capture_output=True, check=True).stdout == b"kept\n"


def repository(project: Path, configuration: str) -> Path:
    (project / ".git").mkdir(parents=True)
    (project / ".git/config").write_text(f"[core]\n\tbare = false\n{configuration}")
    return project


@pytest.mark.parametrize(
    "configuration",
    [
        HEADER,
        '[remote "origin"]\n\turl = https://gitlab-ci-token:abc@gitlab.com/a/b.git\n',
        '[remote "origin"]\n\turl = https://github_pat_abc@github.com/a/b.git\n',
        '[url "https://x-access-token:abc@github.com/"]\n\tinsteadOf = https://github.com/\n',
    ],
)
def test_a_token_in_the_repository_is_found(tmp_path: Path, configuration: str) -> None:
    assert configuration_with_token(repository(tmp_path, configuration)) == tmp_path / ".git/config"


@pytest.mark.parametrize(
    "configuration",
    [
        '[remote "origin"]\n\turl = https://github.com/a/b.git\n',
        '[remote "origin"]\n\turl = ssh://git@github.com:22/a/b.git\n',
        '[remote "origin"]\n\turl = git@github.com:a/b.git\n',
        '[http "https://github.com/"]\n\textraheader = X-Trace: on\n',
    ],
)
def test_addresses_without_a_token_are_none(tmp_path: Path, configuration: str) -> None:
    assert configuration_with_token(repository(tmp_path, configuration)) is None


def test_a_token_is_found_from_a_folder_of_the_repository(tmp_path: Path) -> None:
    repository(tmp_path, HEADER)
    (tmp_path / "packages/a").mkdir(parents=True)
    assert configuration_with_token(tmp_path / "packages/a") == tmp_path / ".git/config"


def test_a_token_is_found_from_a_linked_work_tree(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", HEADER)
    own = main / ".git/worktrees/tree"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text(f"gitdir: {own}\n")
    assert configuration_with_token(tmp_path / "tree") == main / ".git/config"


@pytest.mark.process
@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_ci_run_warns_of_a_token(tmp_path: Path, platform: str, *, wanted: bool) -> None:
    project = repository(tmp_path / "project", HEADER)
    environ = {**os.environ, "CI": "true", "HOME": str(tmp_path)}
    request = ContainmentRequest(
        project, AGENT, environ, wanted=wanted, required=False, platform=platform
    )  # fmt: skip
    with contained(request) as containment:
        found = [one.text for one in containment.cautions]
    assert f"{project}/.git/config holds a token that agents can read." in found


def test_a_persons_own_token_is_theirs(tmp_path: Path) -> None:
    project = repository(tmp_path / "project", HEADER)
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with contained(ContainmentRequest(project, AGENT, environ, platform="darwin")) as containment:
        assert containment.cautions == ()


def test_a_job_folder_inside_the_project_is_warned_of(tmp_path: Path) -> None:
    folder = tmp_path / "project/_temp"
    folder.mkdir(parents=True)
    environ = {"HOME": str(tmp_path), "CI": "true", "RUNNER_TEMP": str(folder)}
    request = ContainmentRequest(tmp_path / "project", AGENT, environ, platform="darwin")
    with contained(request) as containment:
        assert [str(folder) in one.text for one in containment.cautions] == [True]
