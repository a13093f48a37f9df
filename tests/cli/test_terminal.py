import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.clocks import Clock
from tests.cli.scenes import whole_run
from tests.cli.screen import Screen

from runner.cli.presenter.lines import Line, Tone, line
from runner.cli.presenter.terminal import Painter, TerminalPresenter
from runner.events import (
    Notice,
    RunEvent,
    SessionActivity,
    SessionStarted,
    StatusChanged,
    StreamText,
    StreamToolInvocation,
)
from runner.marker import Instruction
from runner.text.output import Output

ENVIRON = {"TERM": "xterm-256color"}
STARTED = SessionStarted(1, Instruction.CODING, 1, "sonnet")


class FakeTerminal(Output):
    """A terminal in memory; its width and who owns it can be changed."""

    def __init__(self, stream: io.StringIO, width: int) -> None:
        super().__init__(stream)
        self.width = width
        self.is_ours = True

    def columns(self) -> int:
        return self.width

    def in_foreground(self) -> bool:
        return self.is_ours


class Terminal:
    """A presenter whose one terminal, for both streams, is a Screen."""

    def __init__(self, width: int = 80) -> None:
        self.stream = io.StringIO()
        self.clock = Clock()
        self.output = FakeTerminal(self.stream, width)
        self.presenter = TerminalPresenter(
            self.output, self.output, ENVIRON, clock=self.clock, wall=self.clock
        )

    def new_output(self) -> str:
        """What was written since the last call."""
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text

    def play(self, *events: RunEvent) -> None:
        for event in events:
            self.presenter(event)
            self.presenter.tick()

    def screen(self) -> Screen:
        return Screen(self.output.width).feed(self.stream.getvalue())


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def test_the_activity_line_stands_below_the_permanent_lines(terminal: Terminal) -> None:
    terminal.play(STARTED, StatusChanged("UI-001", "passed", "Parse"))
    assert terminal.screen().lines == [
        "",
        "Session 1: coding (sonnet)",
        "[PASS] UI-001 Parse",
        "⚡ 0s Starting...",
    ]


def test_the_elapsed_time_moves_without_an_event(terminal: Terminal) -> None:
    terminal.play(STARTED)
    terminal.clock.seconds += 1
    terminal.presenter.tick()
    assert terminal.screen().lines[-1] == "⚡ 1s Starting..."


def test_an_unchanged_line_is_not_drawn_again(terminal: Terminal) -> None:
    terminal.play(STARTED)
    before = terminal.stream.getvalue()
    terminal.presenter.tick()
    assert terminal.stream.getvalue() == before


def test_events_alone_draw_nothing(terminal: Terminal) -> None:
    terminal.play(STARTED)
    before = terminal.stream.getvalue()
    for _ in range(10_000):
        terminal.presenter(SessionActivity(StreamText("word")))
    assert terminal.stream.getvalue() == before


@pytest.mark.parametrize("width", [1, 5, 20, 40])
def test_the_activity_line_is_never_wider_than_the_terminal(terminal: Terminal, width: int) -> None:
    terminal.play(STARTED)
    terminal.new_output()
    terminal.output.width = width
    terminal.play(SessionActivity(StreamToolInvocation("t", "工具" * 30, {})))
    last = terminal.new_output().rsplit("\x1b[2K", 1)[-1].rsplit("\x1b[J", 1)[-1]
    assert Screen(width).feed(last).column < max(width, 2)


def test_a_narrowed_terminal_is_cleaned_of_the_broken_line(terminal: Terminal) -> None:
    terminal.play(STARTED, SessionActivity(StreamToolInvocation("t", "Tool" * 10, {})))
    assert Screen(80).feed(terminal.new_output()).column == 57
    terminal.output.width = 30
    terminal.presenter.tick()
    assert terminal.new_output().startswith("\r\x1b[1A\x1b[J")


def test_in_the_background_no_activity_line_is_drawn(terminal: Terminal) -> None:
    terminal.output.is_ours = False
    terminal.play(STARTED)
    terminal.clock.seconds += 1
    terminal.presenter.tick()
    assert terminal.screen().lines[-2:] == ["Session 1: coding (sonnet)", ""]


def test_in_the_background_nothing_of_the_shell_is_erased(terminal: Terminal) -> None:
    terminal.play(STARTED)
    terminal.new_output()
    terminal.output.is_ours = False
    terminal.play(StatusChanged("A", "pending", "x"))
    assert "\x1b[2K" not in terminal.new_output()


def test_back_in_the_foreground_the_line_is_drawn_again(terminal: Terminal) -> None:
    terminal.play(STARTED)
    terminal.output.is_ours = False
    terminal.play(StatusChanged("A", "pending", "x"))
    terminal.new_output()
    terminal.output.is_ours = True
    terminal.presenter.tick()
    assert terminal.new_output() == "⚡ 0s Starting..."


def test_the_line_is_gone_after_the_run(terminal: Terminal) -> None:
    with terminal.presenter:
        terminal.play(STARTED)
    screen = terminal.screen()
    assert (screen.lines[-1], screen.column) == ("", 0)


def test_the_line_is_gone_after_an_exception(terminal: Terminal) -> None:
    terminal.play(STARTED)
    with pytest.raises(KeyboardInterrupt), terminal.presenter:
        raise KeyboardInterrupt
    assert terminal.screen().lines[-1] == ""


def test_no_thread_is_left(terminal: Terminal) -> None:
    with terminal.presenter:
        pass
    assert "runner-presenter" not in {thread.name for thread in threading.enumerate()}


def test_warnings_do_not_tear_the_activity_line(terminal: Terminal) -> None:
    terminal.play(STARTED, Notice("warning", "Careful."), Notice("info", "Well."))
    assert terminal.screen().lines[2:] == ["Warning: Careful.", "Well.", "⚡ 0s Starting..."]


@pytest.mark.parametrize("width", [80, 120])
def test_a_whole_run_leaves_its_permanent_lines(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    terminal = Terminal(width)
    terminal.play(*whole_run())
    lines = terminal.screen().lines
    assert not [text for text in lines if text.startswith(("⚡", "⏳"))]
    assert lines[-5:] == [
        "Overall: 4 session(s), 2/3 deliverables passed, cost=$0.41, duration=1h 1m 1s",
        "All achievable deliverables passed",
        "  Blocked: UI-003",
        "  Read .runner-note.md for what blocks UI-003.",
        "",
    ]


def test_markup_is_shown_as_it_stands(terminal: Terminal) -> None:
    terminal.play(StatusChanged("A", "passed", "[red]x[/red] :smile: [/nope]"))
    assert terminal.screen().lines[0] == "[PASS] A [red]x[/red] :smile: [/nope]"


def test_tones_are_coloured() -> None:
    painted = Painter(Output(io.StringIO()), ENVIRON).line(line("yes", Tone.GOOD))
    assert painted == "\x1b[1;32myes\x1b[0m"


def test_a_line_to_clip_is_whole_where_there_is_no_terminal() -> None:
    long = Line((("x" * 200, Tone.NORMAL),), clip=True)
    assert Painter(Output(io.StringIO()), ENVIRON).line(long) == "x" * 200


@given(st.text())
def test_no_tool_name_breaks_the_screen(name: str) -> None:
    stream, clock = io.StringIO(), Clock()
    output = Output(stream)
    presenter = TerminalPresenter(output, output, ENVIRON, clock=clock, wall=clock)
    presenter(STARTED)
    presenter(SessionActivity(StreamToolInvocation("t", name, {})))
    presenter.tick()
    assert Screen(80).feed(stream.getvalue()).lines[-1].startswith("⚡ 0s Running")
