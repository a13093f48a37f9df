"""The loop at a usage limit, with a fake agent."""

import signal
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
import tests.loop.bench
from tests.loop.fakes import (
    COMPLETED,
    FAILED,
    FakeSession,
    deliverable,
)

from runner.events import (
    ExitReason,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    Waiting,
)
from runner.loop.termination import RunLimits
from runner.marker import PromptMarker
from runner.quota.waiting import MARGIN_SECONDS, PROBE_SECONDS, QuotaWait, WaitPolicy

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000
REFUSED = SessionResult(
    SessionOutcome.QUOTA_EXCEEDED,
    error="You've hit your 5-hour limit · resets in 1h",
    turns=1,
    quota_resets_at=NOW + 3600,
)
CUT_OFF = replace(REFUSED, cost_usd=0.25, turns=7)


class Bench(tests.loop.bench.Bench):
    """One deliverable; the sessions end as `ends` says, then pass it."""

    def __init__(
        self,
        folder: Path,
        *ends: SessionResult,
        wait: bool = True,
        limits: RunLimits | None = None,
    ) -> None:
        self.ends = list(ends)
        self.now = float(NOW)
        self.open_in_wait: list[int] = []
        super().__init__(
            folder,
            limits or RunLimits(max_iterations=9),
            quota=QuotaWait(
                WaitPolicy(enabled=wait),
                wall=lambda: self.now,
                sleep=self.wait,
                jitter=lambda: 0,
            ),
        )
        self.plan.put(deliverable(1))

    async def wait(self, seconds: float) -> None:
        self.now += seconds
        self.open_in_wait.append(sum(not session.closed for session in self.factory.sessions))

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if self.ends:
            return self.ends.pop(0)
        return await super().work(session, marker)


async def test_without_waiting_the_run_ends_and_says_when_to_come_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED, wait=False)
    result = await bench.run.execute()
    assert (result.exit_reason, result.message, result.quota_resets_at) == (
        ExitReason.QUOTA_EXCEEDED,
        "Quota exceeded",
        NOW + 3600,
    )


async def test_the_hint_of_such_an_end_has_the_words_of_the_agent_and_the_time_left(
    tmp_path: Path,
) -> None:
    result = await Bench(tmp_path, REFUSED, wait=False).run.execute()
    assert result.hint is not None
    assert result.hint.startswith(
        "You've hit your 5-hour limit · resets in 1h. The limit resets at"
    )
    assert "(in 1h 0m)" in result.hint


async def test_a_time_found_in_the_text_alone_is_in_the_result(tmp_path: Path) -> None:
    bench = Bench(tmp_path, replace(REFUSED, quota_resets_at=None), wait=False)
    result = await bench.run.execute()
    assert result.quota_resets_at == NOW + 3600


async def test_after_the_wait_the_same_deliverable_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED)
    result = await bench.run.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert [m.task for m in bench.factory.markers] == ["D-001", "D-001", None]


async def test_the_run_waits_until_the_reset_and_a_margin(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED)
    await bench.run.execute()
    assert bench.now == NOW + 3600 + MARGIN_SECONDS


async def test_the_wait_is_told_again_and_again_with_its_reset(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED)
    await bench.run.execute()
    told = [event for event in bench.events if isinstance(event, Waiting)]
    assert (len(told) > 100, {event.resets_at for event in told}) == (True, {NOW + 3600})


async def test_no_agent_is_kept_open_while_the_run_waits(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED)
    await bench.run.execute()
    assert set(bench.open_in_wait) == {0}


async def test_a_session_that_was_refused_is_no_iteration_but_an_agent_session(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, REFUSED, limits=RunLimits(max_iterations=1))
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations, result.agent_sessions) == (
        ExitReason.ALL_PASSED,
        1,
        3,
    )


async def test_sessions_are_numbered_through_where_iterations_are_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED)
    await bench.run.execute()
    started = [(e.number, e.iteration) for e in bench.events if isinstance(e, SessionStarted)]
    assert started == [(1, 1), (2, 1), (3, 1)]


async def test_a_session_that_worked_before_the_limit_is_an_iteration(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CUT_OFF, limits=RunLimits(max_iterations=1))
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.MAX_ITERATIONS, 1)


async def test_the_next_prompt_tells_of_work_that_was_cut_off(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CUT_OFF)
    await bench.run.execute()
    assert "It ended early:\n\n~~~~ data\nYou've hit your 5-hour limit" in bench.factory.prompts[1]


async def test_the_next_prompt_says_nothing_of_a_session_that_never_began(tmp_path: Path) -> None:
    bench = Bench(tmp_path, REFUSED)
    await bench.run.execute()
    assert "ended early" not in bench.factory.prompts[1]


async def test_limits_are_never_counted_as_errors(tmp_path: Path) -> None:
    bench = Bench(tmp_path, *[CUT_OFF] * 5, limits=RunLimits(max_retries=0))
    assert (await bench.run.execute()).exit_reason is ExitReason.ALL_PASSED


async def test_a_limit_does_not_hide_the_errors_before_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FAILED, REFUSED, FAILED, limits=RunLimits(max_retries=1))
    assert (await bench.run.execute()).exit_reason is ExitReason.MAX_RETRIES_EXCEEDED


async def test_the_wait_for_a_limit_replaces_the_wait_after_an_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FAILED, REFUSED)
    await bench.run.execute()
    assert bench.slept == [2.0]


async def test_limits_are_never_counted_as_stalls(tmp_path: Path) -> None:
    bench = Bench(tmp_path, *[CUT_OFF] * 4)
    assert (await bench.run.execute()).exit_reason is ExitReason.ALL_PASSED


async def test_a_limit_too_far_away_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path, replace(REFUSED, quota_resets_at=NOW + 25 * 3600))
    result = await bench.run.execute()
    assert result.exit_reason is ExitReason.QUOTA_EXCEEDED
    assert "--max-wait" in (result.hint or "")


async def test_the_reset_that_the_text_names_is_told_with_the_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path, replace(REFUSED, quota_resets_at=None))
    await bench.run.execute()
    ended = [event for event in bench.events if isinstance(event, SessionEnded)]
    assert ended[0].result.quota_resets_at == NOW + 3600


async def test_a_limit_without_an_end_is_probed_with_growing_waits(tmp_path: Path) -> None:
    endless = replace(REFUSED, error="You've reached your Opus limit", quota_resets_at=None)
    bench = Bench(tmp_path, *[endless] * 3)
    await bench.run.execute()
    assert bench.now - NOW == sum(PROBE_SECONDS[:3])


async def test_work_between_two_limits_starts_the_probing_anew(tmp_path: Path) -> None:
    endless = replace(CUT_OFF, error="You've reached your Opus limit", quota_resets_at=None)
    bench = Bench(tmp_path, *[endless] * 3)
    await bench.run.execute()
    assert bench.now - NOW == 3 * PROBE_SECONDS[0]


class Edited(Bench):
    """Somebody edits the project while the run waits; the agent itself does nothing."""

    def __init__(self, folder: Path, *ends: SessionResult) -> None:
        super().__init__(folder, *ends)
        self.folder = folder

    async def wait(self, seconds: float) -> None:
        await super().wait(seconds)
        (self.folder / "edited.txt").write_text(str(self.now), encoding="utf-8")


async def test_what_people_change_while_the_run_waits_is_no_progress_of_the_agent(
    tmp_path: Path,
) -> None:
    bench = Edited(tmp_path, REFUSED, *[COMPLETED] * 8)
    result = await bench.run.execute()
    assert (result.exit_reason, result.iterations) == (ExitReason.STALLED, 3)


class Passing(Bench):
    """Its first session passes the last deliverable and then meets the limit."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        result = await super().work(session, marker)
        return CUT_OFF if marker.task else result


async def test_what_passed_before_the_limit_is_not_worked_on_again(tmp_path: Path) -> None:
    bench = Passing(tmp_path)
    result = await bench.run.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert bench.instructions() == ["coding D-001", "review"]


class Endless(Bench):
    """Its waits last for ever."""

    def __init__(self, folder: Path, *ends: SessionResult) -> None:
        super().__init__(folder, *ends)
        self.in_wait = anyio.Event()

    async def wait(self, seconds: float) -> None:
        self.in_wait.set()
        await anyio.sleep_forever()


async def test_a_signal_ends_the_wait_at_once(tmp_path: Path) -> None:
    bench = Endless(tmp_path, REFUSED)

    async def stop_in_wait() -> None:
        await bench.in_wait.wait()
        bench.run.stop(signal.SIGINT)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_in_wait)
            result = await bench.run.execute()
    assert (result.exit_reason, result.signal_number) == (ExitReason.INTERRUPTED, signal.SIGINT)
