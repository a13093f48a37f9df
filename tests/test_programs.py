"""Programs outside of the sandbox come from places that no agent can write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import PrerequisiteError
from runner.programs import (
    find_program,
    outside_environment,
    own_command,
    require_program,
    users_command,
    users_environment,
)
from runner.reach import Reach, reach_of


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Return a program in a folder that only the user can write."""
    return program(tmp_path / "system" / "git")


def path_of(*folders: object) -> str:
    return os.pathsep.join(str(folder) for folder in folders)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_program_in_the_project_is_passed_over_at_any_place(
    project: Path, system: Path, order: int
) -> None:
    program(project / ".venv" / "bin" / "git")
    folders: list[object] = [system.parent, "/nowhere"]
    folders.insert(order, project / ".venv" / "bin")
    assert find_program("git", project, path_of(*folders)) == system


@pytest.mark.parametrize("entry", ["", ".", "bin", "../project/bin"])
def test_relative_and_empty_entries_are_passed_over(
    project: Path, system: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(project / "git")
    program(project / "bin" / "git")
    monkeypatch.chdir(project)
    assert find_program("git", project, path_of(entry, system.parent)) == system


def test_a_link_outside_that_leads_into_the_project_is_passed_over(
    tmp_path: Path, project: Path, system: Path
) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "git").symlink_to(program(project / "git"))
    assert find_program("git", project, path_of(tmp_path / "local", system.parent)) == system


def test_a_folder_on_the_path_that_is_a_link_into_the_project_is_passed_over(
    tmp_path: Path, project: Path, system: Path
) -> None:
    program(project / "bin" / "git")
    (tmp_path / "local").symlink_to(project / "bin")
    assert find_program("git", project, path_of(tmp_path / "local", system.parent)) == system


def test_a_link_of_the_project_to_the_systems_program_is_passed_over(
    tmp_path: Path, project: Path, system: Path
) -> None:
    (project / "git").symlink_to(system)
    other = program(tmp_path / "other" / "git")
    assert find_program("git", project, path_of(project, other.parent)) == other


def test_a_program_in_the_cache_of_agents_is_passed_over(
    tmp_path: Path, project: Path, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    bin_ = tmp_path / "caches" / "runner" / "sandbox" / "p-1" / "cargo" / "bin"
    program(bin_ / "git")
    assert find_program("git", project, path_of(bin_, system.parent)) == system


def test_a_link_that_is_swapped_later_changes_nothing(
    tmp_path: Path, project: Path, system: Path
) -> None:
    (tmp_path / "local").mkdir()
    link = tmp_path / "local" / "git"
    link.symlink_to(system)
    assert find_program("git", project, path_of(link.parent)) == system
    link.unlink()
    link.symlink_to(program(project / "git"))
    assert find_program("git", project, path_of(link.parent)) == system


def test_a_program_that_comes_later_is_not_taken_up(tmp_path: Path, project: Path) -> None:
    folder = tmp_path / "late"
    assert find_program("git", project, str(folder)) is None
    program(folder / "git")
    assert find_program("git", project, str(folder)) is None


def test_a_program_that_only_agents_have_is_refused_with_the_way_out(project: Path) -> None:
    program(project / "git")
    with pytest.raises(PrerequisiteError, match=r"agents can write .*outside of the project"):
        find_program("git", project, str(project))


def test_a_missing_program_says_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(PrerequisiteError, match=r"git was not found\. Install it"):
        require_program("git", project, hint="Install it.")


class TestEnvironment:
    def test_git_inherits_little_and_no_credential(self, project: Path) -> None:
        environ = {
            "HOME": "/home/u", "LANG": "C", "LC_ALL": "C", "ANTHROPIC_API_KEY": "k",
            "GITHUB_TOKEN": "t", "GIT_EXEC_PATH": "/x", "GIT_SSH_COMMAND": "x", "PAGER": "x",
            "EDITOR": "x", "SSH_AUTH_SOCK": "/s", "LD_PRELOAD": "/usr/lib/x.so", "PATH": "/usr/bin",
            "BASH_ENV": "/x", "PERL5LIB": "/x", "PYTHONPATH": "/x",
        }  # fmt: skip
        assert outside_environment(reach_of(project), environ) == {
            "HOME": "/home/u", "LANG": "C", "LC_ALL": "C", "PATH": "/usr/bin",
        }  # fmt: skip

    def test_places_of_agents_are_taken_out(self, project: Path) -> None:
        environ = {
            "HOME": str(project / "home"), "TMPDIR": str(project), "XDG_CONFIG_HOME": str(project),
            "PATH": path_of(project / "bin", "/usr/bin", "", "bin", "/bin"),
            "LD_LIBRARY_PATH": path_of(project / "lib", "/opt/lib", ""),
        }  # fmt: skip
        assert outside_environment(reach_of(project), environ) == {
            "PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/opt/lib",
        }  # fmt: skip

    def test_a_path_of_agents_alone_becomes_the_systems(self, project: Path) -> None:
        assert outside_environment(reach_of(project), {"PATH": str(project)})["PATH"] == os.defpath

    @pytest.mark.parametrize(
        "name", ["BASH_ENV", "PERL5LIB", "NODE_OPTIONS", "PYTHONSTARTUP", "RUBYOPT", "ANY_OTHER"]
    )
    def test_a_users_command_inherits_nothing_that_names_a_place_of_agents(
        self, project: Path, name: str
    ) -> None:
        environ = {name: f"--require={project}/x", "TOKEN_OF_MINE": "t", "AUTORUNNER_X": "1"}
        kept = users_environment(reach_of(project), environ)
        assert set(kept) == {"TOKEN_OF_MINE", "AUTORUNNER_X", "PATH"}

    def test_a_users_command_does_not_get_the_agents_key(self, project: Path) -> None:
        environ = {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "t"}
        assert set(users_environment(reach_of(project), environ)) == {"PATH"}


class TestCommandsOfPeople:
    def test_a_program_in_the_project_is_refused(self, project: Path) -> None:
        script = program(project / "notify.sh")
        with pytest.raises(PrerequisiteError, match="not started, because agents can write"):
            users_command([str(script)], project)

    @pytest.mark.parametrize("form", ["{}", "--file={}"])
    def test_a_script_in_the_project_is_refused_as_an_argument(
        self, project: Path, form: str
    ) -> None:
        script = program(project / "notify.sh")
        with pytest.raises(PrerequisiteError, match="agents can write"):
            users_command(["sh", form.format(script)], project)

    @pytest.mark.parametrize("words", [["sh", "notify.sh"], ["./notify.sh"], ["sh", "./notify.sh"]])
    def test_a_relative_script_in_the_project_is_refused(
        self, project: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program(project / "notify.sh")
        monkeypatch.chdir(project)
        with pytest.raises(PrerequisiteError, match="agents can write"):
            users_command(words, project)

    def test_a_link_to_a_script_in_the_project_is_refused(
        self, project: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "notify.sh").symlink_to(program(project / "notify.sh"))
        with pytest.raises(PrerequisiteError, match="agents can write"):
            users_command([str(tmp_path / "notify.sh")], project)

    def test_a_program_of_the_users_is_started(self, tmp_path: Path, project: Path) -> None:
        script = program(tmp_path / "bin" / "notify.sh")
        ready = users_command([str(script), "--quiet"], project)
        assert (ready.program, ready.words) == (script, (str(script), "--quiet"))

    def test_a_script_of_the_state_folder_is_started_from_elsewhere(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = program(project / ".runner" / "n.sh")
        monkeypatch.chdir(project)
        ready = users_command(["sh", ".runner/n.sh", "n.sh"], project)
        assert (ready.words[1:], ready.folder) == ((str(script), "n.sh"), Path("/"))

    def test_it_starts_where_runner_was_started_outside_of_the_project(
        self, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert users_command(["sh", "-c", "x"], project).folder == tmp_path


@pytest.mark.process
class TestOwnCommand:
    """`runner mcp` has reviews made by another process of its own (TRUST A08)."""

    def answer(self, project: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [*own_command(reach_of(project)), "check", "ls"]
        return subprocess.run(
            command, cwd=project, env={**os.environ, **environ}, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip

    @pytest.mark.process
    def test_it_imports_nothing_from_where_it_starts(self, project: Path) -> None:
        (project / "typer.py").write_text("raise SystemExit(99)")
        assert self.answer(project, {}).returncode == 0

    @pytest.mark.process
    def test_it_imports_nothing_from_where_variables_lead(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("sitecustomize", "usercustomize", "typer"):
            (project / f"{name}.py").write_text("import os; os._exit(99)")
        monkeypatch.setenv("PYTHONPATH", str(project))
        assert self.answer(project, {}).returncode == 0

    def test_a_harmless_environment_is_obeyed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", "/usr/lib/somewhere")
        assert own_command(Reach((Path("/p"),))) == [sys.executable, "-P", "-m", "runner"]
