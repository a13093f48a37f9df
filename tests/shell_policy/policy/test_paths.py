"""The path policy: writing, reading, removing; links; names that do not exist yet."""

from pathlib import Path

import pytest

from runner.shell_policy.decision import Mode, PolicyRefusalError, PolicySettings
from runner.shell_policy.paths import PathPolicy
from runner.shell_policy.policy import judge_command
from runner.shell_policy.project_facts import DiskFacts

DESTRUCTIVE = PolicySettings(allow_destructive=True)


@pytest.mark.parametrize("path", ["src/a.py", "new/deep/b.txt", "/tmp/x.log", "/dev/null"])
def test_the_project_and_tmp_may_be_written(project: Path, path: str) -> None:
    PathPolicy.of(DiskFacts.of(project), "run").write(path, ".")


@pytest.mark.parametrize(
    "path",
    ["/etc/x", "../x", "src/../../x", "~/.bashrc", "src/out/x", ".git/config", ".GIT/hooks/x",
     ".runner/status.json", ".Runner/new/x", ".claude/settings.json", "/dev/sda", "a/.git", "./-rf",
     "a --fix", "/tmp/../etc/x", "/proc/self/mem"],
)  # fmt: skip
def test_everything_else_may_not_be_written(project: Path, path: str) -> None:
    with pytest.raises(PolicyRefusalError):
        PathPolicy.of(DiskFacts.of(project), "run").write(path, ".")


def test_a_way_up_is_outside_even_when_it_ends_in_tmp() -> None:
    with pytest.raises(PolicyRefusalError, match="outside"):
        PathPolicy.of(DiskFacts.of("/tmp/some/project"), "run").write("../x", ".")


def test_writing_in_an_unknown_directory_is_refused(project: Path) -> None:
    with pytest.raises(PolicyRefusalError, match="not known"):
        PathPolicy.of(DiskFacts.of(project), "run").write("x", None)


def test_sync_may_write_the_note_alone(project: Path) -> None:
    policy = PathPolicy.of(DiskFacts.of(project), "sync")
    policy.write(".runner-note.md", ".")
    with pytest.raises(PolicyRefusalError, match="read-only"):
        policy.write("src/.runner-note.md", ".")


def test_sync_refuses_a_note_that_is_a_link(project: Path) -> None:
    (project / ".runner-note.md").symlink_to(project / "src/app.py")
    with pytest.raises(PolicyRefusalError):
        PathPolicy.of(DiskFacts.of(project), "sync").write(".runner-note.md", ".")


def test_a_review_may_not_write_the_note(project: Path) -> None:
    with pytest.raises(PolicyRefusalError):
        PathPolicy.of(DiskFacts.of(project), "sync", note=False).write(".runner-note.md", ".")


@pytest.mark.parametrize("path", ["src/a.py", ".env", "/etc/os-release", "/usr/include/stdio.h"])
def test_ordinary_files_may_be_read(project: Path, path: str) -> None:
    PathPolicy.of(DiskFacts.of(project), "run").read(path, ".")


@pytest.mark.parametrize(
    "path",
    ["~/.ssh/id_rsa", "/etc/shadow", "/proc/1/environ", "~/.aws/credentials", "../.env",
     "src/link-to-outside", "src/out/shadow", "/dev/sda", "~/.netrc", "../../x/.git-credentials",
     "/home/u/_work/_temp/_runner_file_commands/set_env_1", "/__w/_temp/git-credentials-1f-2.config",
     "/srv/machine/.credentials", "/srv/machine/.credentials_rsaparams"],
)  # fmt: skip
def test_credentials_and_devices_may_not_be_read(project: Path, path: str) -> None:
    with pytest.raises(PolicyRefusalError):
        PathPolicy.of(DiskFacts.of(project), "run").read(path, ".")


@pytest.mark.parametrize("mode", ["run", "sync"])
def test_a_link_out_of_the_project_is_not_followed(project: Path, mode: Mode) -> None:
    assert not judge_command("cat src/link-to-outside", command=mode, project_dir=project).allowed


@pytest.mark.parametrize("command", ["rm src/a.py", "rm -rf dist", "mv src/a.py src/b.py"])
def test_removing_needs_allow_destructive(project: Path, command: str) -> None:
    plain = judge_command(command, project_dir=project)
    destructive = judge_command(command, project_dir=project, settings=DESTRUCTIVE)
    assert (plain.allowed, destructive.allowed) == (False, True)


def test_the_denial_names_the_flag(project: Path) -> None:
    assert "--allow-destructive" in judge_command("rm a", project_dir=project).reason


@pytest.mark.parametrize(
    "command",
    ["rm -rf .", "rm -rf ./", "rm -rf *", "rm -rf .*", "rm -rf .g*", "rm -rf .git", "rm -rf .RUNNER",
     "rm -rf ..", "rm -rf /", "rm /tmp/../etc/x", 'rm -rf "$PWD"', "mv .git x", "mv src /etc/x",
     "rm -rf src/..", "rmdir /tmp", "rm -rf $UNSET/x"],
)  # fmt: skip
def test_even_then_the_root_and_what_is_protected_stay(project: Path, command: str) -> None:
    assert not judge_command(command, project_dir=project, settings=DESTRUCTIVE).allowed


def test_a_pattern_that_matches_an_option_is_refused(project: Path) -> None:
    before = judge_command("sort *", project_dir=project).allowed
    (project / "-o").write_text("")
    assert (before, judge_command("sort *", project_dir=project).allowed) == (True, False)
