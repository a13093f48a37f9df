"""The result object of a run (CONTRACT §3)."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from runner.app.exit_codes import FAILURE, SUCCESS, exit_code
from runner.deliverables.model import Counts as ByStatus
from runner.events import ExitReason, RunEnded
from runner.records.phases import Row, proof_of
from runner.text.safe import visible


class ResultCounts(TypedDict):
    """Active deliverables; `passed` is what counts as done, see `loop.phases.Proof`."""

    total: int
    passed: int
    blocked: int
    pending: int
    claimed: int
    verified: int
    closed: int


def counts_object(counts: ByStatus, rows: Iterable[Row]) -> ResultCounts:
    """Return the counts for programs.

    Args:
        rows: of the phases; none where no session is known.
    """
    proof = proof_of(counts.passed, rows)
    return ResultCounts(
        total=counts.total,
        passed=proof.passed,
        blocked=counts.blocked,
        pending=counts.pending,
        claimed=proof.claimed,
        verified=proof.verified,
        closed=proof.closed,
    )


class BlockedWork(TypedDict):
    """A blocked deliverable; `reason` is null where nobody gave one."""

    id: str
    reason: str | None


class ResultObject(TypedDict):
    """What `--output-format json` prints, and the last line of `stream-json`."""

    type: str
    command: str
    exit_reason: ExitReason
    exit_code: int
    spec_id: str
    session_id: str | None
    loop_signal: str | None
    pause_reason: str | None
    failure_reason: str | None
    recommended_actions: list[Any]
    iterations: int
    agent_sessions: int
    duration_seconds: float
    total_cost_usd: float
    deliverables: ResultCounts
    verified: int | None
    gates: list[Any]
    phases: list[Any]
    message: str
    hint: str | None
    blocked_ids: list[str]
    blocked: list[BlockedWork]
    waiting_ids: list[str]
    quota_resets_at: int | None
    divergences: list[str]


def verified_count(details: Mapping[str, Any]) -> int | None:
    """Return how many deliverables `sync` verified, None where nothing is verified."""
    value = details.get("verified")
    return value if isinstance(value, int) else None


def result_object(ended: RunEnded) -> ResultObject:
    """Build the result object.

    Fields that the control plane knows and the loop does not (`session_id`, `loop_signal`,
    `pause_reason`, `failure_reason`, `recommended_actions`, `verified`, `gates`, `phases`)
    come from `ended.details` under their own names, and are null or empty without them. So do the
    `divergences` from a script; a run that left its script can't end well (present.finish).
    """
    result, details = ended.result, ended.details
    divergences = list(details.get("divergences") or ())
    return ResultObject(
        type="result",
        command=result.command,
        exit_reason=result.exit_reason,
        exit_code=exit_code(
            result.exit_reason, result.signal_number, needs_person=result.needs_person
        )
        or (FAILURE if divergences else SUCCESS),
        spec_id=result.spec_id,
        session_id=details.get("session_id"),
        loop_signal=details.get("loop_signal"),
        pause_reason=details.get("pause_reason"),
        failure_reason=details.get("failure_reason"),
        recommended_actions=list(details.get("recommended_actions") or ()),
        iterations=result.iterations,
        agent_sessions=result.agent_sessions,
        duration_seconds=round(result.duration_seconds, 3),
        total_cost_usd=round(result.total_cost_usd, 6),
        deliverables=counts_object(result.counts, details.get("phases") or ()),
        verified=verified_count(details),
        gates=list(details.get("gates") or ()),
        phases=list(details.get("phases") or ()),
        message=visible(result.message),
        hint=visible(result.hint) if result.hint else None,
        blocked_ids=list(result.blocked_ids),
        blocked=[
            BlockedWork(id=i, reason=result.blocked_reasons.get(i)) for i in result.blocked_ids
        ],
        waiting_ids=list(result.waiting_ids),
        quota_resets_at=result.quota_resets_at,
        divergences=divergences,
    )
