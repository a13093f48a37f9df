"""What agents can write, followed link by link."""

import os
from pathlib import Path

import pytest

from runner.reach import Reach, reach_of, steps


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def reach(project: Path) -> Reach:
    return Reach((project,))


def test_every_link_on_the_way_is_a_step(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "a").symlink_to("b/../c")
    (tmp_path / "b").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "real")
    walked = [Path(step) for step in steps(tmp_path / "a" / "file") if str(tmp_path) in step]
    names = [str(p.relative_to(tmp_path)) for p in walked if p != tmp_path]
    assert names == ["a", "b", "c", "real", "real/file"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    assert len(list(steps(tmp_path / "a"))) < 100


def test_a_file_outside_is_out_of_reach(tmp_path: Path, reach: Reach) -> None:
    assert reach.problem(tmp_path / "tool") is None


def test_a_folder_with_a_name_that_begins_alike_is_out_of_reach(
    project: Path, reach: Reach
) -> None:
    assert reach.problem(f"{project}-2/tool") is None


@pytest.mark.parametrize("place", ["tool", ".venv/bin/tool", "a/../tool"])
def test_a_file_in_the_project_is_in_reach(project: Path, reach: Reach, place: str) -> None:
    assert reach.problem(project / place) is not None


def test_a_link_into_the_project_is_in_reach(tmp_path: Path, project: Path, reach: Reach) -> None:
    (tmp_path / "tool").symlink_to(project / "tool")
    assert f"by way of {project}" in (reach.problem(tmp_path / "tool") or "")


def test_a_link_of_the_project_that_leads_out_is_in_reach(
    tmp_path: Path, project: Path, reach: Reach
) -> None:
    (tmp_path / "real").touch()
    (project / "tool").symlink_to(tmp_path / "real")
    assert reach.problem(project / "tool") is not None


def test_a_way_through_the_project_and_out_again_is_in_reach(
    tmp_path: Path, project: Path, reach: Reach
) -> None:
    (tmp_path / "real").touch()
    (project / "way").symlink_to(tmp_path)
    (tmp_path / "tool").symlink_to(project / "way" / "real")
    assert reach.problem(tmp_path / "tool") is not None


def test_a_project_named_by_a_link_is_the_same_project(tmp_path: Path, project: Path) -> None:
    (tmp_path / "alias").symlink_to(project)
    assert reach_of(tmp_path / "alias").problem(project / "tool") is not None
    assert reach_of(project).problem(tmp_path / "alias" / "tool") is not None


def test_a_project_under_another_name_is_the_same_project(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a bind mount, or with other capitals on a file system that ignores them."""
    other = tmp_path / "mounted"
    (other / "bin").mkdir(parents=True)
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        return real(project if str(path) == str(other) else path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert reach_of(project).problem(other / "bin" / "git") is not None
    assert reach_of(project, (project / "bin",)).problem(other / "bin" / "git") is None


def test_the_caches_of_all_projects_are_in_reach(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    cache = tmp_path / "caches" / "runner" / "sandbox" / "other-1" / "cargo" / "bin" / "git"
    assert reach_of(project).problem(cache) is not None


def test_the_scratch_folders_of_runs_are_in_reach(reach: Reach) -> None:
    assert reach.problem("/var/tmp/runner-scratch-0-x/tmp/git") is not None


class TestReadOnlyFolders:
    def test_what_is_mounted_read_only_is_out_of_reach(self, project: Path) -> None:
        reach = Reach((project,), (project / "tools" / "venv",))
        assert reach.problem(project / "tools" / "venv" / "bin" / "python") is None

    def test_what_lies_beside_it_is_in_reach(self, project: Path) -> None:
        reach = Reach((project,), (project / "tools" / "venv",))
        assert reach.problem(project / "tools" / "other") is not None

    def test_the_folders_that_hold_it_are_in_reach(self, project: Path) -> None:
        reach = Reach((project,), (project / "tools" / "venv",))
        assert reach.problem(project) is not None
        assert reach.problem(project / "tools") is not None

    def test_a_link_that_leads_to_it_is_in_reach(self, project: Path) -> None:
        (project / "venv").mkdir()
        (project / "link").symlink_to("venv")
        reach = Reach((project,), (project / "venv",))
        assert reach.problem(project / "link" / "bin") is not None


class TestPrograms:
    def test_a_program_of_another_project_is_in_reach(self, tmp_path: Path, reach: Reach) -> None:
        (tmp_path / "other" / ".runner" / "autonomy").mkdir(parents=True)
        assert reach.problem(tmp_path / "other" / "bin" / "git") is None
        assert reach.problem_of_program(tmp_path / "other" / "bin" / "git") is not None

    @pytest.mark.parametrize("kind", ["file", "environment"])
    def test_another_thing_named_like_the_state_folder_means_nothing(
        self, tmp_path: Path, reach: Reach, kind: str
    ) -> None:
        if kind == "file":
            (tmp_path / ".runner").touch()  # of GitHub's own runner
        else:
            (tmp_path / ".runner" / "bin").mkdir(parents=True)  # docs/how-to/install.md
        assert reach.problem_of_program(tmp_path / "bin" / "git") is None

    def test_a_program_in_a_repository_folder_is_in_reach(
        self, tmp_path: Path, reach: Reach
    ) -> None:
        assert reach.problem_of_program(tmp_path / "main" / ".git" / "x" / "git") is not None

    def test_a_program_in_a_shared_folder_is_refused(self, tmp_path: Path, reach: Reach) -> None:
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        assert "everybody" in (reach.problem_of_program(shared / "git") or "")
        (tmp_path / "git").symlink_to(shared / "git")
        assert "everybody" in (reach.problem_of_program(tmp_path / "git") or "")

    def test_a_folder_below_a_shared_one_is_its_owners(self, tmp_path: Path, reach: Reach) -> None:
        assert os.access(tmp_path, os.W_OK)
        assert reach.problem_of_program(tmp_path / "bin" / "git") is None
