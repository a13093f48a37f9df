"""Only what the stream has asked for is carried out, and once."""

import anyio
import pytest

from runner.agent.claude.requested_calls import AskedCalls
from runner.errors import DeliverableError

pytestmark = pytest.mark.anyio

NAME = "mcp__runner__set_status"
INPUT = {"deliverableId": "UI-001", "status": "passed"}


async def test_a_call_that_the_stream_asked_for_is_taken() -> None:
    asked = AskedCalls(0)
    asked.note("c1", NAME, INPUT)
    await asked.take("set_status", dict(INPUT))


async def test_a_call_is_taken_once() -> None:
    asked = AskedCalls(0)
    asked.note("c1", NAME, INPUT)
    await asked.take("set_status", INPUT)
    with pytest.raises(DeliverableError, match="did not make this call"):
        await asked.take("set_status", INPUT)


async def test_a_repeated_part_of_the_stream_asks_for_nothing_new() -> None:
    asked = AskedCalls(0)
    asked.note("c1", NAME, INPUT)
    await asked.take("set_status", INPUT)
    asked.note("c1", NAME, INPUT)
    with pytest.raises(DeliverableError):
        await asked.take("set_status", INPUT)


async def test_two_calls_with_the_same_input_are_two() -> None:
    asked = AskedCalls(0)
    asked.note("c1", NAME, INPUT)
    asked.note("c2", NAME, INPUT)
    await asked.take("set_status", INPUT)
    await asked.take("set_status", INPUT)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("set_status", {**INPUT, "deliverableId": "UI-002"}),
        ("set_status", {**INPUT, "status": "blocked"}),
        ("set_status", {}),
        ("verify", INPUT),
        (NAME, INPUT),
    ],
)
async def test_another_tool_or_input_is_refused(tool: str, arguments: dict[str, str]) -> None:
    asked = AskedCalls(0)
    asked.note("c1", NAME, INPUT)
    with pytest.raises(DeliverableError):
        await asked.take(tool, arguments)


async def test_a_call_that_was_answered_can_not_be_made_again() -> None:
    asked = AskedCalls(0)
    asked.note("c1", NAME, INPUT)
    asked.forget("c1")
    with pytest.raises(DeliverableError):
        await asked.take("set_status", INPUT)


async def test_a_call_may_come_before_the_part_of_the_stream_that_asked_for_it() -> None:
    asked = AskedCalls(60)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.take, "set_status", INPUT)
        await anyio.wait_all_tasks_blocked()
        asked.note("c1", NAME, INPUT)
