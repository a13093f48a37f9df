"""`runner init`."""

from pathlib import Path

from runner.cli.app import invoke
from runner.resources import data_text


def test_an_example_spec_is_written(tmp_path: Path) -> None:
    assert invoke(["init", "-p", str(tmp_path)]) == 0
    assert (tmp_path / "SPEC.md").read_text(encoding="utf-8") == data_text("SPEC.example.md")


def test_the_state_folder_ignores_its_volatile_parts(tmp_path: Path) -> None:
    invoke(["init", "-p", str(tmp_path)])
    ignored = (tmp_path / ".runner" / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"autonomy/", "logs/"} <= set(ignored)


def test_an_existing_spec_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text("mine", encoding="utf-8")
    assert invoke(["init", "-p", str(tmp_path)]) == 0
    assert (tmp_path / "SPEC.md").read_text(encoding="utf-8") == "mine"
