import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runner.text.output import Output, Ticker

SCENES = Path(__file__).with_name("scenes.py")


class GoneStream(io.StringIO):
    """A stream whose reader went away."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise self.error


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "EIO"), ValueError("closed")])
def test_a_stream_that_went_away_is_left_alone(error: Exception) -> None:
    stream = GoneStream(error)
    output = Output(stream)
    output.write("one\n")
    output.write("two\n")
    assert stream.tries == 1


def test_a_terminal_that_would_block_is_tried_again() -> None:
    stream = GoneStream(BlockingIOError())
    output = Output(stream)
    output.write("one\n")
    output.write("two\n")
    assert stream.tries == 2


def test_no_stream_is_no_error() -> None:
    output = Output(None)
    output.write("text")
    assert (output.is_terminal(), output.columns(), output.in_foreground()) == (False, 80, True)


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert not Output(stream).is_terminal()


def test_what_the_encoding_lacks_is_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Output(stream).write("⚡ 5s… “é”\n")
    assert raw.getvalue() == b'* 5s... "?"\n'


def test_a_ticker_ticks_until_it_is_stopped() -> None:
    ticked = threading.Event()
    ticker = Ticker(0.001, ticked.set)
    ticker.start()
    assert ticked.wait(10)
    ticker.stop()
    assert "runner-presenter" not in {thread.name for thread in threading.enumerate()}


def test_a_ticker_may_be_stopped_twice() -> None:
    ticker = Ticker(0.001, lambda: None)
    ticker.stop()
    ticker.stop()
    assert "runner-presenter" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.process
@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_a_reader_that_leaves_early_ends_nothing(output_format: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, str(SCENES), output_format, "0"],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, "Traceback" in done.stderr, "BrokenPipe" in done.stderr) == (
        0,
        False,
        False,
    )
