from pathlib import Path

import pytest
from tests.loop.repositories import git, isolate, write

from runner.deliverables.workspace import ensure_state_directory


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a repository with one commit, with tracked, untracked and ignored files."""
    isolate(monkeypatch, tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    write(project, app_dot_py="one\n", src__lib_dot_py="lib\n", _dot_gitignore="*.log\n/build/\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    ensure_state_directory(project)
    write(project, new_dot_py="new\n", x_dot_log="ignored\n", _dot_runner__status_dot_json="{}\n")
    return project
