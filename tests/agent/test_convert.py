"""SDK messages as the domain's stream events."""

from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    Message,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from runner.agent.claude.session import stream_events
from runner.events import (
    StreamApiRetry,
    StreamError,
    StreamEvent,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    StreamToolResponse,
)


def _said(*blocks: Any, **more: Any) -> AssistantMessage:
    return AssistantMessage(content=list(blocks), model="m", **more)


def _answered(content: Any, is_error: bool | None = None) -> UserMessage:
    return UserMessage(content=[ToolResultBlock("t1", content, is_error)])


def _retry(**data: Any) -> SystemMessage:
    return SystemMessage("api_retry", data)


CASES: dict[str, tuple[Message, list[StreamEvent]]] = {
    "blocks keep their order": (
        _said(ThinkingBlock("hm", "sig"), TextBlock("so"), ToolUseBlock("t1", "Bash", {"a": 1})),
        [StreamThinking("hm"), StreamText("so"), StreamToolInvocation("t1", "Bash", {"a": 1})],
    ),
    "the text of an API failure is an error": (
        _said(TextBlock("API Error: 500"), error="server_error"),
        [StreamError("API Error: 500")],
    ),
    "a text answer": (_answered("out"), [StreamToolResponse("t1", "out", is_error=False)]),
    "a failed answer": (_answered("no", True), [StreamToolResponse("t1", "no", is_error=True)]),
    "an answer in parts": (
        _answered([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], False),
        [StreamToolResponse("t1", "a\nb", is_error=False)],
    ),
    "an answer that is a picture": (
        _answered([{"type": "image", "source": {}}]),
        [StreamToolResponse("t1", "", is_error=False)],
    ),
    "an empty answer": (_answered(None), [StreamToolResponse("t1", "", is_error=False)]),
    "a user's own words": (UserMessage(content="go on"), []),
    "bookkeeping": (SystemMessage("init", {"tools": []}), []),
    "a retry": (
        _retry(
            attempt=2,
            max_retries=5,
            retry_delay_ms=1500,
            error_status=529,
            error="overloaded_error",
        ),
        [StreamApiRetry(2, 5, 1.5, 529, "overloaded_error")],
    ),
    "a retry that says little": (
        _retry(attempt=None, error_status=None),
        [StreamApiRetry(0, 0, 0.0, None, "")],
    ),
}


@pytest.mark.parametrize(("message", "events"), CASES.values(), ids=CASES.keys())
def test_what_a_message_means(message: Message, events: list[StreamEvent]) -> None:
    assert list(stream_events(message)) == events
