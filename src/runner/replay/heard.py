"""What a request tells the model: the prompt, and the results of the tools it called."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from runner.marker import PromptMarker
from runner.replay.cleaner import Cleaner
from runner.replay.compare import difference
from runner.replay.script import Session, ToolCall, Turn
from runner.replay.wire import Json, blocks_of, tool_results, user_texts

_CALL_EXCERPT = 80


def prompt_text(messages: Sequence[Json]) -> str | None:
    """Return the last text that has a marker: the prompt that is being worked on."""
    for item in reversed(messages):
        for text in reversed(user_texts(item)):
            if PromptMarker.find(text) is not None:
                return text
    return None


def last_results(messages: Sequence[Json]) -> list[Json]:
    """Return the tool results since the model's last turn, in the order of its calls."""
    since = list(takewhile(lambda item: not by_model(item), reversed(messages)))
    before = takewhile(by_model, reversed(messages[: len(messages) - len(since)]))
    calls = [
        block.get("id")
        for item in reversed(list(before))
        for block in blocks_of(item.get("content"))
        if block.get("type") == "tool_use"
    ]
    results = [result for item in reversed(since) for result in tool_results(item)]
    order = {call: number for number, call in enumerate(calls)}
    return sorted(results, key=lambda result: order.get(result.get("tool_use_id"), len(order)))


def by_model(item: Json) -> bool:
    """Whether a message is the model's."""
    return item.get("role") == "assistant"


def comparable_results(messages: Sequence[Json], cleaner: Cleaner) -> list[str]:
    """Return the results that a request answers with, as they are compared."""
    return [_comparable(result, cleaner) for result in last_results(messages)]


def unlike_recorded(
    session: Session, index: int, messages: Sequence[Json], cleaner: Cleaner
) -> Iterator[str]:
    """Yield in words how a request differs from the one that was recorded.

    Args:
        index: which answer of the session it asks for, from 0.
    """
    if index == 0 and session.prompt is not None:
        now = cleaner.comparable(prompt_text(messages) or "")
        where = difference(cleaner.settled(session.prompt), now)
        if where is not None:
            yield f"The prompt is not the recorded one; {where}."
    turn = session.step(index)[1]
    if turn is not None and turn.results is not None:
        asked = session.step(index - 1)[1] if index else None
        recorded = list(map(cleaner.settled, turn.results))
        yield from _unlike_results(recorded, asked, comparable_results(messages, cleaner))


def _unlike_results(
    recorded: Sequence[str], asked: Turn | None, now: Sequence[str]
) -> Iterator[str]:
    if len(recorded) != len(now):
        yield f"The recording has {len(recorded)} tool results here, and now there are {len(now)}."
        return
    calls = asked.tools if asked else ()
    for number, (old, new) in enumerate(zip(recorded, now, strict=True)):
        where = difference(old, new)
        if where is not None:
            call = _named(calls[number]) if number < len(calls) else "a tool"
            yield f"The result of {call} is not the recorded one; {where}."


def _named(call: ToolCall) -> str:
    """Return a tool call in a few words; the longest look inside is at its first text."""
    first = next((value for value in call.input.values() if isinstance(value, str)), "")
    line = first.strip().partition("\n")[0]
    excerpt = line[:_CALL_EXCERPT] + ("…" if len(line) > _CALL_EXCERPT else "")
    return f"{call.name} ({excerpt})" if excerpt else call.name


def _comparable(result: Json, cleaner: Cleaner) -> str:
    content = result.get("content")
    parts = [content] if isinstance(content, str) else map(_part, blocks_of(content))
    text = cleaner.comparable("\n".join(parts))
    return f"[error] {text}" if result.get("is_error") else text


def _part(block: Json) -> str:
    text = block.get("text")
    if isinstance(text, str):
        return text
    return f"[{block.get('type')}, {_size(block)}]"


def _size(value: Any) -> str:
    code = json.dumps(value, sort_keys=True).encode()
    return f"{len(code)} bytes, {hashlib.sha256(code).hexdigest()[:12]}"
