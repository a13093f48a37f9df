"""The Messages API as bytes: answers, streams, failures; and reading what was asked."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_REMINDER_END = "</system-reminder>"
_PIECE = 512  # characters a streamed delta carries
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model says to one request.

    Attributes:
        blocks: content blocks as the API has them.
        usage: token counts as the API has them.
        delay_seconds: how long the model takes.
        stop_reason: why the model stopped.
    """

    message_id: str
    blocks: tuple[Json, ...]
    usage: Mapping[str, int]
    delay_seconds: float = 0.0
    stop_reason: str = "end_turn"


def natural_stop(blocks: Iterable[Json]) -> str:
    """Return why a model that said these blocks stops, unless something stopped it."""
    asks = any(block["type"] == "tool_use" for block in blocks)
    return "tool_use" if asks else "end_turn"


def stable_id(prefix: str, *parts: object) -> str:
    """Return an id that is the same for the same parts, so that a repeated request agrees."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode(errors="backslashreplace"))
    return f"{prefix}_{digest.hexdigest()[:24]}"


def estimate_tokens(*values: object) -> int:
    """Return a small positive number of tokens for texts or JSON values."""
    size = sum(len(v) if isinstance(v, str) else len(json.dumps(v)) for v in values)
    return max(1, size // 4)


def message(answer: ModelAnswer, model: str) -> Json:
    """Return the body of an answer that is not streamed."""
    return {
        "id": answer.message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(answer.blocks),
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": dict(answer.usage),
    }


def stream(answer: ModelAnswer, model: str) -> bytes:
    """Return the whole answer as server-sent events."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        for event in _events(answer, model)
    )


def failure(status: int, text: str, kind: str | None = None) -> Json:
    """Return the body of an error; its type follows from the status when not given."""
    default = "api_error" if status >= 500 else "invalid_request_error"
    return {
        "type": "error",
        "error": {"type": kind or _ERROR_TYPES.get(status, default), "message": text},
    }


def user_texts(item: Json) -> list[str]:
    """Return what a user message says itself, without tool results and reminders.

    Claude Code puts reminders into user messages, and they may quote files.
    """
    if item.get("role") != "user":
        return []
    return [without_reminders(text) for text in text_blocks(item.get("content"))]


def without_reminders(text: str) -> str:
    """Return the text without what Claude Code reminds the model of in it."""
    # Past the last end there is nothing to find, and looking costs time for each beginning.
    before, end, rest = text.rpartition(_REMINDER_END)
    return _REMINDER.sub("", before + end) + rest


def text_blocks(content: object) -> list[str]:
    """Return the texts of a content that is a string or a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [
        block["text"]
        for block in blocks_of(content)
        if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]


def tool_results(item: Json) -> list[Json]:
    """Return the tool results of a message."""
    return [b for b in blocks_of(item.get("content")) if b.get("type") == "tool_result"]


def blocks_of(content: object) -> list[Json]:
    """Return the well-formed blocks of a content."""
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def _events(answer: ModelAnswer, model: str) -> Iterator[Json]:
    opening = {**message(answer, model), "content": [], "stop_reason": None}
    opening["usage"] = {**answer.usage, "output_tokens": 1}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(answer.blocks):
        start, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": answer.stop_reason, "stop_sequence": None},
        "usage": dict(answer.usage),
    }
    yield {"type": "message_stop"}


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    """Return a block as it starts, and the deltas that complete it."""
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        return {**block, "text": ""}, deltas
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": p} for p in _pieces(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
    pieces = _pieces(json.dumps(block["input"]))
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {**block, "input": {}}, deltas


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
