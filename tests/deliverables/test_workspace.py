"""The folder `.runner/` and the id of the spec."""

from pathlib import Path

import pytest

from runner.deliverables.workspace import derive_spec_id, ensure_state_directory, status_path
from runner.errors import StateWriteError


@pytest.mark.parametrize(
    ("folder", "spec_id"),
    [
        ("my-project", "my-project"),
        ("My Project (2)", "my-project-2"),
        ("Größe_v1.0", "groe-v1-0"),
        ("café", "cafe"),
        ("日本", "spec"),
        ("---", "spec"),
        ("x" * 100, "x" * 64),
    ],
)
def test_the_spec_id_is_a_slug_of_the_folder(tmp_path: Path, folder: str, spec_id: str) -> None:
    assert derive_spec_id(tmp_path / folder) == spec_id


def test_a_relative_folder_has_the_same_spec_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert derive_spec_id(Path()) == derive_spec_id(tmp_path)


def test_the_root_folder_has_a_spec_id() -> None:
    assert derive_spec_id(Path("/")) == "spec"


def test_the_folder_is_created_with_its_ignore_file(tmp_path: Path) -> None:
    folder = ensure_state_directory(tmp_path)
    assert folder == tmp_path / ".runner"
    lines = (folder / ".gitignore").read_text().splitlines()
    assert lines[1:] == ["autonomy/", "logs/", ".*.tmp"]


def test_the_status_file_is_in_the_folder(tmp_path: Path) -> None:
    assert status_path(tmp_path) == ensure_state_directory(tmp_path) / "status.json"


@pytest.mark.parametrize("content", ["", "mine\n"])
def test_an_existing_ignore_file_is_kept(tmp_path: Path, content: str) -> None:
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / ".gitignore").write_text(content)
    ensure_state_directory(tmp_path)
    assert (tmp_path / ".runner" / ".gitignore").read_text() == content


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / ".runner").write_text("mine")
    with pytest.raises(StateWriteError, match=r"\.runner could not be written.*move it away"):
        ensure_state_directory(tmp_path)
    assert (tmp_path / ".runner").read_text() == "mine"


def test_a_missing_project_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateWriteError, match="No such file"):
        ensure_state_directory(tmp_path / "no")


def test_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".runner").symlink_to(tmp_path / "outside")
    with pytest.raises(StateWriteError, match="outside the project"):
        ensure_state_directory(tmp_path / "project")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / ".runner").symlink_to("state")
    ensure_state_directory(tmp_path)
    assert (tmp_path / "state" / ".gitignore").exists()
