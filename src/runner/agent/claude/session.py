"""One agent session: `ClaudeSDKClient` behind the loop's `AgentSession` protocol."""

import re
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from runner.agent.claude.classify import (
    SessionTail,
    classify_result,
    crashed,
    interrupted,
    refused_key,
)
from runner.agent.claude.requested_calls import AskedCalls
from runner.agent.claude.usage import SpentTokens, tokens_since
from runner.credentials import Redactor
from runner.deliverables.tools import DeliverableTools
from runner.events import (
    SessionOutcome,
    SessionResult,
    StreamApiRetry,
    StreamEnd,
    StreamError,
    StreamEvent,
    StreamText,
    StreamThinking,
    StreamToolDenied,
    StreamToolInvocation,
    StreamToolResponse,
    StreamUsage,
    TokenUse,
)
from runner.ports import StreamSink
from runner.sandbox.process import AgentProcess

if TYPE_CHECKING:
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeSDKClient,
        Message,
        RateLimitInfo,
        SystemMessage,
        UserMessage,
    )


# They never reach our hook, and come back as the tool's answer. A user must see them all the same:
# they are why an agent is stuck.
_REFUSAL = re.compile(
    r"denied by your permission settings|No such tool available|Permission to use .* denied"
    r"|requested permissions to",
    re.IGNORECASE,
)
_FRAME = re.compile(r"</?tool_use_error>")


class Refusals:
    """Matches a session's tool answers with the calls they answer."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}

    def denial(self, event: StreamEvent) -> StreamToolDenied | None:
        """Take note of an event; return the refusal it stands for, if it does."""
        if isinstance(event, StreamToolInvocation):
            self._calls[event.tool_use_id] = (event.name, event.input)
        if not isinstance(event, StreamToolResponse):
            return None
        name, given = self._calls.pop(event.tool_use_id, ("tool", {}))
        if not event.is_error or not _REFUSAL.search(event.content[:500]):
            return None
        return StreamToolDenied(name, given, _FRAME.sub("", event.content).strip())


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


_STDERR_LINES = 20
_USAGE_SECONDS = 5.0
_INTERRUPT_SECONDS = 1.0
_LEAVE_SECONDS = 0.5
_END_SECONDS = 2.0
_UNASKED_SECONDS = 0.02
_UNAUTHORIZED = 401


class StderrTail:
    """The last lines the agent process wrote to standard error: start-up errors stand there."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES)

    def __call__(self, line: str) -> None:
        self._lines.append(self._redactor.text(line))

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, oldest first."""
        return tuple(self._lines)


class SinkSlot:
    """Where a session's events go; nowhere until it runs. Hooks are made before that.

    It is the only way in for what an agent says: credentials are taken out here.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.sink: StreamSink | None = None
        self.redactor = redactor

    def __call__(self, event: StreamEvent) -> None:
        if self.sink is not None:
            self.sink(self.redactor.record(event))

    def denied(self, event: StreamToolDenied) -> None:
        """Report a refused tool call."""
        self(event)


class ClaudeSession:
    """A connected agent with a fresh context. Implements `AgentSession`."""

    def __init__(
        self,
        client: "ClaudeSDKClient",
        process: AgentProcess,
        tools: DeliverableTools,
        *,
        asked: AskedCalls,
        slot: SinkSlot,
        stderr: StderrTail,
    ) -> None:
        self._client = client
        self._asked = asked
        self._open_calls: set[str] = set()
        self._process = process
        self._tools = tools
        self._slot = slot
        self._stderr = stderr
        self._last_text = ""
        self._rate_limit: RateLimitInfo | None = None
        self._broken: str | None = None
        self._spent = SpentTokens()
        self._billed_usd = 0.0
        self._billed_tokens: tuple[TokenUse, ...] = ()
        self._refusals = Refusals()
        self._prompts = 0
        self._in_turn = False
        self._interrupted = False
        self._closed = False

    async def run(self, prompt: str, *, task_id: str | None, sink: StreamSink) -> SessionResult:
        """See `AgentSession.run`."""
        self._tools.bound_task = task_id
        self._slot.sink = sink
        started = time.monotonic()
        self._in_turn = True
        try:
            result = await self._converse(prompt)
        finally:
            sink(StreamEnd())
        if self._in_turn:  # it ended without its own account of what it spent
            known = self._spent
            result = replace(result, cost_usd=known.estimated_usd, tokens=known.by_model)
        result = self._since_last(result)
        if self._interrupted and result.outcome is not SessionOutcome.COMPLETED:
            result = interrupted(result)
        result = replace(result, duration_seconds=time.monotonic() - started)
        return self._slot.redactor.record(result)

    def _since_last(self, result: SessionResult) -> SessionResult:
        """Take off what an earlier prompt has cost: the agent counts over its whole life."""
        spent, self._billed_usd = self._billed_usd, max(self._billed_usd, result.cost_usd)
        tokens = tokens_since(self._billed_tokens, result.tokens)
        self._billed_tokens = result.tokens or self._billed_tokens
        return replace(result, cost_usd=max(result.cost_usd - spent, 0.0), tokens=tokens)

    async def context_usage(self) -> int | None:
        """See `AgentSession.context_usage`."""
        usage = None
        if not self._closed:
            # A busy or dying agent may not answer; nothing depends on this one number.
            with suppress(Exception), anyio.move_on_after(_USAGE_SECONDS):
                usage = await self._client.get_context_usage()
        return None if usage is None else round(usage["percentage"])

    async def interrupt(self) -> None:
        """See `AgentSession.interrupt`."""
        if self._in_turn and not self._closed:
            self._interrupted = True
            # An agent that no longer answers is ended by close().
            with suppress(Exception), anyio.move_on_after(_INTERRUPT_SECONDS):
                await self._client.interrupt()

    async def close(self) -> None:
        """See `AgentSession.close`."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hurry)
                # A client whose process died has nothing left to disconnect from.
                with suppress(Exception):
                    await self._client.disconnect()
                tasks.cancel_scope.cancel()
            await self._process.end(within_seconds=_END_SECONDS)

    async def _hurry(self) -> None:
        """End a process that would make us wait: one in mid-turn, or with background work."""
        if not self._in_turn:
            await anyio.sleep(_LEAVE_SECONDS)
        self._process.terminate()

    async def _converse(self, prompt: str) -> SessionResult:
        self._prompts += 1
        if self._prompts > 1 and await self._spoke_unasked():
            return self._compromised("The agent answered while nothing was asked")
        async with aclosing(self._messages(prompt)) as messages:
            async for message in messages:
                result = self._take(message)
                if result is not None:
                    return result
        return crashed(self._broken or "The agent process ended without a result.", self._tail())

    async def _spoke_unasked(self) -> bool:
        """Return whether an answer came since the last prompt ended: it would end the next."""
        from claude_agent_sdk import AssistantMessage, ResultMessage  # noqa: PLC0415

        with suppress(Exception), anyio.move_on_after(_UNASKED_SECONDS):
            async for message in self._client.receive_messages():
                if isinstance(message, AssistantMessage | ResultMessage):
                    return True
        return False

    async def _messages(self, prompt: str) -> AsyncGenerator["Message", None]:
        """Yield what the agent answers. Errors of whoever takes the messages stay their own."""
        try:
            await self._client.query(prompt)
            async for message in self._client.receive_response():
                yield message
        except Exception as error:  # noqa: BLE001 - the SDK raises bare Exception for a broken stream
            self._broken = f"The agent process failed: {_first_line(error)}."

    def _take(self, message: "Message") -> SessionResult | None:
        from claude_agent_sdk import AssistantMessage, RateLimitEvent, ResultMessage  # noqa: PLC0415

        if isinstance(message, ResultMessage):
            return self._ended(classify_result(message, self._tail()))
        if isinstance(message, AssistantMessage):
            known = self._spent.estimated_usd
            self._spent.add(message.message_id, message.model, message.usage)
            if self._spent.estimated_usd > known:
                self._slot(StreamUsage(self._spent.estimated_usd))
        if isinstance(message, RateLimitEvent):
            self._rate_limit = message.rate_limit_info
        for event in stream_events(message):
            self._follow(event)
            denied = self._refusals.denial(event)
            if denied is not None:
                self._slot(denied)
            self._slot(event)
            if isinstance(event, StreamText):
                self._last_text = event.text
            if isinstance(event, StreamApiRetry) and event.http_status == _UNAUTHORIZED:
                return refused_key(event.http_status)
        return None

    def _follow(self, event: StreamEvent) -> None:
        if isinstance(event, StreamToolInvocation):
            self._asked.note(event.tool_use_id, event.name, event.input)
            self._open_calls.add(event.tool_use_id)
        elif isinstance(event, StreamToolResponse):
            self._asked.forget(event.tool_use_id)
            self._open_calls.discard(event.tool_use_id)

    def _ended(self, result: SessionResult) -> SessionResult:
        """Return a turn's result as far as it agrees with what the stream has shown."""
        if result.outcome is SessionOutcome.COMPLETED and self._open_calls:
            return self._compromised("The end of the session came while its tools were at work")
        self._in_turn = False
        if result.cost_usd < self._spent.least_usd:
            known = self._spent
            return replace(result, cost_usd=known.estimated_usd, tokens=known.by_model)
        return result

    def _compromised(self, what: str) -> SessionResult:
        """Return the result of a session in which something else spoke for the agent."""
        self._tools.review = None
        return crashed(f"{what}: it did not come from the agent (security).", self._tail())

    def _tail(self) -> SessionTail:
        return SessionTail(self._last_text, self._rate_limit, self._stderr.lines)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
