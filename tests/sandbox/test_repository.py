"""What of a repository is protected. That the mounts hold is tested in test_probe."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.sandbox.repository import (
    Mount,
    redirections,
    repository_mounts,
    undo_redirections,
    unprotected,
)


def _git_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("[core]\n")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    _git_folder(project / ".git")
    return project


def _read_only(mounts: list[Mount]) -> set[Path]:
    return {mount.path for mount in mounts if not mount.writable}


def test_without_a_repository_there_is_nothing_to_protect(tmp_path: Path) -> None:
    assert repository_mounts(tmp_path) == []


def test_the_repository_is_a_writable_mount_before_its_protected_parts(project: Path) -> None:
    mounts = repository_mounts(project)
    assert mounts[0] == Mount(project / ".git", writable=True)
    assert _read_only(mounts) == {project / ".git" / name for name in ("config", "hooks", "info")}


def test_a_work_tree_configuration_that_git_would_read_exists_to_be_protected(
    project: Path,
) -> None:
    (project / ".git" / "config").write_text("[extensions]\n\tworktreeConfig = true\n")
    assert project / ".git" / "config.worktree" in _read_only(repository_mounts(project))


def test_submodules_are_protected_with_every_folder_on_the_way(project: Path) -> None:
    module = _git_folder(project / ".git" / "modules" / "vendor" / "lib")
    mounts = repository_mounts(project)
    assert {module / "config", module / "hooks"} <= _read_only(mounts)
    writable = {mount.path for mount in mounts if mount.writable}
    assert {module, module.parent, module.parent.parent} <= writable


def test_links_are_never_mounted_but_named(project: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    config = project / ".git" / "config"
    config.unlink()
    config.symlink_to(secret)
    assert {m.path for m in repository_mounts(project)}.isdisjoint({config, secret})
    assert unprotected(project) == [config]


def _linked(tmp_path: Path, back: str) -> tuple[Path, Path]:
    main = _git_folder(tmp_path / "main" / ".git")
    git = main / "worktrees" / "linked"
    project = tmp_path / "linked"
    git.mkdir(parents=True)
    project.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/x\n")
    (git / "commondir").write_text("../..\n")
    (git / "gitdir").write_text(back.format(project=project) + "\n")
    (project / ".git").write_text(f"gitdir: {git}\n")
    return project, main


def test_a_linked_work_tree_can_commit_to_its_repository(tmp_path: Path) -> None:
    project, main = _linked(tmp_path, "{project}/.git")
    mounts = repository_mounts(project)
    assert Mount(main, writable=True) in mounts
    protected = {main / "config", main / "hooks", main / "worktrees" / "linked" / "commondir"}
    assert protected <= _read_only(mounts)


def test_a_folder_that_does_not_point_back_is_not_believed(tmp_path: Path) -> None:
    project, _ = _linked(tmp_path, "/somewhere/else/.git")
    assert repository_mounts(project) == [Mount(project / ".git", writable=False)]


def test_a_submodule_is_believed_when_its_repository_names_it(tmp_path: Path) -> None:
    git = _git_folder(tmp_path / "super" / ".git" / "modules" / "sub")
    project = tmp_path / "super" / "sub"
    project.mkdir()
    (git / "config").write_text("[core]\n\tworktree = ../../../sub\n")
    (project / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert Mount(git, writable=True) in repository_mounts(project)


@pytest.mark.parametrize("name", ["a/b/c/d/e/f/g/h", "sub/modules/inner", "objects/ab", "a"])
@pytest.mark.parametrize("without", ["", "HEAD"])
def test_a_submodule_of_any_name_is_protected(project: Path, name: str, without: str) -> None:
    """Agents could take HEAD away in one session to write the configuration in the next."""
    module = _git_folder(project / ".git" / "modules" / name)
    if without:
        (module / without).unlink()
    assert {module / "config", module / "hooks"} <= _read_only(repository_mounts(project))


def test_a_folder_that_looks_like_a_repository_covers_none_below_it(project: Path) -> None:
    modules = project / ".git" / "modules"
    module = _git_folder(modules / "vendor" / "objects" / "lib")
    (modules / "vendor" / "HEAD").touch()
    assert module / "config" in _read_only(repository_mounts(project))


@pytest.mark.parametrize("of_linked", [False, True])
def test_other_work_trees_of_the_repository_are_protected(
    tmp_path: Path, *, of_linked: bool
) -> None:
    """Git obeys these files in folders that are none of the agent's."""
    linked, main = _linked(tmp_path, "{project}/.git")
    other = main / "worktrees" / "other"
    other.mkdir()
    (tmp_path / "other").touch()
    (other / "gitdir").write_text(f"{tmp_path / 'other'}\n")
    (other / "commondir").write_text("../..\n")
    (main / "config").write_text("[extensions]\n\tworktreeConfig = true\n")
    mounts = repository_mounts(linked if of_linked else main.parent)
    names = ("gitdir", "commondir", "config.worktree")
    assert {other / name for name in names} <= _read_only(mounts)
    assert Mount(other, writable=True) in mounts


def test_a_work_tree_that_is_gone_can_be_pruned(tmp_path: Path) -> None:
    linked, main = _linked(tmp_path, "{project}/.git")
    (linked / ".git").unlink()
    assert not {m for m in repository_mounts(main.parent) if "worktrees" in m.path.parts}


def _redirect(path: Path) -> None:
    path.write_text("../evil\n")


def _redirect_by_a_link(path: Path) -> None:
    path.symlink_to("../not-there-yet")


def _take_the_name(path: Path) -> None:
    _redirect(path)
    (path.parent / "commondir.taken-away-by-runner" / "x").mkdir(parents=True)


def _lock_the_folder(path: Path) -> None:
    _redirect(path)
    path.parent.chmod(0o500)


@pytest.mark.parametrize("make", [_redirect, _redirect_by_a_link, _take_the_name, _lock_the_folder])
@pytest.mark.parametrize("place", ["", "modules/sub", "modules/a/b/c/d/e/f/g"])
def test_a_redirection_made_meanwhile_is_taken_away(
    project: Path, place: str, make: Callable[[Path], None]
) -> None:
    folder = project / ".git" / place
    if place:
        _git_folder(folder)
    before = redirections(project)
    make(folder / "commondir")
    ((path, moved),) = undo_redirections(project, before)
    assert path == folder / "commondir"
    assert not os.path.lexists(path)
    assert moved is not None
    assert os.path.lexists(moved)


def test_a_redirection_of_the_repository_of_a_linked_work_tree_is_taken_away(
    tmp_path: Path,
) -> None:
    project, main = _linked(tmp_path, "{project}/.git")
    before = redirections(project)
    (main / "commondir").write_text("../evil\n")
    assert [path for path, _ in undo_redirections(project, before)] == [main / "commondir"]
    assert (main / "worktrees" / "linked" / "commondir").exists()


def test_a_redirection_that_was_there_before_stays(project: Path) -> None:
    (project / ".git" / "commondir").write_text(".\n")
    assert undo_redirections(project, redirections(project)) == []
    assert (project / ".git" / "commondir").exists()


def test_behind_a_link_nothing_is_taken_away(project: Path, tmp_path: Path) -> None:
    (project / ".git" / "commondir").write_text(".\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").symlink_to(project / ".git")
    assert undo_redirections(other, ()) == []
    assert (project / ".git" / "commondir").exists()
