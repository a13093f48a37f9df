"""An installation that agents can write is made read-only, or refused."""

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import runner
from runner import installation
from runner.errors import PrerequisiteError
from runner.installation import isolate, keep_temporary_files_from, read_only_folders


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def same_imports() -> Iterator[None]:
    """Undo what is changed in this process."""
    finders, place, path = list(sys.meta_path), tempfile.tempdir, list(sys.path)
    yield
    sys.meta_path[:], tempfile.tempdir, sys.path[:] = finders, place, path


@pytest.fixture
def environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this process be one of PROJECT/tools/venv."""
    folder = project / "tools" / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "exec_prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    return folder


def test_an_installation_elsewhere_is_left_alone(project: Path) -> None:
    assert isolate(project, boxed=True) == ()
    assert isolate(project, boxed=False) == ()


def test_an_environment_in_the_project_is_to_be_read_only(project: Path, environment: Path) -> None:
    assert isolate(project, boxed=True) == (environment,)


def test_without_a_sandbox_it_is_refused_with_the_way_out(project: Path, environment: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"pipx install .*leave out --no-sandbox"):
        isolate(project, boxed=False)


def test_an_environment_that_is_the_project_is_refused(project: Path, environment: Path) -> None:
    assert read_only_folders(environment) == ()
    with pytest.raises(PrerequisiteError, match="agents can write"):
        isolate(environment, boxed=True)


def test_an_environment_behind_a_link_of_the_project_is_refused(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "venv").mkdir()
    (project / ".venv").symlink_to(tmp_path / "venv")
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    with pytest.raises(PrerequisiteError, match="agents can write"):
        isolate(project, boxed=True)


@pytest.mark.parametrize("boxed", [True, False])
def test_the_sources_of_runner_in_the_project_are_refused(
    project: Path, boxed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = project / "src" / "runner"
    monkeypatch.setattr(runner, "__path__", [str(source)])
    monkeypatch.setattr(runner, "__file__", str(source / "__init__.py"))
    with pytest.raises(PrerequisiteError, match="from its sources in this project"):
        isolate(project, boxed=boxed)


def test_a_module_that_was_loaded_from_the_project_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("sitecustomize")
    module.__file__ = str(project / "sitecustomize.py")
    monkeypatch.setitem(sys.modules, "sitecustomize", module)
    with pytest.raises(PrerequisiteError, match="sitecustomize"):
        isolate(project, boxed=True)


def test_a_package_that_is_loaded_when_needed_is_looked_at_before(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "jinja2").mkdir()
    (project / "jinja2" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "jinja2", raising=False)
    sys.path.insert(0, str(project))
    with pytest.raises(PrerequisiteError, match="jinja2"):
        isolate(project, boxed=True)


def test_the_agent_binary_counts(project: Path) -> None:
    with pytest.raises(PrerequisiteError, match="bin/claude"):
        isolate(project, boxed=True, used=[project / "bin" / "claude"])


def test_a_loaded_library_of_the_project_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_mapped", lambda: iter([str(project / "libz.so")]))
    with pytest.raises(PrerequisiteError, match=r"libz\.so"):
        isolate(project, boxed=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which libraries are loaded")
def test_the_loaded_libraries_are_known() -> None:
    assert any("libc" in path for path in installation._mapped())


def test_what_is_imported_later_is_not_taken_from_the_project(project: Path) -> None:
    isolate(project, boxed=True)
    (project / "made_by_an_agent.py").write_text("raise SystemExit(99)")
    sys.path.insert(0, str(project))
    with pytest.raises(ImportError, match="agents can write"):
        importlib.import_module("made_by_an_agent")


def test_a_link_to_the_project_is_not_imported_later(project: Path, tmp_path: Path) -> None:
    isolate(project, boxed=True)
    (project / "module.py").write_text("raise SystemExit(99)")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "linked_by_somebody.py").symlink_to(project / "module.py")
    sys.path.insert(0, str(tmp_path / "lib"))
    with pytest.raises(ImportError, match="agents can write"):
        importlib.import_module("linked_by_somebody")


def test_everything_else_is_imported_as_before(project: Path, tmp_path: Path) -> None:
    isolate(project, boxed=True)
    (tmp_path / "an_honest_module.py").write_text("answer = 42")
    sys.path.insert(0, str(tmp_path))
    assert importlib.import_module("an_honest_module").answer == 42
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("there_is_no_such_module")


class TestHardLinks:
    """Installers that link out of a cache let two environments share their files (uv)."""

    @pytest.fixture
    def module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return a file of ours, which a module of this process was loaded from."""
        file = tmp_path / "cache" / "shared.py"
        file.parent.mkdir()
        file.touch()
        loaded = ModuleType("shared")
        loaded.__file__ = str(file)
        monkeypatch.setitem(sys.modules, "shared", loaded)
        return file

    def test_a_file_that_the_project_shares_is_refused(self, project: Path, module: Path) -> None:
        (project / "deep" / "er").mkdir(parents=True)
        os.link(module, project / "deep" / "er" / "shared.py")
        with pytest.raises(PrerequisiteError, match=r"is the same file as .*--link-mode copy"):
            isolate(project, boxed=True)

    def test_a_file_that_others_share_is_fine(
        self, project: Path, module: Path, tmp_path: Path
    ) -> None:
        os.link(module, tmp_path / "other.py")
        shutil.copy(module, project / "shared.py")
        assert isolate(project, boxed=True) == ()


class TestTemporaryFiles:
    """What is started, and what git obeys, is written to the folder for temporary files."""

    def test_a_folder_of_the_project_is_not_used(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(project / "tmp"))
        keep_temporary_files_from(project)
        assert not Path(tempfile.gettempdir()).is_relative_to(project)

    def test_a_link_of_the_project_is_not_used(
        self, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "tmp").symlink_to(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", str(project / "tmp"))
        keep_temporary_files_from(project)
        assert tempfile.gettempdir() != str(project / "tmp")

    def test_any_other_is_kept(
        self, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        keep_temporary_files_from(project)
        assert tempfile.gettempdir() == str(tmp_path)
