"""A project is opened once, and handed on."""

import os
from pathlib import Path

import pytest

from runner.app.job import Job, environment_rules, startup_facts
from runner.app.reviewers import open_plane
from runner.config.options import RUN_OPTIONS, RunOptions
from runner.config.resolve import choose
from runner.config.runner_file import RunnerFile, parse_runner_file
from runner.errors import ConfigError, PrerequisiteError
from runner.project import Project


def _file(project: Path, name: str, text: str) -> Path:
    (project / ".runner").mkdir(exist_ok=True)
    path = project / ".runner" / name
    path.write_text(text, encoding="utf-8")
    return path


def test_runner_toml_is_the_one_that_the_options_were_read_from(tmp_path: Path) -> None:
    path = _file(tmp_path, "runner.toml", "[budget]\ntotal = 5\n")
    project = Project.of(choose(RUN_OPTIONS, {"project_dir": tmp_path}, {}), {})
    path.write_text("[budget]\ntotal = 6\n", encoding="utf-8")
    assert project.file.budget.total == 5


def test_the_configuration_is_read_once(tmp_path: Path) -> None:
    toml = _file(tmp_path, "runner.toml", "[budget]\ntotal = 5\n")
    agent = _file(tmp_path, "agent.json", "{}")
    project = Project(tmp_path, {})
    before = (project.file, project.agent_file)
    toml.write_text("broken")
    agent.write_text("broken")
    assert (project.file, project.agent_file) == before


def test_a_wrong_file_is_an_error_each_time(tmp_path: Path) -> None:
    _file(tmp_path, "agent.json", "broken")
    project = Project(tmp_path, {})
    for _ in range(2):
        with pytest.raises(ConfigError):
            _ = project.agent_file


def test_a_plan_is_read_again_each_time(tmp_path: Path) -> None:
    project = Project(tmp_path, {})
    assert project.plan() is None
    plan = '{"specId": "greeter", "deliverables": []}'
    _file(tmp_path, "status.json", plan)
    assert project.plan() is not None


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError):
        Project.open(tmp_path / "missing", {})


def test_runner_toml_is_read_once_for_the_start_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _file(tmp_path, "runner.toml", "[budget]\ntotal = 5\n")
    found: list[Path] = []

    def parsed(path: Path, text: str, project_dir: Path) -> RunnerFile:
        found.append(path)
        return parse_runner_file(path, text, project_dir)

    monkeypatch.setattr("runner.config.runner_file.parse_runner_file", parsed)
    chosen = choose(RUN_OPTIONS, {"project_dir": tmp_path}, os.environ)
    job = Job(Project.of(chosen, os.environ), chosen.options, "Test")
    startup_facts(job)
    open_plane(job.project, None)
    environment_rules(job.project)
    assert len(found) == 1


def test_the_startup_display_says_where_verification_runs(tmp_path: Path) -> None:
    facts = startup_facts(Job(Project(tmp_path, os.environ), RunOptions(), "Test"))
    assert "Verification" in dict(facts)
