"""What a request tells the model: the prompt, and the results of the tools it called."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Any

from runner.marker import PromptMarker
from runner.replay.cleaner import Cleaner
from runner.replay.script import ScriptSession, ScriptTurn, ToolCall
from runner.replay.secrets import ANY_MASK
from runner.replay.wire import Json, blocks_of, tool_results, user_texts

# What Claude Code leaves in the middle of a long output. Where it cuts depends on the length of
# the project's path.
_CUT = re.compile(r"\n*\.\.\. \[\d+ (?:characters|lines) truncated\] \.\.\.\n*")
_BEFORE = 30
_EXCERPT = 110


def difference(recorded: str, now: str) -> str | None:
    """Return where two texts differ first, with what stands there in each; None if nowhere."""
    recorded, now = _cut_alike(recorded, now)
    if recorded == now:
        return None
    pairs = zip_longest(recorded.split("\n"), now.split("\n"))
    for number, (old, new) in enumerate(pairs, start=1):
        if old != new and not _but_for_secrets(old or "", new or ""):
            start = max(0, _common(old or "", new or "") - _BEFORE)
            spaces = (old or "").split() == (new or "").split() and None not in (old, new)
            where = f"line {number}{', in white space only' if spaces else ''}"
            return f"{where}: recorded {_shown(old, start)}, now {_shown(new, start)}"
    return None


def _but_for_secrets(old: str, new: str) -> bool:
    """Whether two lines may be the same but for what is a secret on one of the machines only."""
    return _fits(ANY_MASK.split(old), new) or _fits(ANY_MASK.split(new), old)


def _fits(parts: Sequence[str], line: str) -> bool:
    """Whether a line consists of the parts, in this order, with anything between each two."""
    first, *middle, last = parts if len(parts) > 1 else (*parts, "")
    if len(parts) == 1 or not (line.startswith(first) and line.endswith(last)):
        return False
    at, end = len(first), len(line) - len(last)
    for part in middle:
        found = line.find(part, at + 1, end)
        if found < 0:
            return False
        at = found + len(part)
    return at < end


def _cut_alike(recorded: str, now: str) -> tuple[str, str]:
    """Return the lines that both texts have as a whole, where both were cut in the middle."""
    halves = [_CUT.split(text) for text in (recorded, now)]
    if any(len(parts) != 2 for parts in halves):
        return recorded, now
    heads = [head.split("\n")[:-1] for head, _ in halves]
    tails = [tail.split("\n")[1:] for _, tail in halves]
    kept = min(map(len, heads))
    last = min(map(len, tails))
    one, other = (
        "\n".join([*head[:kept], "...", *tail[len(tail) - last :]])
        for head, tail in zip(heads, tails, strict=True)
    )
    return one, other


def _common(one: str, other: str) -> int:
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def _shown(line: str | None, start: int) -> str:
    if line is None:
        return "nothing"
    end = start + _EXCERPT
    return f"{'…' if start else ''}“{line[start:end]}”{'…' if len(line) > end else ''}"


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
    session: ScriptSession, index: int, messages: Sequence[Json], cleaner: Cleaner
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
    recorded: Sequence[str], asked: ScriptTurn | None, now: Sequence[str]
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
