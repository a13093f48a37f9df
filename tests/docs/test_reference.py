"""The written reference pages are what the code says now."""

from pathlib import Path

import pytest

from runner.cli.reference import reference_pages

FOLDER = Path(__file__).parents[2] / "docs/reference"
PAGES = reference_pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_current(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "run `make reference` (python -m runner.cli.reference)"


def test_no_page_stands_there_that_nothing_writes() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(PAGES)


def test_every_command_of_the_root_has_a_section() -> None:
    sections = {line for line in PAGES["commands.md"].splitlines() if line.startswith("## ")}
    assert {"## `runner run`", "## `runner session`", "## `runner capabilities`"} <= sections
