"""The list of rows and tests in `seed_001_rows.toml` tells the truth."""

import tomllib
from pathlib import Path

import pytest
from tests.named_tests import functions_of

TESTS = Path(__file__).parent
ROWS: dict[str, dict[str, list[str]]] = tomllib.loads(
    (TESTS / "seed_001_rows.toml").read_text(encoding="utf-8")
)
NAMED = sorted({name for table in ROWS.values() for names in table.values() for name in names})

# How many rows the tables of the seed have.
SIZES = {
    "3.4 shared conditions": 4,
    "3.4 conditions of run": 2,
    "3.4 conditions of sync": 1,
    "3.4 error classification": 2,
    "7.1 options": 8,
    "7.1 validation": 3,
    "7.1.1 model selection": 4,
    "7.1.2 prerequisites": 1,
    "7.2.1 options of run": 2,
    "7.2.2 project directory": 4,
    "8.1 session loop": 6,
    "8.2 tools": 7,
    "8.3 configuration merge": 6,
    "8.4 profiles": 4,
    "8.5 sync": 4,
    "8.6 deprecated": 3,
    "8.7 termination": 2,
    "8.8 verification result": 5,
    "8.9 overall line": 2,
    "8.9 termination messages": 6,
}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    file, _, function = name.partition("::")
    assert function in functions_of(file)


@pytest.mark.parametrize(("table", "size"), SIZES.items())
def test_a_table_has_all_its_rows(table: str, size: int) -> None:
    assert len(ROWS[table]) == size


def test_every_row_has_a_test() -> None:
    assert [(t, row) for t, rows in ROWS.items() for row, names in rows.items() if not names] == []
