"""The data that ships with runner."""

import pytest

from runner.errors import PrerequisiteError
from runner.resources import data_path, data_text


@pytest.mark.parametrize(
    "parts",
    [("instructions", "initializer.md"), ("instructions", "coding.md"), ("SPEC.example.md",)],
)
def test_shipped_texts_are_found(parts: tuple[str, ...]) -> None:
    assert data_text(*parts).strip()


@pytest.mark.parametrize("name", ["instructions", "profiles"])
def test_shipped_folders_are_found(name: str) -> None:
    assert data_path(name).is_dir()


def test_a_missing_part_says_how_to_mend_the_installation() -> None:
    with pytest.raises(PrerequisiteError, match="pip install") as raised:
        data_path("instructions", "nothing.md")
    assert "instructions/nothing.md is missing" in raised.value.message
