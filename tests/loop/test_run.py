"""The loop, with a fake agent."""

import signal
from pathlib import Path

import anyio
import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import COMPLETED, FAILED, FakeSession, deliverable

from runner.deliverables.model import Status
from runner.events import (
    ExitReason,
    Notice,
    RunEnded,
    RunResult,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    Waiting,
)
from runner.loop.termination import RunLimits
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio


class Talker(Bench):
    """Its coding sessions do nothing."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.INITIALIZER:
            return await super().work(session, marker)
        return COMPLETED


class Failing(Bench):
    """Its sessions fail until `good_after` of them did."""

    good_after = 1_000

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if len(self.factory.prompts) <= self.good_after:
            return FAILED
        return await super().work(session, marker)


async def test_a_spec_is_planned_and_worked_until_all_passed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.ALL_PASSED, 3)


async def test_each_kind_of_session_has_its_model(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    await bench.run.execute()
    models = [(e.instruction, e.model) for e in bench.events if isinstance(e, SessionStarted)]
    assert models == [
        (Instruction.INITIALIZER, "opus"),
        (Instruction.CODING, "sonnet"),
        (Instruction.CODING, "sonnet"),
        (Instruction.REVIEW, "haiku"),
    ]


async def test_each_prompt_names_its_iteration_and_deliverable(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.run.execute()
    assert [(m.iteration, m.task) for m in bench.factory.markers] == [
        (1, None),
        (2, "D-001"),
        (3, "D-002"),
        (3, None),
    ]


async def test_an_existing_plan_is_not_planned_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.run.execute()
    assert bench.instructions() == ["coding D-001", "review"]


async def test_nothing_is_started_when_all_passed_already(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED))
    result = await bench.run.execute()
    assert (result.exit_reason, bench.factory.sessions) == (ExitReason.ALL_PASSED, [])


async def test_a_dependency_is_worked_on_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, needs=("D-002",)), deliverable(2))
    await bench.run.execute()
    assert bench.instructions() == ["coding D-002", "coding D-001", "review"]


async def test_blocked_work_is_left_out_and_listed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.BLOCKED), deliverable(2))
    result = await bench.run.execute()
    assert (result.exit_reason, result.blocked_ids) == (ExitReason.PARTLY_PASSED, ("D-001",))


async def test_max_iterations_ends_after_exactly_that_many_sessions(tmp_path: Path) -> None:
    bench = Talker(tmp_path, RunLimits(max_iterations=2))
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations, len(bench.factory.prompts)) == (
        ExitReason.MAX_ITERATIONS,
        2,
        2,
    )


async def test_no_session_is_connected_beyond_the_last_iteration(tmp_path: Path) -> None:
    bench = Talker(tmp_path, RunLimits(max_iterations=2))
    await bench.run.execute()
    assert len(bench.factory.sessions) == 2


async def test_no_session_is_connected_while_another_works_where_that_is_unsafe(
    tmp_path: Path,
) -> None:
    class Looking(Talker):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            await anyio.wait_all_tasks_blocked()
            open_now.append(sum(not one.closed for one in self.factory.sessions))
            return await super().work(session, marker)

    open_now: list[int] = []
    bench = Looking(tmp_path, RunLimits(max_iterations=3), connects_ahead=False)
    await bench.run.execute()
    assert open_now == [1, 1, 1]


async def test_three_sessions_without_any_change_stop_the_run(tmp_path: Path) -> None:
    bench = Talker(tmp_path)
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.STALLED, 4)


class Writer(Bench):
    """Its coding sessions write a file and pass nothing."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.INITIALIZER:
            return await super().work(session, marker)
        (self.folder / "work.txt").write_text(str(marker.iteration), encoding="utf-8")
        return COMPLETED


async def test_sessions_that_change_files_are_no_stall(tmp_path: Path) -> None:
    result = await Writer(tmp_path, RunLimits(max_iterations=4)).run.execute()
    assert result.exit_reason is ExitReason.MAX_ITERATIONS


async def test_sessions_that_change_files_and_report_nothing_end_by_themselves(
    tmp_path: Path,
) -> None:
    bench = Writer(tmp_path, RunLimits())
    result = await bench.run.execute()
    planning = 1
    assert (result.exit_reason, result.iterations) == (ExitReason.STALLED, 5 + planning)
    notices = [event.message for event in bench.events if isinstance(event, Notice)]
    assert any("none set its status" in text for text in notices)


async def test_failed_sessions_are_tried_again_with_growing_waits(tmp_path: Path) -> None:
    bench = Failing(tmp_path)
    result = await bench.run.execute()
    assert (result.exit_reason, bench.slept) == (ExitReason.MAX_RETRIES_EXCEEDED, [2.0, 4.0, 8.0])


async def test_the_user_is_told_of_each_wait(tmp_path: Path) -> None:
    bench = Failing(tmp_path)
    await bench.run.execute()
    assert [e.seconds for e in bench.events if isinstance(e, Waiting)] == [2.0, 4.0, 8.0]


async def test_a_session_that_succeeds_resets_the_count_of_errors(tmp_path: Path) -> None:
    bench = Failing(tmp_path)
    bench.good_after = 3
    result = await bench.run.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED


async def test_the_next_prompt_says_why_the_last_session_failed(tmp_path: Path) -> None:
    bench = Failing(tmp_path)
    bench.good_after = 1
    await bench.run.execute()
    assert "API Error: 500" in bench.factory.prompts[1]


async def test_an_agent_that_can_not_start_counts_as_a_failed_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.factory.failures = 100
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.MAX_RETRIES_EXCEEDED, 0)


class Planless(Bench):
    """Its planner creates nothing."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        return COMPLETED


async def test_a_planner_that_plans_nothing_has_failed(tmp_path: Path) -> None:
    result = await Planless(tmp_path).run.execute()
    assert result.exit_reason is ExitReason.MAX_RETRIES_EXCEEDED
    assert "without an active deliverable" in result.message


@pytest.mark.parametrize(
    "outcome", [SessionOutcome.TIMED_OUT, SessionOutcome.BUDGET_EXCEEDED, SessionOutcome.MAX_TURNS]
)
async def test_a_planner_that_is_cut_off_each_time_is_not_tried_for_ever(
    tmp_path: Path, outcome: SessionOutcome
) -> None:
    class CutOff(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            assert len(self.factory.prompts) < 9, "it is tried again and again"
            # Each leaves something behind, so that none looks like a stall.
            (tmp_path / f"{len(self.factory.prompts)}.md").touch()
            return SessionResult(outcome, error="It was cut off.", cost_usd=0.5)

    result = await CutOff(tmp_path).run.execute()
    assert result.exit_reason is ExitReason.MAX_RETRIES_EXCEEDED
    assert result.message.endswith("without an active deliverable. It was cut off.")


async def test_costs_add_up_over_sessions(tmp_path: Path) -> None:
    result = await Bench(tmp_path).run.execute()
    assert result.total_cost_usd == pytest.approx(2.0)


async def test_the_budget_is_checked_before_each_session(tmp_path: Path) -> None:
    result = await Bench(tmp_path, RunLimits(max_cost_usd=1.0)).run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.BUDGET_EXCEEDED, 2)


async def test_each_session_may_spend_what_is_left_of_the_budget(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RunLimits(max_cost_usd=5.0))
    await bench.run.execute()
    assert [s.plan.max_cost_usd for s in bench.factory.sessions] == [5.0, 4.5, 4.0, 3.5]


async def test_the_session_limit_wins_where_it_is_lower(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RunLimits(max_cost_usd=5.0), session_limit=0.75)
    await bench.run.execute()
    assert {s.plan.max_cost_usd for s in bench.factory.sessions} == {0.75}


async def test_every_session_that_was_connected_is_closed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.run.execute()
    assert [s.closed for s in bench.factory.sessions] == [True] * len(bench.factory.sessions)


async def test_the_end_is_told_once_and_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = await bench.run.execute()
    ends = [event for event in bench.events if isinstance(event, RunEnded)]
    assert [(end.result, end is bench.events[-1]) for end in ends] == [(result, True)]


class Waiter(Bench):
    """Its coding sessions last until they are interrupted."""

    def __init__(
        self, folder: Path, limits: RunLimits | None = None, *, timeout: float = 3600.0
    ) -> None:
        super().__init__(folder, limits, timeout=timeout)
        self.in_session = anyio.Event()

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.INITIALIZER:
            return await super().work(session, marker)
        self.in_session.set()
        await session.interrupted.wait()
        return SessionResult(SessionOutcome.INTERRUPTED, cost_usd=0.25)


async def _interrupted(bench: Waiter, number: int) -> RunResult:
    async def stop_soon() -> None:
        await bench.in_session.wait()
        bench.run.stop(number)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_soon)
        return await bench.run.execute()
    raise AssertionError


async def test_stop_interrupts_the_session_and_keeps_its_cost(tmp_path: Path) -> None:
    result = await _interrupted(Waiter(tmp_path), signal.SIGINT)
    assert (result.exit_reason, result.total_cost_usd) == (ExitReason.INTERRUPTED, 0.75)


async def test_the_signal_that_stopped_a_run_is_in_the_result(tmp_path: Path) -> None:
    result = await _interrupted(Waiter(tmp_path), signal.SIGTERM)
    assert result.signal_number == signal.SIGTERM


class Sleeper(Failing):
    """Its waits last for ever."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.in_wait = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.in_wait.set()
        await anyio.sleep_forever()


async def test_stop_ends_a_wait_at_once(tmp_path: Path) -> None:
    bench = Sleeper(tmp_path)

    async def stop_in_wait() -> None:
        await bench.in_wait.wait()
        bench.run.stop(signal.SIGINT)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_in_wait)
            result = await bench.run.execute()
    assert result.exit_reason is ExitReason.INTERRUPTED


async def test_a_session_over_its_time_is_ended_and_the_run_goes_on(tmp_path: Path) -> None:
    bench = Waiter(tmp_path, RunLimits(max_iterations=3), timeout=0.01)
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.MAX_ITERATIONS, 3)
    assert "longer than its" in bench.factory.prompts[2]


async def test_a_run_that_breaks_off_before_its_first_session_counts_what_is_there(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED), deliverable(2))
    bench.spec.unlink()
    result = await bench.execute()
    assert (result.exit_reason, result.counts.passed, result.counts.total) == (
        ExitReason.ERROR,
        1,
        2,
    )
