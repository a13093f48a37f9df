"""The list of lines and tests in `seed_000_lines.toml` tells the truth."""

import tomllib
from pathlib import Path

import pytest
from tests.named_tests import functions_of

LINES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("seed_000_lines.toml").read_text(encoding="utf-8")
)
NAMED = sorted({name for part in LINES.values() for names in part.values() for name in names})

# How many lines each part of «Testing Strategy» has.
SIZES = {"unit": 45, "integration": 25, "contract": 4, "stress": 5}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    file, _, function = name.partition("::")
    assert function in functions_of(file)


def test_each_part_has_all_its_lines() -> None:
    assert {part: len(lines) for part, lines in LINES.items()} == SIZES


def test_every_line_has_a_test() -> None:
    assert [line for part in LINES.values() for line, names in part.items() if not names] == []
