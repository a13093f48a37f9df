"""The metrics, derived from what a call did and answered.

Pure: a call and its envelope go in, measurements come out. Where they go is `meter`'s business.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from runner.autonomy.calls import ControlCall
from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, PauseReason, SessionStatus, StepType
from runner.autonomy.models import SessionState


class Metric(StrEnum):
    """The names; all are counters but for the duration."""

    START = "task.session.start.total"
    PAUSE = "task.session.pause.total"
    RESUME = "task.session.resume.total"
    REBASE = "task.session.rebase.total"
    RESET = "task.session.reset.total"
    GC = "task.session.gc.total"
    NEXT_DURATION = "task.session_step.next.duration_ms"
    STEP_RESULT = "task.session_step.next.step_result"
    HEARTBEAT_STALE = "task.session_step.heartbeat.stale.total"
    STEP_STALE = "task.session_step.step.stale.total"
    GATE_RETRY = "task.session_step.gate_retry.total"
    WRITE_LOCK_REJECT = "task.autonomy_write_lock.reject.total"
    PROOF_CONSUME = "task.autonomy_step_proof.consume.total"
    STALE_DETECTED = "task.session.stale.detected.total"
    SPEC_DRIFT = "task.session.spec_drift.total"
    SESSION_TIMEOUT = "task.session.timeout.total"
    STEP_TIMEOUT = "task.session_step.timeout.total"
    LOCK_TIMEOUT = "task.session.lock_timeout.total"
    JOURNAL_FAILED = "task.session.journal_write_failed.total"
    REVIEW_TIMEOUT = "review.fidelity_gate.timeout.total"
    REVIEW = "review.fidelity_gate.total"


class Measurement(NamedTuple):
    """One count (or duration in milliseconds) with its attributes."""

    metric: Metric
    attributes: Mapping[str, str] = {}
    value: float = 1


_REJECTED: Mapping[str, str] = {
    ErrorCode.STEP_PROOF_REQUIRED: "required",
    ErrorCode.STEP_PROOF_INVALID: "invalid",
    ErrorCode.STEP_PROOF_EXPIRED: "invalid",
    ErrorCode.STEP_PROOF_CONFLICT: "invalid",
    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE: "disallowed",
}
_CONSUMED: Mapping[str, str] = {
    ErrorCode.STEP_PROOF_EXPIRED: "expired",
    ErrorCode.STEP_PROOF_CONFLICT: "mismatch",
    ErrorCode.STEP_PROOF_INVALID: "mismatch",
}
_TIMEOUTS: Mapping[str, Metric] = {
    "session": Metric.SESSION_TIMEOUT,
    "step": Metric.STEP_TIMEOUT,
    "review": Metric.REVIEW_TIMEOUT,
}


class Observation(NamedTuple):
    """A call with its answer, as the measuring functions see it."""

    call: ControlCall
    code: str | None
    data: Mapping[str, Any]
    proof_given: bool
    milliseconds: float

    @property
    def name(self) -> str:
        return f"{self.call.group} {self.call.command}"

    @property
    def done(self) -> bool:
        return self.code is None

    def changes(self) -> Iterator[tuple[SessionState | None, SessionState]]:
        for commit in self.call.commits:
            yield commit.before, commit.after


def proof_validation(seen: Observation) -> str | None:
    """Return how a step proof fared: success, replay, expired, mismatch or required."""
    if seen.code == ErrorCode.STEP_PROOF_REQUIRED:
        return "required"
    if not seen.proof_given:
        return None
    if seen.done:
        return "success" if seen.call.commits else "replay"
    return _CONSUMED.get(seen.code or "")


def measure(seen: Observation) -> list[Measurement]:
    """Return everything that a call adds to the metrics."""
    return [measurement for source in _SOURCES for measurement in source(seen)]


def _lifecycle(seen: Observation) -> Iterator[Measurement]:
    if not seen.done:
        return
    if seen.name == "session start" and seen.call.commits:
        yield Measurement(Metric.START)
    if seen.name == "session resume":
        yield Measurement(Metric.RESUME)
    if seen.name == "session reset":
        given = "provided" if seen.data.get("reason") else "not_provided"
        yield Measurement(Metric.RESET, {"reason": given})


def _rebases(seen: Observation) -> Iterator[Measurement]:
    if seen.name != "session rebase":
        return
    if seen.done:
        result = seen.data.get("rebase_result")
        yield Measurement(
            Metric.REBASE, {"result": "no_change" if result == "no_change" else "success"}
        )
    elif seen.code == ErrorCode.REBASE_COMPLETED_TASKS_REMOVED:
        yield Measurement(Metric.REBASE, {"result": "completed_tasks_removed"})


def _pauses(seen: Observation) -> Iterator[Measurement]:
    for before, after in seen.changes():
        if after.status is not SessionStatus.PAUSED or after.pause_reason is None:
            continue
        if before is not None and before.status is SessionStatus.PAUSED:
            continue
        yield Measurement(Metric.PAUSE, {"reason": after.pause_reason})
        if after.pause_reason is PauseReason.HEARTBEAT_STALE:
            yield Measurement(Metric.HEARTBEAT_STALE)
        if after.pause_reason is PauseReason.STEP_STALE:
            yield Measurement(Metric.STEP_STALE)


def _failures(seen: Observation) -> Iterator[Measurement]:
    for before, after in seen.changes():
        drifted = after.failure_reason is FailureReason.SPEC_STRUCTURE_CHANGED
        if drifted and (before is None or before.failure_reason is not after.failure_reason):
            yield Measurement(Metric.SPEC_DRIFT)


def _steps(seen: Observation) -> Iterator[Measurement]:
    if seen.name == "step next":
        yield Measurement(Metric.NEXT_DURATION, value=seen.milliseconds)
    for before, after in seen.changes():
        last = after.last_report
        earlier = before.last_report if before is not None else None
        if last is not None and (earlier is None or earlier.step_id != last.step_id):
            yield Measurement(Metric.STEP_RESULT, {"outcome": last.outcome})
        step = after.last_step_issued
        previous = before.last_step_issued if before is not None else None
        is_new = step is not None and (previous is None or previous.step_id != step.step_id)
        if is_new and step is not None and step.type is StepType.ADDRESS_FIDELITY_FEEDBACK:
            yield Measurement(Metric.GATE_RETRY)


def _proofs(seen: Observation) -> Iterator[Measurement]:
    rejected = _REJECTED.get(seen.code or "")
    if rejected is not None:
        yield Measurement(Metric.WRITE_LOCK_REJECT, {"reason": rejected})
    result = proof_validation(seen)
    if result not in (None, "required"):
        yield Measurement(Metric.PROOF_CONSUME, {"result": str(result)})


def _staleness(seen: Observation) -> Iterator[Measurement]:
    """Staleness that a read has shown, or that a write has made a pause of."""
    source = seen.call.command
    if source in ("status", "list") and seen.done:
        rows = seen.data.get("sessions", [seen.data])
        for row in rows:
            if row.get("effective_status") != row.get("status"):
                yield Measurement(Metric.STALE_DETECTED, {"source": source})
    stale = (PauseReason.HEARTBEAT_STALE, PauseReason.STEP_STALE)
    if source in ("next", "maintenance"):
        for _before, after in seen.changes():
            if after.pause_reason in stale:
                yield Measurement(Metric.STALE_DETECTED, {"source": source})


def _waits(seen: Observation) -> Iterator[Measurement]:
    command = {"command": seen.call.command}
    if seen.code == ErrorCode.TIMEOUT and seen.call.group in _TIMEOUTS:
        yield Measurement(
            _TIMEOUTS[seen.call.group], {} if seen.call.group == "review" else command
        )
    if seen.code == ErrorCode.LOCK_TIMEOUT:
        yield Measurement(Metric.LOCK_TIMEOUT, command)


def _reviews(seen: Observation) -> Iterator[Measurement]:
    for before, after in seen.changes():
        evidence = after.pending_gate_evidence
        earlier = before.pending_gate_evidence if before is not None else None
        if evidence is not None and (
            earlier is None or earlier.gate_attempt_id != evidence.gate_attempt_id
        ):
            yield Measurement(Metric.REVIEW, {"outcome": evidence.verdict})


def _upkeep(seen: Observation) -> Iterator[Measurement]:
    for status in seen.call.collected:
        yield Measurement(Metric.GC, {"status": status})
    if any("journal" in warning for warning in seen.call.warnings):
        yield Measurement(Metric.JOURNAL_FAILED)


_SOURCES: tuple[Callable[[Observation], Iterator[Measurement]], ...] = (
    _lifecycle,
    _rebases,
    _pauses,
    _failures,
    _steps,
    _proofs,
    _staleness,
    _waits,
    _reviews,
    _upkeep,
)
