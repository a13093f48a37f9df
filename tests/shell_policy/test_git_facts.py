"""What git holds of the protected files, read without git, against git itself."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.shell_policy.git_facts import INDEX, GitFacts

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Runs git in a new repository that obeys no settings of this machine."""
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip
    project = tmp_path / "project"
    project.mkdir()

    def run(*words: str, cwd: Path = project) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd, env=environ, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    return run


@pytest.fixture
def project(tmp_path: Path, git: Git) -> Path:
    """A repository with four commits; the second brings a protected file, the third changes it."""
    root = tmp_path / "project"
    for number, files in enumerate(
        ({"a.py": "1"}, {".runner/status.json": "{}"}, {".runner/status.json": "[]" * 900},
         {"a.py": "2", ".runner/agent.json": "{}"}),
        start=1,
    ):  # fmt: skip
        for name, text in files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", str(number))
    return root


def listed(git: Git, revision: str) -> set[tuple[str, str]]:
    lines = git("ls-tree", "-r", revision, "--", ".runner").splitlines()
    return {(line.split("\t")[1], line.split()[2]) for line in lines}


def found(project: Path, where: str) -> set[tuple[str, str]] | None:
    files = GitFacts.of(str(project)).guarded_files(where)
    return None if files is None else set(files)


REVISIONS = ["HEAD", "@", "main", "HEAD~1", "HEAD^", "HEAD~3", "main~2^1", "refs/heads/main", "HEAD@{1}"]  # fmt: skip


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_means_what_git_says(project: Path, git: Git, revision: str) -> None:
    assert found(project, revision) == listed(git, revision)


@pytest.mark.parametrize("revision", [*REVISIONS, "v1", "v2"])
def test_a_packed_repository_is_read_as_well(project: Path, git: Git, revision: str) -> None:
    git("tag", "v1", "HEAD~1")
    git("tag", "-a", "-m", "x", "v2", "HEAD~2")
    git("gc", "-q", "--aggressive")
    git("pack-refs", "--all")
    assert found(project, revision) == listed(git, revision)


def test_a_short_hash_is_found_loose_and_packed(project: Path, git: Git) -> None:
    short = git("rev-parse", "--short=8", "HEAD~1")
    loose = found(project, short)
    git("gc", "-q")
    assert loose == found(project, short) == listed(git, short)


@pytest.mark.parametrize("version", ["2", "4"])
def test_the_index_is_read(project: Path, git: Git, version: str) -> None:
    git("update-index", "--index-version", version)
    assert found(project, INDEX) == listed(git, "HEAD")


def test_a_split_index_is_unknown(project: Path, git: Git) -> None:
    git("update-index", "--split-index")
    assert found(project, INDEX) is None


def test_what_is_no_revision_is_unknown(project: Path) -> None:
    assert [found(project, name) for name in ("nothing", "HEAD:a.py", "a..b", ":/x")] == [None] * 4


def test_the_branch_before_is_named_by_a_dash(project: Path, git: Git) -> None:
    git("checkout", "-q", "-b", "side", "HEAD~3")
    assert found(project, "-") == listed(git, "main") != listed(git, "HEAD")


def test_a_repository_without_commits_holds_nothing(tmp_path: Path, git: Git) -> None:
    git("status")
    facts = GitFacts.of(str(tmp_path / "project"))
    assert (facts.guarded_files("HEAD"), facts.guarded_unchanged()) == (frozenset(), True)


def test_a_folder_without_a_repository_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, "main") == set()


def test_a_project_below_the_root_of_a_repository(project: Path, git: Git) -> None:
    inner = project / "inner"
    (inner / ".runner").mkdir(parents=True)
    (inner / ".runner/status.json").write_text("x")
    git("add", "-A")
    git("commit", "-q", "-m", "inner")
    expected = {(".runner/status.json", git("rev-parse", "HEAD:inner/.runner/status.json"))}
    assert (found(inner, "HEAD"), found(inner, INDEX)) == (expected, expected)


def test_a_linked_work_tree_reads_the_common_objects(project: Path, git: Git) -> None:
    git("worktree", "add", "-q", "../linked", "HEAD~1")
    linked = project.parent / "linked"
    assert found(linked, "HEAD") == listed(git, "HEAD~1")


def test_protected_files_that_are_as_committed_are_unchanged(project: Path) -> None:
    assert GitFacts.of(str(project)).guarded_unchanged()


@pytest.mark.parametrize("staged", [True, False])
def test_a_changed_protected_file_is_told(project: Path, git: Git, staged: bool) -> None:
    (project / ".runner/agent.json").write_text("[]")
    if staged:
        git("add", "-A")
    assert not GitFacts.of(str(project)).guarded_unchanged()


def test_a_damaged_repository_is_unknown(project: Path) -> None:
    for path in (project / ".git/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"damage")
    (project / ".git/index").write_bytes(b"damage")
    assert (found(project, "HEAD"), found(project, INDEX)) == (None, None)
