"""The call that is being answered: its time budget, and what it did.

One call runs in one thread, so it is found through a context variable: nothing on the way has to
pass it on. Outside of a call there is no budget and nothing is noted.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.models import SessionState

_CURRENT: ContextVar["ControlCall | None"] = ContextVar("runner_autonomy_call", default=None)


@dataclass(frozen=True, slots=True)
class Commit:
    """A write of a session; `before` is None for a new one."""

    before: SessionState | None
    after: SessionState


@dataclass(slots=True)
class ControlCall:
    """One request on its way.

    Attributes:
        seconds: the budget of the whole call.
        monotonic: the clock that the budget is measured with, in seconds.
        session: the session as it was last seen.
        commits: what was written, in order.
        collected: sessions that were removed because they had expired, by status.
    """

    group: str
    command: str
    request_id: str
    seconds: float
    monotonic: Callable[[], float] = time.monotonic
    session: SessionState | None = None
    commits: list[Commit] = field(default_factory=list)
    collected: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self.monotonic() - self.started

    def require_time(self) -> None:
        """Raise RefusedError TIMEOUT when the budget is spent.

        With something written the error says which version: the caller asks `status` for it.
        """
        if self.elapsed <= self.seconds:
            return
        written = self.commits[-1].after if self.commits else None
        what = "after its change was made" if written else "before anything was changed"
        raise RefusedError(
            ErrorCode.TIMEOUT,
            f"{self.group} {self.command} took longer than its {self.seconds:g} s, {what}.",
            hint=None if written else "Try again; nothing was changed.",
            details={
                "timeout_seconds": self.seconds,
                "state_version": written.state_version if written else None,
                "session_id": written.id if written else None,
            },
        )


@contextmanager
def in_call(call: ControlCall) -> Iterator[ControlCall]:
    """Make `call` the one that is being answered."""
    token = _CURRENT.set(call)
    try:
        yield call
    finally:
        _CURRENT.reset(token)


def seconds_left(at_most: float) -> float:
    """Return how long a lock may be waited for: `at_most`, or what the call has left."""
    call = _CURRENT.get()
    return at_most if call is None else max(min(at_most, call.seconds - call.elapsed), 0.0)


def require_time() -> None:
    """Raise RefusedError TIMEOUT when the current call has spent its budget."""
    call = _CURRENT.get()
    if call is not None:
        call.require_time()


def note_session(state: SessionState) -> None:
    """Note which session the current call is about."""
    call = _CURRENT.get()
    if call is not None:
        call.session = state


def note_commit(before: SessionState | None, after: SessionState) -> None:
    """Note that the current call has written a session."""
    call = _CURRENT.get()
    if call is not None:
        call.commits.append(Commit(before, after))
        call.session = after


def note_collected(status: str) -> None:
    """Note that the current call has removed an expired session."""
    call = _CURRENT.get()
    if call is not None:
        call.collected.append(status)


# Commands that the seed does not name get the budget of their nearest relative.
TIMEOUT_PARAM = "timeout_seconds"


class TimeBudget(NamedTuple):
    """Seconds: what holds unless the caller says otherwise, and the most it may say."""

    default: float
    most: float


SHORT = TimeBudget(5, 15)

BUDGETS: Mapping[tuple[str, str], TimeBudget] = {
    ("session", "start"): TimeBudget(10, 30),
    ("session", "rebase"): TimeBudget(10, 30),
    ("step", "next"): TimeBudget(15, 45),
    ("step", "report"): TimeBudget(15, 45),
    ("review", "gate"): TimeBudget(120, 300),
}


def budget_of(group: str, command: str) -> TimeBudget:
    """Return the budget of a command."""
    return BUDGETS.get((group, command), SHORT)


def chosen_seconds(group: str, command: str, wanted: Any) -> float:
    """Return the seconds that a call has; `wanted` is what the caller said, None for nothing.

    Raises:
        RefusedError: VALIDATION_ERROR when that is no positive number, or more than allowed.
    """
    budget = budget_of(group, command)
    if wanted is None:
        return budget.default
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if not is_number or not 0 < wanted <= budget.most:
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            f"{TIMEOUT_PARAM}: must be more than 0 and at most {budget.most:g} seconds.",
            details={"field": TIMEOUT_PARAM, "maximum": budget.most},
        )
    return float(wanted)
