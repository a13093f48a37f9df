"""The folder that a command is for, and its spec."""

from pathlib import Path

import pytest

from runner.config.project import require_spec, resolve_project
from runner.errors import PrerequisiteError


def test_the_project_is_the_working_directory_unless_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_project(None) == tmp_path.resolve()


def test_the_project_is_absolute_and_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_project(Path("~/link")) == (tmp_path / "real").resolve()


@pytest.mark.parametrize(
    "given",
    ["missing", "file", "loop", "~no-such-user-here/x", "x" * 5000],
    ids=["missing", "a file", "a loop of links", "an unknown home", "a name too long"],
)
def test_a_folder_that_is_none_is_refused(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(PrerequisiteError, match="--project-dir"):
        resolve_project(Path(given))


def test_a_spec_is_found(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_bytes(b"# \xff not quite UTF-8")
    assert require_spec(tmp_path) == tmp_path / "SPEC.md"


def test_a_missing_spec_is_named_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError) as raised:
        require_spec(tmp_path)
    assert raised.value.message == f"SPEC.md not found in {tmp_path}."


def test_a_folder_is_no_spec(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").mkdir()
    with pytest.raises(PrerequisiteError, match="not found"):
        require_spec(tmp_path)


def test_an_empty_spec_is_refused(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text(" \n\t\n")
    with pytest.raises(PrerequisiteError, match="is empty"):
        require_spec(tmp_path)


def test_a_file_in_place_of_the_project_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").touch()
    with pytest.raises(PrerequisiteError, match=r"SPEC\.md is no directory"):
        resolve_project(tmp_path / "SPEC.md")
