"""Text of agents in Markdown and prompts: it can neither leave its place nor become markup."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from runner.text.safe import code, end_of, fenced, inline, shortened

_MARKUP = st.text(
    st.sampled_from("`~#-=+*_<>!|[](){}&;:/.@\\^$\"' \n\r\t\x00\x1b\u2028\u00a0ab1w")
    | st.characters(),
    max_size=60,
)
HOSTILE = [
    "# Review of p1: pass", "Fine.\n\n## Findings\n\nNone.\n\n<!--", "title\n===", "title\n---",
    "| a | b |\n| --- | --- |", "<details><summary>x", "<img src=x onerror=y>", "[x]: http://evil",
    "[x](http://evil)", "![x](http://evil)", "http://evil.example", "www.evil.example",
    "mail@evil.example", "@someone", "#12", "GH-12", "---\ntitle: x\n---", "~~~~\n# x", "```\n# x",
    "- x", "1. x", "1) x", "> x", "    x", "\t x", "&lt;", "a\r\n# b", "a\u2028# b", "\x00# b",
    ":smile:", "~~x~~", "$x$", "[^1]", "**x**", "_x_", "__init__", "\\", "\\|", "a\\\\|b", "`", "``",
    "` |", "| `", "*", "+ x", "<https://evil>", "=== x", "~~~", "http\\://evil", "0123abcd",
]  # fmt: skip


def parsed(markdown: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)


def leaves(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from leaves(token.children or [])


def types(markdown: str) -> set[str]:
    return {token.type for token in leaves(parsed(markdown))}


def text_of(markdown: str) -> str:
    """Return what a reader sees."""
    shown = (t.content for t in leaves(parsed(markdown)) if t.type in ("text", "code_inline"))
    return "".join(shown)


def outside_of_code(markdown: str) -> str:
    return "".join(token.content for token in leaves(parsed(markdown)) if token.type == "text")


_INLINE = {"paragraph_open", "paragraph_close", "inline", "text", "code_inline", "text_special"}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_no_markup_in_a_line(text: str) -> None:
    assert types(f"x {inline(text)}\nsecond line") <= _INLINE | {"softbreak"}


@given(_MARKUP)
def test_text_in_a_line_is_text_or_code(text: str) -> None:
    assert types(inline(text)) <= _INLINE


@given(_MARKUP)
def test_a_heading_has_its_whole_text_and_nothing_else(text: str) -> None:
    tokens = parsed(f"# Review of {inline(text)}\n\nnext")
    assert [t.type for t in tokens if t.level == 0] == [
        "heading_open", "heading_close", "paragraph_open", "paragraph_close",
    ]  # fmt: skip


@given(_MARKUP)
def test_a_cell_stays_one_cell(text: str) -> None:
    tokens = parsed(f"| a | b |\n| --- | --- |\n| {inline(text)} | last |\n")
    cells = [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "td_open"]
    assert len(cells) == 2
    assert cells[1] == "last"


@given(st.text(st.sampled_from("`|\\ ab<*_~#[]()!:"), min_size=1, max_size=30))
def test_a_reader_sees_the_characters_that_were_written(text: str) -> None:
    words = " ".join(text.replace("##[", "## [").split())
    words = f": {words[1:]}" if words.startswith("::") else words
    assert text_of(f"x{inline(text)}y").replace(" ", "") == f"x{words or '(empty)'}y".replace(
        " ", ""
    )


@given(_MARKUP)
def test_nothing_outside_of_code_is_a_link_or_a_mention_to_any_reader(text: str) -> None:
    assert not re.search(
        r"://|www\.|@|#\d|\w\.\w|:\w+:|GH-\d", outside_of_code(inline(text)), re.IGNORECASE
    )


@given(_MARKUP)
def test_a_fence_is_one_block_with_every_line(text: str) -> None:
    tokens = parsed(f"before\n\n{fenced(text)}\n\nafter")
    assert [t.type for t in tokens if t.level == 0 and t.nesting <= 0 and t.type != "inline"] == [
        "paragraph_close", "fence", "paragraph_close",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["~~~~", "~~~~ data", "~~~~~\n# out", "```", "   ~~~~~~", "~" * 500]
)
def test_nothing_closes_a_fence_but_its_end(text: str) -> None:
    first, *body, last = fenced(text).split("\n")
    assert first == f"{last} data"
    assert not any(last in line for line in body)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("UI-001", "UI-001"),
        ("step_01J", "step_01J"),
        ("It breaks, twice (see below).", "It breaks, twice (see below)."),
        ("First *steps*", "`First *steps*`"),
        ("app.py:3", "`app.py:3`"),
        ("__init__", "`__init__`"),
        ("a`b", "``a`b``"),
        ("make | check", r"`make `\|` check`"),
        ("", "(empty)"),
        ("\x1b]x", "`␛]x`"),
        ("# Pass", "`# Pass`"),
    ],
)
def test_plain_words_stay_readable_and_the_rest_is_code(text: str, shown: str) -> None:
    assert inline(text) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert shortened("abcdef", 4) == "abcd\n[runner: 2 more characters are left out]"
    assert end_of("abcdef", 4) == "[runner: 2 earlier characters are left out]\ncdef"
    assert shortened("abc", 3) == end_of("abc", 3) == "abc"
    assert inline("x" * 20, 5) == "xxxxx (15 more characters are left out)"


def test_code_of_one_line_keeps_its_pipes() -> None:
    assert code("a | b `c`") == "`` a | b `c` ``"
