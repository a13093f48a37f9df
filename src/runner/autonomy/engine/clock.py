"""Clocks that go back: a session's time never does, and no proof lives again by it.

The engine judges by `Env.now`, which is never before the latest time that the session has seen.
What came about is also compared with `Env.clock`, the time that the machine has now: a report,
a change or a piece of evidence from before its issue is refused.
"""

from datetime import datetime, timedelta

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.replaying import REPLAY_GRACE
from runner.autonomy.models import SessionState

TOLERANCE = timedelta(seconds=10)
"""How far a clock may go back without a word: time services correct small errors that way."""


def latest_time(state: SessionState) -> datetime:
    """Return the latest time that the session has seen."""
    return max(state.latest_at or state.updated_at, state.updated_at)


def expires_between(state: SessionState, now: datetime) -> bool:
    """Whether anything that can be brought expires after the session's time and by `now`."""
    proof, evidence, last = state.pending_step_proof, state.pending_gate_evidence, state.last_report
    moments = [last.recorded_at + REPLAY_GRACE] if last is not None else []
    if proof is not None:
        moments += [proof.expires_at]
        moments += [used.consumed_at + REPLAY_GRACE for used in proof.consumed_actions]
    if evidence is not None:
        moments += [evidence.expires_at]
    latest = latest_time(state)
    return any(latest <= moment <= now for moment in moments)


def went_back(state: SessionState, clock: datetime) -> str | None:
    """Return, for people, that the clock is behind the session's time, None where it is not."""
    latest = latest_time(state)
    if clock >= latest - TOLERANCE:
        return None
    return (
        f"The clock went back: it says {clock.isoformat(timespec='seconds')}, and the session has "
        f"seen {latest.isoformat(timespec='seconds')}. Nothing that has expired is valid again; a "
        "step from before is refused until the clock is right or the session is resumed."
    )


def require_after_issue(code: ErrorCode, what: str, issued_at: datetime, clock: datetime) -> None:
    """Raise RefusedError with `code` where the clock is before the issue of what is brought."""
    if clock < issued_at - TOLERANCE:
        raise RefusedError(
            code,
            f"The clock is before the time at which the {what} was issued.",
            hint="Set the clock right, or resume the session to have the step issued again.",
            details={"issued_at": issued_at.isoformat(), "clock": clock.isoformat()},
        )
