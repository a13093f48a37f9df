"""`sync --commit` starts no program that the repository names, and writes through no link."""

import os
import subprocess
from pathlib import Path

import pytest

from runner.app.sync_commit import commit_results
from runner.errors import PrerequisiteError

FILES = [".runner-note.md", ".runner/status.json"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of a user who has a name."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".gitconfig").write_text("[user]\n\tname = A User\n\temail = user@localhost\n")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".runner").mkdir(parents=True)
    (folder / ".runner" / "status.json").write_text("{}")
    (folder / ".runner-note.md").write_text("note\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def committed(project: Path) -> list[str]:
    """Return the files of the last commit that differ from the one before."""
    return sorted(git(project, "show", "--name-only", "--format=", "HEAD").split())


def a_trap(project: Path) -> str:
    """Return a program of the project that leaves a trace."""
    program = project / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {project.parent}/sprung\ncat\n")
    program.chmod(0o755)
    return str(program)


def sprung(project: Path) -> bool:
    return (project.parent / "sprung").exists()


def test_the_first_commit_of_a_repository_holds_the_two_files(project: Path) -> None:
    commit_results(project)
    assert committed(project) == FILES
    assert git(project, "status", "--porcelain") == ""


def test_it_is_the_users_commit_on_the_branch(project: Path) -> None:
    commit_results(project)
    assert git(project, "log", "-1", "--format=%an <%ae> %s", "main") == (
        "A User <user@localhost> Sync deliverables with SPEC.md"
    )


def test_what_else_is_staged_or_changed_stays_as_it_is(project: Path) -> None:
    (project / "a.txt").write_text("1\n")
    (project / "b.txt").write_text("1\n")
    git(project, "add", "a.txt", "b.txt")
    git(project, "commit", "--quiet", "--message", "before")
    (project / "a.txt").write_text("2\n")
    git(project, "add", "a.txt")
    (project / "b.txt").write_text("2\n")
    commit_results(project)
    assert committed(project) == FILES
    assert git(project, "status", "--porcelain").split("\n") == ["M  a.txt", " M b.txt"]


def test_a_change_in_the_second_of_the_last_add_stays_in_the_status(project: Path) -> None:
    """git tells such a change by the time of the index, which must not become newer."""
    git(project, "config", "core.trustctime", "false")
    moment = (1_700_000_000, 1_700_000_000)
    (project / "b.txt").write_text("1\n")
    os.utime(project / "b.txt", moment)
    git(project, "add", "b.txt")
    git(project, "commit", "--quiet", "--message", "before")
    (project / "b.txt").write_text("2\n")
    os.utime(project / "b.txt", moment)
    os.utime(project / ".git" / "index", moment)
    commit_results(project)
    assert git(project, "status", "--porcelain") == "M b.txt"


def test_nothing_new_makes_no_commit(project: Path) -> None:
    commit_results(project)
    commit_results(project)
    assert git(project, "rev-list", "--count", "HEAD") == "1"


def test_a_project_in_a_folder_of_a_repository_commits_there(project: Path) -> None:
    inner = project / "sub" / "app"
    (inner / ".runner").mkdir(parents=True)
    (inner / ".runner" / "status.json").write_text("{}")
    commit_results(inner)
    assert committed(project) == ["sub/app/.runner/status.json"]


@pytest.mark.parametrize("where", ["config", "included"])
def test_programs_of_the_configuration_are_not_started(project: Path, where: str) -> None:
    trap = a_trap(project)
    text = (
        f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n\teditor = {trap}\n\tsshCommand = {trap}\n"
        f'[filter "x"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n'
        f"[gpg]\n\tprogram = {trap}\n[commit]\n\tgpgSign = true\n[diff]\n\texternal = {trap}\n"
    )
    (project / ".gitattributes").write_text("* filter=x\n")
    if where == "config":
        with (project / ".git" / "config").open("a") as config:
            config.write(text)
    else:
        (project / "shared.gitconfig").write_text(text)
        git(project, "config", "include.path", "../shared.gitconfig")
    commit_results(project)
    assert not sprung(project)
    assert (project / ".git" / "refs" / "heads" / "main").exists()


def test_hooks_are_not_started(project: Path) -> None:
    hooks = project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction",
                 "post-index-change", "prepare-commit-msg"):  # fmt: skip
        (hooks / name).symlink_to(a_trap(project))
    commit_results(project)
    assert not sprung(project)


def test_a_submodule_that_an_agent_made_is_not_entered(project: Path) -> None:
    trap, inner = a_trap(project), project / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    git(inner, "commit", "--quiet", "--allow-empty", "--message", "x")
    git(project, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(inner, "config", "core.fsmonitor", trap)
    commit_results(project)
    assert not sprung(project)


def test_git_of_the_project_is_not_started(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "bin").mkdir()
    (project / "bin" / "git").symlink_to(a_trap(project))
    monkeypatch.setenv("PATH", f"{project}/bin{os.pathsep}{os.environ['PATH']}")
    commit_results(project)
    assert not sprung(project)


@pytest.mark.parametrize(
    "place", ["logs/HEAD", "logs/refs/heads/main", "logs", "refs/heads", "index"]
)
def test_nothing_is_written_through_a_link(project: Path, tmp_path: Path, place: str) -> None:
    commit_results(project)
    (project / ".runner" / "status.json").write_text('{"new": 1}')
    link = project / ".git" / place
    aside = tmp_path / "elsewhere"
    link.rename(aside)
    before = aside.read_bytes() if aside.is_file() else sorted(aside.rglob("*"))
    link.symlink_to(aside)
    with pytest.raises(PrerequisiteError):
        commit_results(project)
    assert before == (aside.read_bytes() if aside.is_file() else sorted(aside.rglob("*")))


def test_without_a_repository_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="in no git repository"):
        commit_results(tmp_path)


@pytest.mark.parametrize("target", ["../home/key", "key"])
def test_what_a_note_links_to_is_not_committed(project: Path, home: Path, target: str) -> None:
    """An agent could read it in the repository."""
    (home / "key").write_text("secret")
    (project / "key").write_text("secret")
    (project / ".runner-note.md").unlink()
    (project / ".runner-note.md").symlink_to(target)
    with pytest.raises(PrerequisiteError, match="symbolic link"):
        commit_results(project)
