import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.safe import cut, inert, inert_lines, json_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b[2J\x1b[1;1Hgone", "␛[2J␛[1;1Hgone"),
        ("\x9b31mred", "[U+009B]31mred"),
        ("\x1b]0;title\x07after", "␛]0;title␇after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "␛]8;;http://x␛\\link␛]8;;␛\\"),
        ("\x1bPdevice\x1b\\after", "␛Pdevice␛\\after"),
        ("\x1b]52;c;unterminated", "␛]52;c;unterminated"),
        ("\x1b(Bcharset", "␛(Bcharset"),
        ("ends in \x1b", "ends in ␛"),
        ("a\nb\r\nc\td", "a b c d"),
        ("a\u2028b\x85c", "a[U+2028]b[U+0085]c"),
        ("50 %\r100 %", "50 %␍100 %"),
        ("wide\u3000space\u00a0here", "wide space here"),
        ("\x07be\x08ll\x7f", "␇be␈ll␡"),
        ("\u202egnp.exe", "[U+202E]gnp.exe"),
        ("zero\u200bwidth", "zero[U+200B]width"),
        ("lone \ud800", "lone [U+D800]"),
        ("mojibake \x9d goes on", "mojibake [U+009D] goes on"),
        ("[bold]no markup[/]", "[bold]no markup[/]"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("  spaces  ", "spaces"),
    ],
)
def test_text_becomes_one_harmless_line(text: str, shown: str) -> None:
    assert inert(text) == shown


@pytest.mark.parametrize("text", ["::error::x", "  ::set-output name=a::b", "\n\x1b[0m::stop"])
def test_no_line_starts_a_github_command(text: str) -> None:
    assert not inert(text).startswith("::")


def test_an_old_github_command_is_broken_anywhere() -> None:
    assert "##[" not in inert("see ##[add-mask]secret")


def test_long_text_ends_in_an_ellipsis() -> None:
    assert inert("word " * 100, 9) == "word wor…"


def test_text_behind_a_screenful_of_blanks_is_not_lost() -> None:
    assert inert(" " * 9000 + "rm -rf x", 20) == "rm -rf x"
    assert inert("a" + " " * 9000 + "rm -rf x", 20).endswith("…")


@given(st.text())
def test_an_inert_line_stays_as_it_is(text: str) -> None:
    assert inert(inert(text)) == inert(text)


def test_cut_keeps_what_fits() -> None:
    assert cut("exact", 5) == "exact"


def test_control_characters_at_the_end_of_a_text_are_shown() -> None:
    assert inert_lines("a\n\x1c\u2028\n\n") == ["a", "␜[U+2028]"]


def test_lines_keep_their_indentation() -> None:
    assert inert_lines("if x:\n\ty()\n\n") == ["if x:", "        y()"]


@given(st.text(), st.integers(min_value=2, max_value=20))
def test_a_limit_is_never_exceeded(text: str, limit: int) -> None:
    assert len(inert(text, limit)) <= limit


@given(st.text(st.sampled_from("\x1b[]0;m\x07\\\n\r\u202e\x9b:#a ")))
def test_nothing_but_visible_characters_remains(text: str) -> None:
    assert inert(text).isprintable()


@given(st.recursive(st.text() | st.just("a ##[stop] \x7f"), st.lists))
def test_json_says_the_same_and_nothing_obeys_it(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert text.isprintable()
    assert "##[" not in text
