"""Columns of a terminal: nothing is wider than it may be, and nothing is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from runner.text.columns import columns, fit, labelled, table, wrap

_WORDS = st.lists(st.text("abcdé漢字", min_size=1, max_size=9), min_size=1, max_size=20)


@settings(deadline=None)
@given(words=_WORDS, width=st.integers(24, 60))
def test_wrapped_lines_are_as_wide_as_allowed_at_most(words: list[str], width: int) -> None:
    lines = list(wrap(" ".join(words), width, "    ", "  - "))
    assert max(columns(line) for line in lines) <= width


@settings(deadline=None)
@given(words=_WORDS)
def test_wrapping_loses_no_word(words: list[str]) -> None:
    lines = wrap(" ".join(words), 24, "  ")
    assert [word for line in lines for word in line.split()] == words


def test_a_word_that_is_too_long_stands_alone() -> None:
    assert list(wrap("a " + "b" * 30 + " c", 20, "  ")) == ["  a", "  " + "b" * 30, "  c"]


def test_wide_characters_count_twice() -> None:
    assert columns("漢字a") == 5
    assert cell_len(fit("漢字" * 40, 21)) <= 21


def test_what_joins_the_character_before_takes_no_column() -> None:
    assert columns("e\u0301") == 1
    assert columns("👩\u200d👩\u200d👧") == cell_len("👩\u200d👩\u200d👧")


def test_values_are_below_each_other() -> None:
    pairs = [("A", "one two"), ("Longer", "three"), ("None", "")]
    assert list(labelled(pairs, 40)) == ["A       one two", "Longer  three"]


def test_a_long_value_goes_on_below_itself() -> None:
    assert list(labelled([("Label", "one two three")], 14)) == ["Label  one two", "       three"]


def test_a_table_cuts_its_last_column_alone() -> None:
    lines = list(table(("ID", "TITLE"), [("auto_01", "a title that is too long")], 24))
    assert lines == ["ID       TITLE", "auto_01  a title that i…"]


def test_escape_sequences_do_not_get_through() -> None:
    assert list(wrap("a\x1b[2Jb\nc", 40)) == ["a␛[2Jb c"]
