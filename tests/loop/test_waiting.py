"""Deciding about usage limits and waiting for them, with a clock that tests move."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loop.fakes import Recorder

from runner.events import SessionOutcome, SessionResult, Waiting
from runner.quota.waiting import (
    JITTER_SECONDS,
    MARGIN_SECONDS,
    PROBE_SECONDS,
    SLICE_SECONDS,
    QuotaStand,
    QuotaWait,
    WaitPolicy,
    did_work,
)

NOON = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp())
HOUR = 3600
WAITS = WaitPolicy(enabled=True)


def limit(resets_at: int | None = None, text: str = "You've hit your limit") -> SessionResult:
    return SessionResult(
        SessionOutcome.QUOTA_EXCEEDED, error=text, turns=1, quota_resets_at=resets_at
    )


def _nothing() -> None:
    return


class World:
    """A wall clock and a sleep that moves it. `on_sleep` does what happens meanwhile."""

    def __init__(self, policy: WaitPolicy = WAITS, *, jitter: float = 0.0) -> None:
        self.now = float(NOON)
        self.slept: list[float] = []
        self.events = Recorder()
        self.on_sleep = _nothing
        self.quota = QuotaWait(
            policy,
            wall=lambda: self.now,
            sleep=self.sleep,
            jitter=lambda: jitter,
            local=ZoneInfo("Europe/Paris"),
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        self.on_sleep()

    def meet_and_wait(self, result: SessionResult) -> QuotaStand:
        stand = self.quota.met(result)
        return anyio.run(self.quota.wait, self.events) if stand.goes_on else stand

    @property
    def waits(self) -> list[Waiting]:
        return [event for event in self.events if isinstance(event, Waiting)]


def test_without_leave_to_wait_the_run_ends() -> None:
    world = World(WaitPolicy())
    assert (world.quota.met(limit(NOON + HOUR)).goes_on, world.quota.pending) == (False, False)


def test_the_advice_names_the_reset_in_local_time_and_how_far_it_is() -> None:
    stand = World(WaitPolicy()).quota.met(limit(NOON + 2 * HOUR + 300))
    assert "2026-11-21 15:05 CET (in 2h 5m)" in stand.advice


@pytest.mark.parametrize(
    ("ahead", "said"),
    [(-5, "(now)"), (59, "(in less than a minute)"), (60, "(in 1m)"), (3600, "(in 1h 0m)")],
)
def test_the_advice_counts_the_time_left_in_words(ahead: int, said: str) -> None:
    assert said in World(WaitPolicy()).quota.met(limit(NOON + ahead)).advice


def test_the_advice_says_that_the_reset_is_unknown() -> None:
    assert "not known" in World(WaitPolicy()).quota.met(limit()).advice


def test_a_reset_beyond_every_calendar_is_no_crash() -> None:
    assert "no calendar" in World(WaitPolicy()).quota.met(limit(10**15)).advice


def test_the_wait_lasts_until_the_reset_and_a_margin() -> None:
    world = World()
    world.meet_and_wait(limit(NOON + HOUR))
    assert world.now == NOON + HOUR + MARGIN_SECONDS


def test_jitter_is_added() -> None:
    world = World(jitter=1.0)
    world.meet_and_wait(limit(NOON + HOUR))
    assert world.now == NOON + HOUR + MARGIN_SECONDS + JITTER_SECONDS


def test_after_the_wait_the_run_goes_on_and_nothing_is_pending() -> None:
    world = World()
    stand = world.meet_and_wait(limit(NOON + HOUR))
    assert (stand.goes_on, world.quota.pending) == (True, False)


def test_no_sleep_is_longer_than_a_slice() -> None:
    world = World()
    world.meet_and_wait(limit(NOON + HOUR))
    assert max(world.slept) == SLICE_SECONDS


def test_each_slice_tells_what_is_left_and_the_reset() -> None:
    world = World()
    world.meet_and_wait(limit(NOON))
    assert world.waits == [
        Waiting(60.0, "usage limit", NOON),
        Waiting(30.0, "usage limit", NOON),
    ]


def test_a_machine_that_was_suspended_over_the_reset_goes_on_when_it_wakes() -> None:
    world = World()

    def suspended() -> None:
        world.now += 5 * HOUR

    world.on_sleep = suspended
    world.meet_and_wait(limit(NOON + HOUR))
    assert len(world.slept) == 1


def test_a_clock_set_back_prolongs_the_wait_for_a_known_reset() -> None:
    world = World()

    def once() -> None:
        world.now -= HOUR
        world.on_sleep = _nothing

    world.on_sleep = once
    world.meet_and_wait(limit(NOON + HOUR))
    assert sum(world.slept) == 2 * HOUR + MARGIN_SECONDS


def test_a_clock_set_back_by_days_ends_the_run_instead() -> None:
    world = World()

    def back() -> None:
        world.now -= 48 * HOUR

    world.on_sleep = back
    stand = world.meet_and_wait(limit(NOON + HOUR))
    assert (stand.goes_on, len(world.slept)) == (False, 1)


def test_a_clock_set_back_does_not_stretch_a_probe() -> None:
    world = World()

    def back() -> None:
        world.now -= SLICE_SECONDS

    world.on_sleep = back
    world.meet_and_wait(limit())
    assert sum(world.slept) == PROBE_SECONDS[0]


def test_a_reset_beyond_the_longest_wait_ends_the_run_at_once_and_says_why() -> None:
    stand = World().quota.met(limit(NOON + 25 * HOUR))
    assert not stand.goes_on
    assert "--max-wait allows (24 h)" in stand.advice


def test_a_reset_just_within_the_longest_wait_is_waited_for() -> None:
    assert World(WaitPolicy(enabled=True, max_seconds=HOUR)).quota.met(limit(NOON + HOUR)).goes_on


def test_an_unknown_reset_is_probed_with_growing_waits() -> None:
    world = World()
    lengths = []
    for _ in range(6):
        before = world.now
        world.meet_and_wait(limit())
        lengths.append(world.now - before)
    assert lengths == [300, 600, 1200, 2400, 3600, 3600]


def test_probing_ends_when_the_longest_wait_is_used_up() -> None:
    world = World(WaitPolicy(enabled=True, max_seconds=HOUR))
    stands = [world.meet_and_wait(limit()) for _ in range(4)]
    assert [stand.goes_on for stand in stands] == [True, True, True, False]


def test_a_reset_in_the_past_is_believed_once_and_then_probed() -> None:
    world = World()
    lengths = []
    for _ in range(2):
        before = world.now
        world.meet_and_wait(limit(NOON - HOUR))
        lengths.append(world.now - before)
    assert lengths == [MARGIN_SECONDS, PROBE_SECONDS[1]]


def test_work_in_between_makes_the_next_limit_a_new_one() -> None:
    world = World(WaitPolicy(enabled=True, max_seconds=HOUR))
    world.meet_and_wait(limit(NOON + HOUR))
    world.quota.passed()
    assert world.quota.met(limit(int(world.now) + HOUR)).goes_on


def test_a_second_limit_without_work_in_between_uses_the_same_allowance() -> None:
    world = World(WaitPolicy(enabled=True, max_seconds=HOUR))
    world.meet_and_wait(limit(NOON + HOUR))
    assert not world.quota.met(limit(int(world.now) + HOUR)).goes_on


def test_the_time_in_the_text_is_used_where_no_event_gave_one() -> None:
    timed = World().quota.timed(limit(text="You've hit your limit · resets 2pm"))
    assert timed.quota_resets_at == NOON + HOUR  # 14:00 in Paris


def test_the_time_of_the_event_is_preferred() -> None:
    given = limit(NOON + 7, text="You've hit your limit · resets 2pm")
    assert World().quota.timed(given) == given


def test_other_results_are_not_timed() -> None:
    given = SessionResult(SessionOutcome.COMPLETED, text="The limit resets 2pm")
    assert World().quota.timed(given) == given


@pytest.mark.parametrize(
    ("cost", "turns", "worked"), [(0.0, 0, False), (0.0, 1, False), (0.1, 1, True), (0.0, 2, True)]
)
def test_a_refusal_is_told_from_work(cost: float, turns: int, worked: bool) -> None:
    result = SessionResult(SessionOutcome.QUOTA_EXCEEDED, cost_usd=cost, turns=turns)
    assert did_work(result) is worked


@given(st.lists(st.one_of(st.none(), st.integers(-2 * HOUR, 30 * HOUR)), min_size=1, max_size=60))
def test_limits_that_never_end_are_given_up_within_the_longest_wait(
    resets: list[int | None],
) -> None:
    world = World(WaitPolicy(enabled=True, max_seconds=6 * HOUR), jitter=1.0)
    for ahead in resets:
        stand = world.meet_and_wait(limit(None if ahead is None else int(world.now) + ahead))
        if not stand.goes_on:
            break
    assert world.now - NOON <= 6 * HOUR + MARGIN_SECONDS + JITTER_SECONDS


@pytest.mark.parametrize(
    ("zone", "expected"), [("America/Denver", "05:00 MST"), (":Asia/Tokyo", "21:00 JST")]
)
def test_times_for_people_are_in_the_zone_of_the_system(
    monkeypatch: pytest.MonkeyPatch, zone: str, expected: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    quota = QuotaWait(WaitPolicy(), wall=lambda: float(NOON))
    assert expected in quota.met(limit(NOON)).advice


def test_a_system_zone_that_nobody_knows_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Middle/Earth")
    advice = QuotaWait(WaitPolicy(), wall=lambda: float(NOON)).met(limit(NOON)).advice
    assert "The limit resets at 2026-11-2" in advice


def test_the_systems_own_zone_is_read_when_the_environment_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TZ", raising=False)
    advice = QuotaWait(WaitPolicy(), wall=lambda: float(NOON)).met(limit(NOON)).advice
    assert "The limit resets at 2026-11-2" in advice
