from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from tests.loop.fakes import COMPLETED, FakeFactory, FakeSession

from runner.events import SessionResult
from runner.loop.prefetch import ConnectAhead
from runner.marker import Instruction, PromptMarker
from runner.ports import SessionPlan

pytestmark = pytest.mark.anyio

PLAN = SessionPlan(Instruction.CODING, "sonnet")
OTHER = SessionPlan(Instruction.CODING, "opus")


async def _nothing(_session: FakeSession, _marker: PromptMarker) -> SessionResult:
    return COMPLETED


@asynccontextmanager
async def ahead_of(factory: FakeFactory) -> AsyncIterator[ConnectAhead]:
    async with anyio.create_task_group() as tasks, ConnectAhead(factory, tasks) as ahead:
        yield ahead


async def test_a_prepared_session_is_the_one_that_is_taken() -> None:
    factory = FakeFactory(_nothing)
    async with ahead_of(factory) as ahead:
        ahead.prepare(PLAN)
        assert await ahead.take(PLAN) is factory.sessions[0]


async def test_a_session_prepared_for_something_else_is_closed() -> None:
    factory = FakeFactory(_nothing)
    async with ahead_of(factory) as ahead:
        ahead.prepare(OTHER)
        await ahead.take(PLAN)
    assert [session.closed for session in factory.sessions] == [True, False]


async def test_what_nobody_took_is_closed_at_the_end() -> None:
    factory = FakeFactory(_nothing)
    async with ahead_of(factory) as ahead:
        ahead.prepare(PLAN)
        await anyio.wait_all_tasks_blocked()
    assert [session.closed for session in factory.sessions] == [True]


async def test_only_one_session_is_kept_ready() -> None:
    factory = FakeFactory(_nothing)
    async with ahead_of(factory) as ahead:
        ahead.prepare(PLAN)
        ahead.prepare(PLAN)
        await anyio.wait_all_tasks_blocked()
        assert len(factory.sessions) == 1


async def test_a_preparation_that_failed_is_made_up_for_when_taken() -> None:
    factory = FakeFactory(_nothing, failures=1)
    async with ahead_of(factory) as ahead:
        ahead.prepare(PLAN)
        await anyio.wait_all_tasks_blocked()
        assert await ahead.take(PLAN) is factory.sessions[0]


async def test_being_cancelled_while_it_connects_leaves_nothing_open() -> None:
    factory = FakeFactory(_nothing)
    async with ahead_of(factory) as ahead:
        ahead.prepare(PLAN)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await ahead.take(PLAN)
    assert [session.closed for session in factory.sessions] == [True] * len(factory.sessions)
