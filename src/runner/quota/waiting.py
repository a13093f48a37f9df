"""What to do about a usage limit: end the run, or wait until the limit is over.

A wait is measured by the wall clock, again every half minute, because a laptop may sleep and
a clock may be set meanwhile. The rules are those of ADR-0040.
"""

import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio

from runner.events import SessionOutcome, SessionResult, Waiting
from runner.ports import RunSink
from runner.quota.reset_time import reset_time

MARGIN_SECONDS = 60.0
"""Waited beyond the reset: messages cut the seconds off, and clocks differ."""

JITTER_SECONDS = 30.0
"""At most this is added at random, so that many runs do not come back in the same second."""

SLICE_SECONDS = 30.0
"""How long a wait goes on without a look at the clock."""

PROBE_SECONDS = (300.0, 600.0, 1200.0, 2400.0, 3600.0)
"""Waits between tries when nobody says when the limit ends; the last one repeats."""

_HOUR_SECONDS = 3600
_MINUTE_SECONDS = 60
_RANDOM = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class WaitPolicy:
    """What the user allows.

    Attributes:
        enabled: whether the run waits at all.
        max_seconds: the longest time from meeting a limit to the end of waiting for it.
    """

    enabled: bool = False
    max_seconds: float = 24.0 * _HOUR_SECONDS


@dataclass(frozen=True, slots=True)
class QuotaStand:
    """Whether the run goes on after a limit. `advice` tells people when to come back, or why not."""

    goes_on: bool
    advice: str = ""


@dataclass(frozen=True, slots=True)
class _Pause:
    """A wait. `until` and `resets_at` are seconds since the epoch."""

    until: float
    reason: str
    resets_at: int | None


class QuotaWait:
    """Decides about usage limits, one after the other, and waits.

    Args:
        wall: seconds since the epoch.
        sleep: waits a number of seconds; cancelling it ends a wait at once.
        jitter: returns between 0 and 1.
        local: the zone of times without one and of times for people; the system's when None.
    """

    def __init__(
        self,
        policy: WaitPolicy,
        *,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        jitter: Callable[[], float] = _RANDOM.random,
        local: tzinfo | None = None,
    ) -> None:
        self._policy = policy
        self._wall = wall
        self._sleep = sleep
        self._jitter = jitter
        self._local = local or _local_zone()
        self._since: float | None = None
        self._slept = 0.0
        self._tries = 0
        self._pause: _Pause | None = None

    @property
    def pending(self) -> bool:
        """Whether `wait` is to be called before the next session."""
        return self._pause is not None

    def timed(self, result: SessionResult) -> SessionResult:
        """Return the result with the reset time that its text names, where no better is known."""
        if result.outcome is not SessionOutcome.QUOTA_EXCEEDED or result.quota_resets_at:
            return result
        now = datetime.fromtimestamp(self._wall(), UTC)
        moment = reset_time(result.error or result.text, now, local=self._local)
        return replace(result, quota_resets_at=int(moment.timestamp())) if moment else result

    def passed(self) -> None:
        """Note that the model worked again: the next limit is a new one."""
        self._since, self._slept, self._tries, self._pause = None, 0.0, 0, None

    def met(self, result: SessionResult) -> QuotaStand:
        """Note that a session ended at a limit, and decide whether to wait for its end."""
        now = self._wall()
        self._since = now if self._since is None else self._since
        if not self._policy.enabled:
            return QuotaStand(
                goes_on=False,
                advice=f"{self._when(result.quota_resets_at)}, or have the run wait for it with "
                "--wait-for-quota.",
            )
        pause = self._planned(result.quota_resets_at, now)
        # The margin is ours: a limit that ends just within the bound is waited for.
        end = min(pause.until, pause.resets_at or pause.until)
        # What was slept counts even if the clock was set back since.
        if max(end - self._since, end - now + self._slept) > self._policy.max_seconds:
            return self._too_long(result.quota_resets_at)
        self._pause = pause
        return QuotaStand(goes_on=True)

    async def wait(self, sink: RunSink) -> QuotaStand:
        """Wait for the end of the limit, telling the sink at least every half minute."""
        pause, self._pause = self._pause, None
        if pause is None:
            return QuotaStand(goes_on=True)
        planned = pause.until - self._wall()
        slept = 0.0
        while (left := self._left(pause, planned - slept)) > 0:
            if left > self._policy.max_seconds + MARGIN_SECONDS + JITTER_SECONDS:
                # The clock was set back; by the new time the wait is longer than allowed.
                return self._too_long(pause.resets_at)
            sink(Waiting(left, pause.reason, pause.resets_at))
            seconds = min(left, SLICE_SECONDS)
            await self._sleep(seconds)
            slept += seconds
            self._slept += seconds
        return QuotaStand(goes_on=True)

    def _planned(self, resets_at: int | None, now: float) -> _Pause:
        jitter = self._jitter() * JITTER_SECONDS
        # A reset that lies in the past was believed once; after that it proved wrong.
        if resets_at is not None and (resets_at > now or self._tries == 0):
            self._tries += 1
            return _Pause(max(resets_at, now) + MARGIN_SECONDS + jitter, "usage limit", resets_at)
        probe = PROBE_SECONDS[min(self._tries, len(PROBE_SECONDS) - 1)]
        self._tries += 1
        return _Pause(now + probe + jitter, f"usage limit without an end; try {self._tries}", None)

    def _left(self, pause: _Pause, unslept: float) -> float:
        by_clock = pause.until - self._wall()
        # A reset is a moment, a probe a span: setting the clock back must not stretch it.
        return by_clock if pause.resets_at is not None else min(by_clock, unslept)

    def _too_long(self, resets_at: int | None) -> QuotaStand:
        hours = self._policy.max_seconds / _HOUR_SECONDS
        return QuotaStand(
            goes_on=False,
            advice=f"{self._when(resets_at)}. Waiting took or would take longer than --max-wait "
            f"allows ({hours:g} h).",
        )

    def _when(self, resets_at: int | None) -> str:
        if resets_at is None:
            return "When the limit resets is not known: run again later"
        try:
            moment = datetime.fromtimestamp(resets_at, UTC).astimezone(self._local)
        except (ValueError, OverflowError, OSError):
            return "The limit resets at a time that no calendar has: run again later"
        left = _span(resets_at - self._wall())
        return f"The limit resets at {moment:%Y-%m-%d %H:%M %Z} ({left}): run again after that"


def did_work(result: SessionResult) -> bool:
    """Return whether the model answered at all before the limit; a refusal is one free turn."""
    return result.cost_usd > 0 or result.turns > 1


def _span(seconds: float) -> str:
    if seconds < _MINUTE_SECONDS:
        return "now" if seconds <= 0 else "in less than a minute"
    hours, minutes = divmod(int(seconds) // _MINUTE_SECONDS, 60)
    return f"in {hours}h {minutes}m" if hours else f"in {minutes}m"


def _local_zone() -> tzinfo:
    """Return the system's zone, with its changes of the clocks where they can be read."""
    name = os.environ.get("TZ")
    try:
        if name is not None:
            return ZoneInfo(name.removeprefix(":"))
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (KeyError, ValueError, OSError):
        return datetime.now(UTC).astimezone().tzinfo or UTC


_FIRST_SECONDS = 2.0
_LONGEST_SECONDS = 300.0


def retry_delay(consecutive_errors: int) -> float:
    """Return the wait in seconds before the next try: 2, 4, 8, … up to 5 minutes.

    Args:
        consecutive_errors: failed sessions in a row, at least 1.
    """
    # The exponent is bounded because a float power overflows long before a run ends.
    exponent = min(consecutive_errors - 1, 20)
    return float(min(_FIRST_SECONDS * 2**exponent, _LONGEST_SECONDS))
