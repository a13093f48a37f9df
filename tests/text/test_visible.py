"""Every character that can't be seen is shown as a mark, one by one, and none that can is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.safe import has_controls, is_visible, name, visible

HIDDEN = (
    [chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\t"]
    + ["\u200b", "\u200e", "\u200f", "\u061c", "\u00ad", "\u2060", "\ufeff", "\u180e", "\u034f"]
    + [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    + ["\u2028", "\u2029", "\ufff9", "\ufffa", "\ufffb", "\ud800", "\udfff", "\u3164", "\uffa0"]
    + ["\U000e0001", "\U000e0041", "\U000e007f", "\ufe00", "\U000e0100", "\U000e01ef"]
)
ANYTHING = st.text(st.characters() | st.sampled_from([*HIDDEN, "\u200c", "\u200d", "\ufe0f", "❤"]))


@pytest.mark.parametrize("character", HIDDEN, ids=lambda c: f"U+{ord(c):04X}")
def test_a_hidden_character_is_one_mark_and_its_neighbours_stay(character: str) -> None:
    shown = visible(f"before{character}after")
    assert shown.startswith("before")
    assert shown.endswith("after")
    assert len(shown) > len("beforeafter")
    assert character not in shown
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("import sys  # \x1b]\ndef answer():", "import sys  # ␛]\ndef answer():"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07x", "␛]0;title␇x"),
        ("\x1bPdata\x1b\\end", "␛Pdata␛\\end"),
        ("50 %\r100 %\r\ndone", "50 %␍100 %␍\ndone"),
        ("a\u202eb\x00c\x9bd", "a[U+202E]b␀c[U+009B]d"),
        ("in\u00advis\u00adible", "in[U+00AD]vis[U+00AD]ible"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_nothing_between_control_characters_is_removed(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain", "日本語のテキスト", "naïve café", "e\u0301", "👩\u200d💻", "❤\ufe0f", "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3", "🏳\ufe0f\u200d🌈", "\u0645\u06cc\u200c\u062e", "क्\u200dष", "a\u00a0b", "👍🏽",
    ],
)  # fmt: skip
def test_what_writers_need_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "\u200d",
        "👩\u200d",
        "a\ufe0f",
        "\ufe0f",
        "❤\ufe0f\ufe0f",
        "👩\u200d\u200d💻",
        "日\u200d",
    ],
)
def test_joiners_and_styles_that_hide_data_are_marked(text: str) -> None:
    assert not is_visible(text)


def test_a_stack_of_combining_marks_that_covers_other_lines_is_marked() -> None:
    shown = visible("a" + "\u0336" * 40 + "b")
    assert shown.count("\u0336") == 6
    assert shown.count("[U+0336]") == 34


@given(ANYTHING)
def test_no_hidden_character_is_left(text: str) -> None:
    shown = visible(text)
    assert not has_controls(shown)
    assert all(c in "\n\t" or c.isprintable() or c.isspace() for c in shown)
    assert not any(c in shown for c in HIDDEN)


@given(ANYTHING)
def test_every_character_of_its_own_is_still_there_in_order(text: str) -> None:
    """A mark that combines is left out: many on one letter are shown by their numbers."""
    rest = iter(visible(text))
    for character in text:
        if visible(character) == character and unicodedata.category(character)[0] != "M":
            assert character in rest  # consumes the iterator up to it


@given(ANYTHING)
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(ANYTHING, st.sampled_from(["", "\t", "\n"]))
def test_only_the_layout_of_the_target_is_kept(text: str, layout: str) -> None:
    assert not set("\n\t") - set(layout) & set(visible(text, layout))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/app.py", "src/app.py"),
        ("!\x1b]", '"!␛]"'),
        ("a\n+3 -0  b.py", '"a␊+3 -0  b.py"'),
        ("x (was tests/test_a.py)", '"x (was tests/test_a.py)"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("", '""'),
        ("a" * 301, "a" * 300 + " (1 more characters are left out)"),
    ],
)
def test_a_name_is_one_word_or_one_quoted_text(text: str, shown: str) -> None:
    assert name(text) == shown
