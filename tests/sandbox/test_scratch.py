import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runner.sandbox.scratch import (
    claude_config,
    prepare_claude,
    project_state,
    remove_tree,
    scratch,
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_scratch_folder_ends_with_its_run(tmp_path: Path, temporary: Path) -> None:
    with scratch(tmp_path / "project") as made:
        assert made.root.parent == temporary
        (made.tmp / "file").touch()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_run_left_is_swept_and_a_running_one_kept(
    tmp_path: Path, temporary: Path
) -> None:
    with scratch(tmp_path / "project") as running:
        left = temporary / running.root.name.replace(running.root.name[-8:], "leftover")
        left.mkdir()
        (left / "in-use").touch()
        with scratch(tmp_path / "project"):
            assert (left.exists(), running.root.exists()) == (False, True)


def test_a_link_with_a_name_of_ours_is_not_followed(tmp_path: Path, temporary: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "in-use").touch()
    with scratch(tmp_path / "project") as made:
        name = made.root.name
    (temporary / name).symlink_to(precious)
    with scratch(tmp_path / "project"):
        assert (precious / "in-use").exists()


def test_scratch_never_lies_in_the_project(temporary: Path) -> None:
    with scratch(temporary) as made:
        assert not made.root.is_relative_to(temporary)


def test_a_tree_without_permissions_is_removed(tmp_path: Path) -> None:
    inner = tmp_path / "tree" / "work" / "work"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    inner.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_the_agent_gets_the_account_and_nothing_else(tmp_path: Path) -> None:
    account = tmp_path / ".claude.json"
    document = {"oauthAccount": {"id": "a"}, "mcpServers": {"x": {}}, "projects": {"/p": {}}}
    account.write_text(json.dumps(document))
    prepare_claude(tmp_path / "claude", account, tmp_path / ".credentials.json")
    written = json.loads((tmp_path / "claude" / ".claude.json").read_text())
    assert written == {"oauthAccount": {"id": "a"}}


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_an_account_file_that_is_damaged_is_left_out(tmp_path: Path, content: str) -> None:
    (tmp_path / ".claude.json").write_text(content)
    prepare_claude(tmp_path / "claude", tmp_path / ".claude.json", tmp_path / "none")
    assert list((tmp_path / "claude").iterdir()) == []


def test_credentials_get_a_place_to_be_mounted_and_are_not_copied(tmp_path: Path) -> None:
    credentials = tmp_path / ".credentials.json"
    credentials.write_text("secret")
    prepare_claude(tmp_path / "claude", tmp_path / "none", credentials)
    assert (tmp_path / "claude" / ".credentials.json").read_text() == ""


def test_the_users_folder_of_claude_code_is_where_the_environment_says(tmp_path: Path) -> None:
    assert claude_config({}, tmp_path) == (tmp_path / ".claude", tmp_path / ".claude.json")
    moved = claude_config({"CLAUDE_CONFIG_DIR": str(tmp_path / "c")}, Path("/home/x"))
    assert moved == (tmp_path / "c", tmp_path / "c" / ".claude.json")


@pytest.mark.process
def test_a_tree_that_is_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    """An agent that leaves one must not keep this and every later run from starting."""
    script = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"
    (tmp_path / "tree").mkdir()
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "tree", check=True)
    try:
        remove_tree(tmp_path / "tree")
        assert not (tmp_path / "tree").exists()
    finally:  # pytest could not remove it either
        subprocess.run(["rm", "-rf", tmp_path / "tree"], check=True)


def test_what_a_link_leads_to_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "inner").symlink_to("..")
    remove_tree(tmp_path / "link")
    assert (tmp_path / "real" / "inner").is_symlink()
    remove_tree(tmp_path / "real")
    assert tmp_path.exists()


@pytest.mark.parametrize("place", ["cache", "link/cache"])
def test_no_cache_is_kept_where_agents_could_replace_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """It is mounted writable: a link in its place would have them write anywhere."""
    project = tmp_path / "app"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / place))
    assert project_state(project) is None


def test_two_projects_of_one_name_keep_their_caches_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folders = {project_state(tmp_path / name / "app") for name in ("one", "two")}
    assert len(folders) == 2
    assert None not in folders


def test_a_home_that_is_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert (project_state(tmp_path / "app"), home.exists()) == (None, False)


def test_without_a_writable_cache_there_is_no_folder_to_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    assert project_state(tmp_path / "app") is None


def test_folders_as_deep_as_an_agent_likes_are_removed(tmp_path: Path) -> None:
    top = tmp_path / "tree"
    top.mkdir()
    deep = os.open(top, os.O_RDONLY)
    for _ in range(2500):  # beyond the recursion limit, and beyond the longest path
        os.mkdir("d", dir_fd=deep)
        inner = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    remove_tree(top)
    assert not top.exists()
