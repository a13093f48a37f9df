import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.replay.recording.assemble import Body, Stream, UnreadableError
from runner.replay.wire import ModelAnswer, message, natural_stop, stream

TEXTS = st.text(min_size=1, max_size=2000)
INPUTS = st.dictionaries(st.text(max_size=5), st.text() | st.integers() | st.none(), max_size=3)


@st.composite
def answers(draw: st.DrawFn) -> ModelAnswer:
    blocks: list[dict[str, Any]] = []
    if draw(st.booleans()):
        blocks.append({"type": "thinking", "thinking": draw(TEXTS), "signature": "s"})
    if draw(st.booleans()):
        blocks.append({"type": "text", "text": draw(TEXTS)})
    blocks += [
        {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": given_input}
        for number, given_input in enumerate(draw(st.lists(INPUTS, max_size=2)))
    ]
    usage = {"input_tokens": draw(st.integers(0, 9)), "output_tokens": draw(st.integers(0, 9))}
    return ModelAnswer("msg_1", tuple(blocks), usage, stop_reason=natural_stop(blocks))


@given(answers(), st.lists(st.integers(0, 4000), max_size=8))
def test_a_stream_cut_anywhere_gives_the_answer_back(answer: ModelAnswer, cuts: list[int]) -> None:
    data = stream(answer, "m-1")
    listening = Stream()
    for start, end in pairwise(sorted({0, len(data), *(c for c in cuts if c < len(data))})):
        listening.feed(data[start:end])
    assert listening.done is not None
    assert (listening.done.blocks, listening.done.usage) == (answer.blocks, answer.usage)
    assert listening.done.stop_reason == answer.stop_reason


@given(answers())
def test_an_answer_that_is_not_streamed_is_the_same(answer: ModelAnswer) -> None:
    body = Body()
    body.feed(json.dumps(message(answer, "m-1")).encode())
    said = body.said()
    assert said is not None
    assert (said.blocks, said.usage, said.stop_reason) == (
        answer.blocks,
        answer.usage,
        answer.stop_reason,
    )


@pytest.mark.parametrize(
    "data",
    [
        b"data: {\n",
        b"data: []\n",
        b'data: {"type": "message_start"}\n',
        b'data: {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta"}}\n',
        b"data: " + b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_stream_of_the_api_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        Stream().feed(data)


@given(st.binary())
def test_a_body_of_anything_is_read_or_is_nothing(data: bytes) -> None:
    body = Body()
    body.feed(data)
    assert body.said() is None or isinstance(json.loads(data), dict)


def test_a_failed_stream_is_not_done() -> None:
    listening = Stream()
    listening.feed(b'event: error\ndata: {"type": "error", "error": {"type": "api_error"}}\n\n')
    assert listening.done is None


def test_an_unknown_event_changes_nothing() -> None:
    listening = Stream()
    listening.feed(b'data: {"type": "ping"}\n\n')
    listening.feed(stream(ModelAnswer("m", ({"type": "text", "text": "Hi"},), {}), "m-1"))
    assert listening.done is not None
    assert listening.done.blocks == ({"type": "text", "text": "Hi"},)
