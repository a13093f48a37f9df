"""A tag that looks like an option: `git diff $(git describe)` must not become `--output`."""

from pathlib import Path

import pytest

from runner.shell_policy.policy import judge_command

SCRIPT = 'tag=$(git describe --tags --abbrev=0); git diff "$tag"'


def allowed(project: Path) -> bool:
    return judge_command(SCRIPT, command="sync", project_dir=project).allowed


def test_a_tag_that_git_prints_may_be_looked_at(project: Path) -> None:
    (project / ".git/packed-refs").write_text("0badc0de refs/tags/v1.0-rc\n")
    assert allowed(project)


def test_a_packed_tag_that_begins_with_a_dash_is_no_operand(project: Path) -> None:
    (project / ".git/packed-refs").write_text("0badc0de refs/tags/--output=/etc/x\n")
    assert not allowed(project)


@pytest.mark.parametrize("kind", ["tags", "heads"])
def test_a_loose_name_that_begins_with_a_dash_is_no_operand(project: Path, kind: str) -> None:
    (project / ".git/refs" / kind / "--output=").mkdir(parents=True)
    assert not allowed(project)


def test_the_tags_of_a_worktree_are_those_of_its_repository(project: Path) -> None:
    main = project / ".git"
    (main / "packed-refs").write_text("0badc0de refs/tags/-x\n")
    (main / "worktrees/w").mkdir(parents=True)
    (main / "worktrees/w/commondir").write_text("../..\n")
    tree = project / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {main}/worktrees/w\n")
    assert not allowed(tree)
