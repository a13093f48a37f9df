"""Numbers and their nouns."""

import pytest

from runner.wording import plural


@pytest.mark.parametrize(
    ("count", "wanted"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (1000, "1000 steps")]
)
def test_a_noun_agrees_with_its_number(count: int, wanted: str) -> None:
    assert plural(count, "step") == wanted


@pytest.mark.parametrize(("count", "wanted"), [(1, "1 file differs"), (2, "2 files differ")])
def test_what_is_said_agrees_with_its_number(count: int, wanted: str) -> None:
    assert plural(count, "file differs", "files differ") == wanted
