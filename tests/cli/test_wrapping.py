"""Permanent lines that are wider than the terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.scenes import whole_run

from runner.cli.presenter.lines import Line, Tone, line
from runner.cli.presenter.narration import Narrator
from runner.cli.presenter.terminal import Painter
from runner.cli.presenter.wrapping import rows
from runner.events import SessionActivity, StatusChanged, StreamToolDenied
from runner.text.output import Output


class _Terminal(Output):
    def __init__(self, width: int, *, terminal: bool = True) -> None:
        super().__init__(io.StringIO())
        self.width, self.terminal = width, terminal

    def columns(self) -> int:
        return self.width

    def is_terminal(self) -> bool:
        return self.terminal


def broken(line: Line, width: int = 40, *, terminal: bool = True) -> list[str]:
    return [row.text for row in rows(line, _Terminal(width, terminal=terminal))]


def test_a_status_line_is_broken_at_words_below_its_text() -> None:
    (status,) = Narrator().lines(
        StatusChanged("UI-001", "passed", "The list of tasks shows what is open, newest first")
    )
    assert broken(status) == [
        "[PASS] UI-001 The list of tasks shows",
        "       what is open, newest first",
    ]


def test_the_reason_of_a_refusal_stays_below_its_reason() -> None:
    reason = "It leads out of the project, which no agent may."
    denied = StreamToolDenied("Bash", {"command": "cat ../x"}, reason)
    assert broken(Narrator().lines(SessionActivity(denied))[1]) == [
        "         It leads out of the project,",
        "         which no agent may.",
    ]


def test_a_refused_command_is_one_piece() -> None:
    denied = StreamToolDenied("Bash", {"command": "cat a/long/path and another/one"}, "No.")
    call = Narrator().lines(SessionActivity(denied))[0]
    assert broken(call, 30) == [call.text]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Waiting for it: `runner session resume` goes on", ["Waiting for it:", "  `runner session resume` goes on"]),
        (f"Kept in {'/a' * 30}/b now", ["Kept in", f"  {'/a' * 30}/b", "  now"]),
        ("  runner session resume --session-id auto_01 --force", None),
    ],
)  # fmt: skip
def test_what_is_copied_is_not_broken_inside(text: str, wanted: list[str] | None) -> None:
    assert broken(line(text), 35) == (wanted or [text])


def test_a_pipe_gets_every_line_as_one() -> None:
    lines = [one for event in whole_run() for one in Narrator().lines(event)]
    assert [broken(one, 24, terminal=False) for one in lines] == [[one.text] for one in lines]


def test_a_narrow_terminal_breaks_by_itself() -> None:
    assert len(broken(line("words " * 20), 12)) == 1


def test_wide_characters_take_two_columns() -> None:
    assert broken(line("一二三四五 六七八九十 一二三四五"), 24) == [
        "一二三四五 六七八九十",
        "  一二三四五",
    ]


def test_tones_go_on_in_the_next_row() -> None:
    two = Line((("one two three four ", Tone.GOOD), ("five six seven", Tone.BAD)))
    painted = Painter(_Terminal(24), {"TERM": "xterm-256color"}).line(two)
    assert painted.splitlines()[1].count("\x1b[1;31m") == 1


@given(st.text(alphabet="ab `", max_size=200), st.integers(20, 60))
def test_no_word_is_lost_and_no_row_is_too_wide_that_could_be_broken(text: str, width: int) -> None:
    found = broken(line(text), width)
    assert " ".join(found).split() == text.split()
    assert all(cell_len(row) <= width or len(row.split()) == 1 or "`" in row for row in found)
