"""SDK messages → the domain's stream events (seed 001 §3.5)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runner.events import (
    StreamApiRetry,
    StreamError,
    StreamEvent,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    StreamToolResponse,
)

if TYPE_CHECKING:
    from claude_agent_sdk import AssistantMessage, Message, SystemMessage, UserMessage


def stream_events(message: "Message") -> Iterator[StreamEvent]:
    """Yield what one SDK message means; nothing for messages that are bookkeeping."""
    from claude_agent_sdk import AssistantMessage, SystemMessage, UserMessage  # noqa: PLC0415

    if isinstance(message, AssistantMessage):
        yield from _from_assistant(message)
    elif isinstance(message, UserMessage):
        yield from _from_user(message)
    elif isinstance(message, SystemMessage) and message.subtype == "api_retry":
        yield _from_retry(message)


def _from_assistant(message: "AssistantMessage") -> Iterator[StreamEvent]:
    from claude_agent_sdk import TextBlock, ThinkingBlock, ToolUseBlock  # noqa: PLC0415

    for block in message.content:
        if isinstance(block, ThinkingBlock):
            yield StreamThinking(block.thinking)
        elif isinstance(block, TextBlock):
            yield StreamError(block.text) if message.error else StreamText(block.text)
        elif isinstance(block, ToolUseBlock):
            yield StreamToolInvocation(block.id, block.name, block.input)


def _from_user(message: "UserMessage") -> Iterator[StreamEvent]:
    from claude_agent_sdk import ToolResultBlock  # noqa: PLC0415

    if isinstance(message.content, str):
        return
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            yield StreamToolResponse(
                block.tool_use_id, _plain_text(block.content), bool(block.is_error)
            )


def _from_retry(message: "SystemMessage") -> StreamApiRetry:
    data = message.data
    return StreamApiRetry(
        attempt=int(data.get("attempt") or 0),
        max_retries=int(data.get("max_retries") or 0),
        delay_seconds=float(data.get("retry_delay_ms") or 0) / 1000,
        http_status=data.get("error_status"),
        error=str(data.get("error") or ""),
    )


def _plain_text(content: "str | list[dict[str, Any]] | None") -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content or () if part.get("type") == "text")
