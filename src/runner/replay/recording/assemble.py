"""Put an answer together from the pieces in which it passes by."""

import json
from dataclasses import dataclass
from typing import Any

from runner.replay.wire import Json, blocks_of

_LIMIT = 64 * 1024 * 1024  # characters of one answer; a longer one is passed on, not kept
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
# How each kind of delta adds to its block: its own key, the block's.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}


@dataclass(frozen=True, slots=True)
class Said:
    """One complete answer of the model.

    Attributes:
        blocks: content blocks as the API has them.
        usage: the token counts that a script knows.
    """

    blocks: tuple[Json, ...]
    usage: dict[str, int]
    stop_reason: str | None


class UnreadableError(Exception):
    """What passes by is no answer of the Messages API, or too long."""


class Body:
    """Collects a body that is not streamed."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            UnreadableError: it is too long.
        """
        self._size += len(data)
        if self._size > _LIMIT:
            raise UnreadableError
        self._parts.append(data)

    def json(self) -> Json:
        """Return the object in it; an empty one when there is none."""
        try:
            value = json.loads(b"".join(self._parts))
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def said(self) -> Said | None:
        """Return the answer, None when it is none."""
        value = self.json()
        if value.get("type") != "message":
            return None
        return Said(
            tuple(blocks_of(value.get("content"))), _counts(value.get("usage")), _stop(value)
        )


class Stream:
    """Reads server-sent events, in pieces cut anywhere.

    Attributes:
        done: the answer, as soon as it is complete.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._stop: str | None = None
        self._size = 0
        self.done: Said | None = None

    def feed(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            UnreadableError: it is no stream of the Messages API, or too long.
        """
        self._size += len(data)
        if self._size > _LIMIT:
            raise UnreadableError
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                try:
                    self._take(json.loads(line.removeprefix(b"data:")))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                    raise UnreadableError from error

    def _take(self, event: Json) -> None:
        kind = event["type"]
        if kind == "message_start":
            self._usage.update(_counts(event["message"].get("usage")))
        elif kind == "content_block_start":
            self._blocks[event["index"]] = _Block(event["content_block"])
        elif kind == "content_block_delta":
            self._blocks[event["index"]].add(event["delta"])
        elif kind == "message_delta":
            self._usage.update(_counts(event.get("usage")))
            self._stop = _stop(event["delta"]) or self._stop
        elif kind == "message_stop":
            blocks = (self._blocks[index].whole() for index in sorted(self._blocks))
            self.done = Said(tuple(blocks), self._usage, self._stop)


class _Block:
    def __init__(self, start: Json) -> None:
        self._start = start
        self._pieces: dict[str, list[str]] = {}

    def add(self, delta: Json) -> None:
        known = _DELTAS.get(delta["type"])
        if known is not None:
            key, target = known
            self._pieces.setdefault(target, []).append(delta[key])

    def whole(self) -> Json:
        block = dict(self._start)
        for key, pieces in self._pieces.items():
            text = "".join(pieces)
            if key != "input":
                block[key] = (block.get(key) or "") + text
            elif text:
                block[key] = json.loads(text)
        return block


def _counts(usage: Any) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    found = {name: usage.get(name) for name in _COUNTS}
    return {n: count for n, count in found.items() if isinstance(count, int) and count >= 0}


def _stop(value: Json) -> str | None:
    reason = value.get("stop_reason")
    return reason if isinstance(reason, str) and reason else None
