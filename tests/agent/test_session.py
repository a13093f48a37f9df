"""A session over a client that can be made to do what the real one rarely does."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    RateLimitEvent,
    RateLimitInfo,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from runner.agent.claude.requested_calls import AskedCalls
from runner.agent.claude.session import ClaudeSession, SinkSlot, StderrTail
from runner.credentials import KEYS_BY_THEIR_FORM
from runner.events import (
    SessionOutcome,
    StreamApiRetry,
    StreamEnd,
    StreamEvent,
    StreamText,
    StreamToolDenied,
)

pytestmark = pytest.mark.anyio


class FakeClient:
    """Answers with prepared messages, then ends, or fails, or waits until it is released."""

    def __init__(self, *messages: Any, error: Exception | None = None, waits: bool = False) -> None:
        self.messages = messages
        self.error = error
        self.waiting = anyio.Event()
        self.released = anyio.Event()
        if not waits:
            self.released.set()
        self.hangs = False
        self.unasked: tuple[Any, ...] = ()
        self.disconnects = 0
        self.usage: dict[str, Any] | Exception = {"percentage": 41.6}

    async def query(self, prompt: str) -> None:
        self.prompt = prompt

    async def receive_response(self) -> AsyncIterator[Any]:
        for message in self.messages:
            yield message
        self.waiting.set()
        await self.released.wait()
        if self.error is not None:
            raise self.error

    async def receive_messages(self) -> AsyncIterator[Any]:
        for message in self.unasked:
            yield message
        await anyio.sleep_forever()

    async def get_context_usage(self) -> dict[str, Any]:
        if isinstance(self.usage, Exception):
            raise self.usage
        return self.usage

    async def interrupt(self) -> None:
        if self.hangs:
            await anyio.sleep_forever()
        self.released.set()

    async def disconnect(self) -> None:
        self.disconnects += 1
        if self.error is not None:
            raise self.error


class FakeProcess:
    """Remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def terminate(self) -> None:
        self.asked.append("terminate")

    async def end(self, *, within_seconds: float) -> None:
        self.asked.append("end")


class FakeTools:
    bound_task: str | None = None
    review: str | None = None


class Scene:
    """A session with everything around it."""

    def __init__(self, client: FakeClient, *, stderr: Sequence[str] = ()) -> None:
        parts: dict[str, Any] = {"client": client, "process": FakeProcess(), "tools": FakeTools()}
        self.process, self.tools, self.slot = (
            parts["process"],
            parts["tools"],
            SinkSlot(KEYS_BY_THEIR_FORM),
        )
        tail = StderrTail(KEYS_BY_THEIR_FORM)
        for line in stderr:
            tail(line)
        self.session = ClaudeSession(**parts, asked=AskedCalls(), slot=self.slot, stderr=tail)
        self.events: list[StreamEvent] = []

    async def run(self) -> Any:
        return await self.session.run("do it", task_id="UI-001", sink=self.events.append)


def _result(**changes: Any) -> ResultMessage:
    given = {"subtype": "success", "is_error": False, "result": "Done.", "session_id": "s"}
    numbers = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
    return ResultMessage(**{**given, **numbers, **changes})


def _retry(status: int) -> SystemMessage:
    return SystemMessage("api_retry", {"attempt": 1, "max_retries": 5, "error_status": status})


def _rejected() -> RateLimitEvent:
    info = RateLimitInfo("rejected", resets_at=1_800_000_000, rate_limit_type="five_hour")
    return RateLimitEvent(info, "u", "s")


def _said(text: str) -> AssistantMessage:
    return AssistantMessage([TextBlock(text)], "m")


async def test_the_prompt_goes_to_the_client_and_the_task_to_the_tools() -> None:
    client = FakeClient(_result())
    scene = Scene(client)
    await scene.run()
    assert (client.prompt, scene.tools.bound_task) == ("do it", "UI-001")


async def test_events_come_in_order_and_end_once() -> None:
    scene = Scene(FakeClient(_said("a"), _said("b"), _result()))
    await scene.run()
    assert scene.events == [StreamText("a"), StreamText("b"), StreamEnd()]


async def test_a_stream_that_ends_without_a_result_is_a_crash() -> None:
    result = await Scene(FakeClient(_said("almost")), stderr=["out of memory"]).run()
    assert (result.outcome, result.text) == (SessionOutcome.CRASHED, "almost")
    assert result.error == (
        "The agent process ended without a result. It last wrote: out of memory"
    )


async def test_a_broken_stream_is_a_crash_told_in_one_line() -> None:
    scene = Scene(FakeClient(error=Exception("exit code 1\nsee stderr")))
    result = await scene.run()
    assert result.outcome is SessionOutcome.CRASHED
    assert result.error == "The agent process failed: exit code 1."
    assert scene.events == [StreamEnd()]


async def test_a_refused_key_ends_the_session_at_the_first_retry() -> None:
    scene = Scene(FakeClient(_retry(401), waits=True))
    result = await scene.run()
    assert (result.http_status, result.fatal) == (401, True)


async def test_other_retries_are_shown_and_waited_for() -> None:
    scene = Scene(FakeClient(_retry(529), _result()))
    assert (await scene.run()).outcome is SessionOutcome.COMPLETED
    assert [type(event) for event in scene.events] == [StreamApiRetry, StreamEnd]


async def test_a_quota_is_known_by_the_event_before_the_failure() -> None:
    failure = _result(is_error=True, api_error_status=429, result="API Error: 429")
    result = await Scene(FakeClient(_rejected(), failure)).run()
    assert result.outcome is SessionOutcome.QUOTA_EXCEEDED
    assert result.quota_resets_at == 1_800_000_000


async def test_a_rejected_event_alone_is_no_quota() -> None:
    result = await Scene(FakeClient(_rejected(), _result())).run()
    assert result.outcome is SessionOutcome.COMPLETED


@pytest.mark.parametrize("error", [None, Exception("broken pipe")])
async def test_a_stream_that_ends_after_an_interrupt_was_interrupted(
    error: Exception | None,
) -> None:
    client = FakeClient(error=error, waits=True)
    scene = Scene(client)

    async def interrupt() -> None:
        await client.waiting.wait()
        await scene.session.interrupt()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(interrupt)
        result = await scene.run()
    assert result.outcome is SessionOutcome.INTERRUPTED


async def test_an_interrupt_that_comes_too_late_changes_nothing() -> None:
    scene = Scene(FakeClient(_result()))
    result = await scene.run()
    await scene.session.interrupt()
    assert result.outcome is SessionOutcome.COMPLETED


async def test_an_agent_that_does_not_answer_does_not_hold_up_an_interrupt() -> None:
    client = FakeClient(waits=True)
    client.hangs = True
    scene = Scene(client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.run)
        await client.waiting.wait()
        await scene.session.interrupt()
        tasks.cancel_scope.cancel()
    assert scene.events == [StreamEnd()]


async def test_closing_after_the_result_disconnects_and_makes_sure() -> None:
    client = FakeClient(_result())
    scene = Scene(client)
    await scene.run()
    await scene.session.close()
    assert (client.disconnects, scene.process.asked) == (1, ["end"])


async def test_closing_in_mid_turn_does_not_wait_for_the_agent() -> None:
    scene = Scene(FakeClient(_said("a")))
    await scene.run()
    await scene.session.close()
    assert scene.process.asked == ["terminate", "end"]


async def test_closing_twice_is_closing_once() -> None:
    client = FakeClient(_result())
    scene = Scene(client)
    await scene.session.close()
    await scene.session.close()
    assert (client.disconnects, scene.process.asked) == (1, ["end"])


async def test_a_client_that_can_not_disconnect_is_ended_all_the_same() -> None:
    scene = Scene(FakeClient(error=Exception("not connected")))
    await scene.session.close()
    assert scene.process.asked == ["end"]


async def test_the_process_is_ended_even_when_closing_is_cancelled() -> None:
    scene = Scene(FakeClient(_result()))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await scene.session.close()
    assert scene.process.asked == ["end"]


async def test_a_refusal_reaches_the_sink_of_the_session_that_runs() -> None:
    scene = Scene(FakeClient(_result()))
    denial = StreamToolDenied("Bash", {}, "no")
    scene.slot.denied(denial)
    await scene.run()
    scene.slot.denied(denial)
    assert scene.events == [StreamEnd(), denial]


PAID = AssistantMessage(
    [TextBlock("Working.")],
    model="claude-opus-9",
    message_id="m1",
    usage={"input_tokens": 1_000_000, "output_tokens": 10_000},
)


async def test_a_crashed_session_is_charged_for_the_turns_it_had() -> None:
    result = await Scene(FakeClient(PAID, error=RuntimeError("gone"))).run()
    assert (result.outcome, result.cost_usd > 1) == (SessionOutcome.CRASHED, True)


async def test_a_session_that_gave_its_own_account_is_charged_by_it() -> None:
    result = await Scene(FakeClient(PAID, _result(total_cost_usd=5.5))).run()
    assert result.cost_usd == 5.5


@pytest.mark.parametrize("claimed", [0.0, 0.01, 5.0])
async def test_no_account_is_below_what_the_turns_cost_at_least(claimed: float) -> None:
    result = await Scene(FakeClient(PAID, _result(total_cost_usd=claimed))).run()
    assert result.cost_usd > 5.25


async def test_a_second_account_does_not_take_back_what_was_spent() -> None:
    client = FakeClient(PAID, _result(total_cost_usd=6.0))
    scene = Scene(client)
    first = await scene.run()
    client.messages = (_result(total_cost_usd=0.0),)
    assert first.cost_usd + (await scene.run()).cost_usd >= 6.0


async def test_a_turn_can_not_be_made_cheaper_by_a_later_message() -> None:
    cheaper = replace(PAID, usage={"input_tokens": 1})
    result = await Scene(FakeClient(PAID, cheaper, error=RuntimeError("gone"))).run()
    assert result.cost_usd > 5.25


def _called(call_id: str) -> AssistantMessage:
    return AssistantMessage([ToolUseBlock(call_id, "Bash", {"command": "make"})], "m")


def _answered(call_id: str) -> UserMessage:
    return UserMessage([ToolResultBlock(call_id, "ok")])


async def test_an_end_while_a_tool_is_at_work_did_not_come_from_the_agent() -> None:
    scene = Scene(FakeClient(_called("c1"), _result()))
    scene.tools.review = "pass"
    result = await scene.run()
    assert (result.outcome, scene.tools.review) == (SessionOutcome.CRASHED, None)
    assert "did not come from the agent" in str(result.error)


async def test_an_end_after_the_tools_have_answered_counts() -> None:
    result = await Scene(FakeClient(_called("c1"), _answered("c1"), _result())).run()
    assert result.outcome is SessionOutcome.COMPLETED


async def test_an_answer_that_nobody_asked_for_does_not_end_the_next_prompt() -> None:
    client = FakeClient(_result())
    scene = Scene(client)
    await scene.run()
    client.unasked = (_result(),)
    assert (await scene.run()).outcome is SessionOutcome.CRASHED


async def test_no_credentials_at_all_is_fatal_and_says_what_to_set() -> None:
    said = _result(is_error=True, result="Not logged in · Please run /login")
    result = await Scene(FakeClient(said)).run()
    assert result.fatal
    assert "ANTHROPIC_API_KEY" in str(result.error)


async def test_a_second_prompt_is_billed_for_itself_alone() -> None:
    client = FakeClient(_result(total_cost_usd=0.5))
    scene = Scene(client)
    await scene.run()
    client.messages = (_result(total_cost_usd=0.75),)
    assert (await scene.run()).cost_usd == pytest.approx(0.25)


async def test_the_use_of_the_context_is_what_the_agent_measures() -> None:
    assert await Scene(FakeClient()).session.context_usage() == 42


async def test_an_agent_that_can_not_tell_its_usage_breaks_nothing() -> None:
    client = FakeClient()
    client.usage = RuntimeError("busy")
    assert await Scene(client).session.context_usage() is None


async def test_a_closed_session_has_no_usage() -> None:
    scene = Scene(FakeClient())
    await scene.session.close()
    assert await scene.session.context_usage() is None


def _used(tokens: int) -> dict[str, Any]:
    return {"claude-opus-9": {"inputTokens": tokens, "outputTokens": 5, "costUSD": 0.1}}


async def test_a_session_tells_what_it_took_of_each_model() -> None:
    result = await Scene(FakeClient(_result(model_usage=_used(100)))).run()
    assert [(use.model, use.input_tokens) for use in result.tokens] == [("claude-opus-9", 100)]


async def test_a_crashed_session_tells_the_tokens_of_the_turns_it_had() -> None:
    result = await Scene(FakeClient(PAID, error=RuntimeError("gone"))).run()
    assert [use.input_tokens for use in result.tokens] == [1_000_000]


async def test_a_second_prompt_tells_its_own_tokens_alone() -> None:
    client = FakeClient(_result(model_usage=_used(100)))
    scene = Scene(client)
    await scene.run()
    client.messages = (_result(model_usage=_used(130)),)
    assert [use.input_tokens for use in (await scene.run()).tokens] == [30]


KEY = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"


async def test_credentials_are_taken_out_of_all_that_is_passed_on() -> None:
    use = AssistantMessage([ToolUseBlock("toolu_1", "Bash", {"command": f"echo {KEY}"})], "m")
    answered = UserMessage([ToolResultBlock("toolu_1", f"it says {KEY}")])
    scene = Scene(FakeClient(_said(f"a {KEY}"), use, answered, _result(result=f"Done: {KEY}")))
    result = await scene.run()
    assert KEY not in repr((scene.events, result))
    assert result.text == "Done: [redacted]"


async def test_credentials_are_taken_out_of_what_a_dying_agent_wrote() -> None:
    result = await Scene(FakeClient(), stderr=[f"bad key {KEY}"]).run()
    assert "bad key [redacted]" in str(result.error)
