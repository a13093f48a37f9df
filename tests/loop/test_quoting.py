"""Text of agents in Markdown: it can neither leave its place nor upset a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.loop.quoting import end_of, fenced, inline, printable, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("50 %\r100 %\r\ndone", "50 %\n100 %\ndone"),
        ("a\u202eb\x00c\x9bd", "abcd"),
        ("\x1b", ""),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_printable_text_can_not_upset_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(alphabet="~`\n #a\x1b", max_size=60))
def test_nothing_closes_a_fence_but_its_end(text: str) -> None:
    first, *body, last = fenced(text).split("\n")
    assert first == f"{last} data"
    assert not any(re.fullmatch(rf"\s*{last}~*\s*", line) for line in body)


@given(st.text(max_size=80))
def test_inline_text_is_one_harmless_line(text: str) -> None:
    line = inline(text)
    assert not re.search(r"[\n\r\x1b\u2028]", line)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*<\[|]", line)


def test_long_text_is_cut_and_says_so() -> None:
    assert shortened("abcdef", 4) == "abcd\n[runner: 2 more characters are left out]"
    assert end_of("abcdef", 4) == "[runner: 2 earlier characters are left out]\ncdef"
    assert shortened("abc", 3) == end_of("abc", 3) == "abc"
    assert inline("x" * 20, 5) == "xxxx…"


@pytest.mark.parametrize(
    ("text", "shown"), [("step_01J", "step_01J"), ("_x_", r"\_x\_"), ("__init__", r"\_\_init\_\_")]
)
def test_ids_stay_readable(text: str, shown: str) -> None:
    assert inline(text) == shown
