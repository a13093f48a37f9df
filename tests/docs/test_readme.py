"""The front page: short, with a picture of a terminal, and with commands that exist."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs/demo.svg"
MOST_WORDS = 700


def test_it_is_a_front_page() -> None:
    assert len(README.split()) <= MOST_WORDS


@pytest.mark.parametrize("target", ["demo", "test"])
def test_its_two_commands_are_targets(target: str) -> None:
    assert f"$ make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_it_shows_the_picture() -> None:
    assert "](docs/demo.svg)" in README


def test_the_picture_is_of_a_run_that_passed() -> None:
    words = " ".join(ET.parse(PICTURE).getroot().itertext()).replace("\xa0", " ")  # noqa: S314 - ours
    assert "All achievable deliverables passed" in words


def test_the_picture_loads_nothing_from_elsewhere() -> None:
    text = PICTURE.read_text("utf-8")
    assert re.findall(r"(?:href|src|url)\s*[=(]\s*[\"']?(?!#)\w+:[^\"')]*", text) == []
    assert "@font-face" not in text
