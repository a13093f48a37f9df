"""The generated pages, and parts of pages, are what the code says now."""

from pathlib import Path

import pytest

from runner.cli.reference import reference_pages

FOLDER = Path(__file__).parents[2] / "docs"
PAGES = reference_pages(FOLDER)


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_current(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "run `make reference` (python -m runner.cli.reference)"


def test_the_reference_folder_has_generated_pages_only() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("reference/*.md")}
    assert found == {name for name in PAGES if name.startswith("reference/")}


@pytest.mark.parametrize("text", ["# No marks\n", "<!-- end -->\n"])
def test_a_page_without_a_place_for_its_part_is_an_error(tmp_path: Path, text: str) -> None:
    for name in ("configuration.md", "events.md"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="generated part"):
        reference_pages(tmp_path)


def test_every_command_of_the_root_has_a_section() -> None:
    commands = PAGES["reference/commands.md"]
    sections = {line for line in commands.splitlines() if line.startswith("## ")}
    assert {"## `runner run`", "## `runner session`", "## `runner capabilities`"} <= sections
