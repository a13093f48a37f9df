import io
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.clocks import Clock
from tests.cli.scenes import result, whole_run

from runner import events
from runner.cli.presenter.plain import PROGRESS_SECONDS, PlainPresenter
from runner.events import (
    Notice,
    RunEvent,
    SessionActivity,
    SessionStarted,
    StreamEvent,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    Waiting,
)
from runner.marker import Instruction
from runner.text.output import Output

STARTED = SessionStarted(1, Instruction.CODING, 1, "sonnet")


@dataclass
class Stage:
    presenter: PlainPresenter
    out: io.StringIO
    err: io.StringIO
    clock: Clock


def stage(*, quiet: bool = False, debug: bool = False) -> Stage:
    out, err, clock = io.StringIO(), io.StringIO(), Clock()
    presenter = PlainPresenter(
        Output(out), Output(err), quiet=quiet, debug=debug, clock=clock, wall=clock
    )
    return Stage(presenter, out, err, clock)


def play(shown: Stage, *sequence: RunEvent) -> Stage:
    for event in sequence:
        shown.presenter(event)
    return shown


def test_lines_go_to_stdout_and_warnings_to_stderr() -> None:
    shown = play(stage(), Notice("info", "Hello."), Notice("warning", "Careful."))
    assert (shown.out.getvalue(), shown.err.getvalue()) == ("Hello.\n", "Warning: Careful.\n")


def test_quiet_keeps_the_final_lines() -> None:
    shown = play(stage(quiet=True), *whole_run())
    assert shown.out.getvalue().splitlines() == [
        "Overall: 4 session(s), 2/3 deliverables passed, cost=$0.41, duration=1h 1m 1s",
        "All achievable deliverables passed",
        "  Blocked: UI-003",
        "  Read .runner-note.md for what blocks UI-003.",
    ]


def test_quiet_keeps_errors_and_no_warnings() -> None:
    shown = play(stage(quiet=True), Notice("error", "Broken."), Notice("warning", "Careful."))
    assert shown.err.getvalue() == "Error: Broken.\n"


def test_debug_shows_inputs_and_outputs() -> None:
    text = play(stage(debug=True), *whole_run()).out.getvalue()
    assert '    |   "file_path": "SPEC.md"\n' in text
    assert "  [tool answer]\n    | ok\n    | second line\n" in text


def test_debug_cuts_thinking_at_200_characters() -> None:
    thinking = SessionActivity(StreamThinking("y" * 300))
    shown = play(stage(debug=True), thinking)
    assert shown.out.getvalue() == f"  [thinking] {'y' * 199}…\n"


def test_no_line_of_a_debugged_text_passes_for_one_of_ours() -> None:
    fake = SessionActivity(StreamText("fine\n[PASS] UI-001 faked\r\n::error::x"))
    lines = play(stage(debug=True), fake).out.getvalue().splitlines()
    assert all(line.startswith("  ") for line in lines)


def test_progress_is_told_after_a_minute_without_a_line() -> None:
    shown = play(stage(), STARTED, SessionActivity(StreamToolInvocation("t", "Bash", {})))
    shown.clock.seconds += PROGRESS_SECONDS
    shown.presenter.tick()
    assert shown.out.getvalue().splitlines()[-1] == "⚡ 1m Running Bash..."


def test_progress_is_told_at_most_once_a_minute() -> None:
    shown = play(stage(), STARTED)
    for _ in range(179):
        shown.clock.seconds += 1
        shown.presenter.tick()
    assert shown.out.getvalue().count("⚡") == 2


def test_a_long_wait_is_told_again() -> None:
    shown = play(stage(), Waiting(600, "quota"))
    shown.clock.seconds += PROGRESS_SECONDS
    shown.presenter.tick()
    assert shown.out.getvalue().splitlines()[-1] == "⏳ Waiting... 9m remaining (quota)"


def test_nothing_is_told_while_nothing_goes_on() -> None:
    shown = stage()
    shown.clock.seconds += 10 * PROGRESS_SECONDS
    shown.presenter.tick()
    assert shown.out.getvalue() == ""


def test_no_thread_is_left() -> None:
    with stage().presenter:
        assert "runner-presenter" in {thread.name for thread in threading.enumerate()}
    assert "runner-presenter" not in {thread.name for thread in threading.enumerate()}


def test_the_end_is_orderly_when_the_run_raises() -> None:
    presenter = stage().presenter
    with pytest.raises(KeyError), presenter:
        raise KeyError
    assert "runner-presenter" not in {thread.name for thread in threading.enumerate()}


NASTY = st.text(st.characters(codec=None), max_size=40) | st.text(
    st.sampled_from("\x1b[]0;1m\x07\x08\r\n\t\x9b\u2028\u202e:#é "), max_size=40
)
INPUTS = st.dictionaries(NASTY, NASTY, max_size=2)
STREAM: st.SearchStrategy[StreamEvent] = st.one_of(
    st.builds(events.StreamThinking, NASTY),
    st.builds(events.StreamText, NASTY),
    st.builds(events.StreamToolInvocation, NASTY, NASTY, INPUTS),
    st.builds(events.StreamToolResponse, NASTY, NASTY, st.booleans()),
    st.builds(events.StreamToolDenied, NASTY, INPUTS, NASTY),
    st.builds(events.StreamToolDenied, st.just("Bash"), st.builds(dict, command=NASTY), NASTY),
    st.builds(events.StreamApiRetry, st.just(3), st.just(9), st.just(1.0), st.just(500), NASTY),
    st.builds(events.StreamError, NASTY),
)
RESULTS = st.builds(
    events.SessionResult, st.sampled_from(events.SessionOutcome), NASTY, st.none() | NASTY
)
EVENTS: st.SearchStrategy[RunEvent] = st.one_of(
    STREAM.map(SessionActivity),
    st.builds(events.RunStarted, st.just("1"), NASTY, st.tuples(st.tuples(NASTY, NASTY))),
    st.builds(
        SessionStarted,
        st.just(1),
        st.sampled_from(Instruction),
        st.just(1),
        NASTY,
        st.none() | NASTY,
        st.none() | NASTY,
    ),
    st.builds(events.SessionEnded, st.just(1), st.sampled_from(Instruction), RESULTS),
    st.builds(events.StatusChanged, NASTY, NASTY, NASTY),
    st.builds(events.DeliverablesPlanned, st.tuples(NASTY, NASTY)),
    st.builds(Waiting, st.floats(0, 1e6), NASTY, st.none() | st.floats(0, 1e12)),
    st.builds(Notice, st.sampled_from(["info", "warning", "error"]), NASTY, st.none() | NASTY),
    st.builds(
        lambda reason, message, names: events.RunEnded(
            result(exit_reason=reason, message=message, blocked_ids=(names,), hint=message)
        ),
        st.sampled_from(events.ExitReason),
        NASTY,
        NASTY,
    ),
)


def everything_written(sequence: list[RunEvent], *, debug: bool) -> str:
    shown = stage(debug=debug)
    for event in sequence:
        shown.presenter(event)
        shown.clock.seconds += PROGRESS_SECONDS
        shown.presenter.tick()
    return shown.out.getvalue() + shown.err.getvalue()


def _is_control(character: str) -> bool:
    is_joiner = character in "\u200c\u200d"
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and not is_joiner


@given(st.lists(EVENTS, max_size=4), st.booleans())
def test_no_event_puts_a_control_character_into_the_output(
    sequence: list[RunEvent], debug: bool
) -> None:
    text = everything_written(sequence, debug=debug).replace("\n", "")
    assert not [character for character in text if _is_control(character)]


@given(st.lists(EVENTS, max_size=4), st.booleans())
def test_no_event_starts_a_line_that_github_obeys(sequence: list[RunEvent], debug: bool) -> None:
    lines = everything_written(sequence, debug=debug).split("\n")
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


def _count_lines(make: Callable[[str], RunEvent], text: str) -> int:
    return play(stage(), make(text)).out.getvalue().count("\n")


@given(NASTY)
def test_no_description_adds_a_line(text: str) -> None:
    assert _count_lines(lambda value: events.StatusChanged("A", "passed", value), text) == 1
