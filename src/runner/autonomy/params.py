"""What each command takes: one strict model per command, for every surface (CONTRACT §6)."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.enums import GatePolicy, GateVerdict, SessionStatus, TaskStatus
from runner.autonomy.inputs import Input, ShortText, StepReport
from runner.text.messages import nearest, problem, stated

Minutes = Annotated[int, Field(ge=1, le=100_000)]
Bound = Annotated[int, Field(ge=1, le=1_000_000)]
Percent = Annotated[int, Field(ge=0, le=100)]
Reason = Annotated[str, Field(max_length=500)]
ReasonCode = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
IdempotencyKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class SessionParams(Input):
    """Names a session; without both ids the workspace's only live session is meant."""

    session_id: ShortText | None = None
    spec_id: ShortText | None = None


class StartParams(Input):
    """`session start`; None stands for the posture's default.

    Without the write lock (`enforce_autonomy_write_lock: false`) a reason code is needed.
    """

    spec_id: ShortText | None = None
    idempotency_key: IdempotencyKey | None = None
    max_tasks_per_session: Bound | None = None
    max_consecutive_errors: Bound | None = None
    context_threshold_pct: Annotated[int, Field(ge=1, le=100)] | None = None
    gate_policy: GatePolicy | None = None
    heartbeat_stale_minutes: Minutes | None = None
    heartbeat_grace_minutes: Minutes | None = None
    step_stale_minutes: Minutes | None = None
    gate_nonce_ttl_minutes: Minutes | None = None
    stop_on_phase_completion: bool | None = None
    max_fidelity_review_cycles_per_phase: Bound | None = None
    auto_retry_fidelity_gate: bool | None = None
    enforce_autonomy_write_lock: bool | None = None
    step_proof_ttl_minutes: Minutes | None = None
    gates_required: bool | None = None
    force: bool = False
    reason_code: ReasonCode | None = None
    reason: Reason | None = None


class ReasonParams(SessionParams):
    """`session pause` and `session end`."""

    reason: Reason | None = None


class ResumeParams(SessionParams):
    """`session resume`."""

    force: bool = False
    acknowledge_gate_review: bool = False
    acknowledged_gate_attempt_id: ShortText | None = None


class RebaseParams(SessionParams):
    """`session rebase`."""

    force: bool = False


class ResetParams(Input):
    """`session reset`: always names its session."""

    session_id: ShortText
    reason: Reason | None = None


class ListParams(Input):
    """`session list`."""

    status_filter: SessionStatus | None = None
    spec_id: ShortText | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Annotated[str, Field(max_length=1000)] | None = None


class EventsParams(SessionParams):
    """`session events` and `journal list`."""

    limit: Annotated[int, Field(ge=1, le=200)] = 20
    cursor: Annotated[str, Field(max_length=1000)] | None = None


class NextParams(SessionParams):
    """`step next`."""

    last_step_result: StepReport | None = None


class ReportParams(SessionParams):
    """`step report`."""

    last_step_result: StepReport


class HeartbeatParams(SessionParams):
    """`step heartbeat`. `last_completed_task_id` is taken and believed by nobody."""

    context_usage_pct: Percent
    estimated_tokens_used: Annotated[int, Field(ge=0)] | None = None
    consecutive_error_delta: Annotated[int, Field(ge=-1000, le=1000)] = 0
    last_completed_task_id: ShortText | None = None


class FindingParams(Input):
    """A review's finding, spelled as in `submit_review`."""

    severity: Annotated[str, Field(max_length=50)]
    title: Annotated[str, Field(max_length=500)]
    detail: Annotated[str, Field(max_length=20_000)] = ""
    deliverableId: ShortText | None = None  # noqa: N815 - the tool's spelling
    file: Annotated[str, Field(max_length=4096)] | None = None


class GateParams(SessionParams):
    """`review gate`; without a verdict a surface that has an agent lets it make the review.

    `review_path` says where the reviewer's own account stands; it is noted and not followed.
    """

    phase_id: ShortText
    step_id: ShortText
    verdict: GateVerdict | None = None
    summary: Annotated[str, Field(max_length=20_000)] = ""
    findings: Annotated[tuple[FindingParams, ...], Field(max_length=1000)] = ()
    review_path: Annotated[str, Field(max_length=4096)] | None = None


class JournalAddParams(SessionParams):
    """`journal add`."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    content: Annotated[str, Field(max_length=20_000)] = ""


class SpecParams(Input):
    """Names the spec; the workspace's where it is left out."""

    spec_id: ShortText | None = None


class TaskListParams(SpecParams):
    """`task list`."""

    status: TaskStatus | None = None
    phase_id: ShortText | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100


class TaskParams(SpecParams):
    """`task prepare`."""

    task_id: ShortText


class TaskMutationParams(TaskParams):
    """`task start`, `complete`, `block` and `unblock`; a live session wants the step's proof."""

    session_id: ShortText | None = None
    autonomy_step_proof: ShortText | None = None
    reason: Reason | None = None


class TaskStatusParams(TaskMutationParams):
    """`task update-status`."""

    status: TaskStatus


class GateWaiverParams(SessionParams):
    """`task gate-waiver`; the reason code is for those who count, the reason for those who read."""

    phase_id: ShortText
    reason_code: ReasonCode
    reason: Reason | None = None


class CapabilitiesParams(Input):
    """`capabilities` takes nothing."""


_QUOTED = re.compile(r"'([^']*)'")

P = TypeVar("P", bound=Input)


_FREE_TEXTS = frozenset(
    {"note", "reason", "summary", "title", "detail", "content", "file", "files_touched"}
)


def _redacted(key: str, value: Any, redact: Callable[[str], str]) -> Any:
    """Return what was given as `key` with its free texts redacted; ids and tokens stay."""
    if isinstance(value, Mapping):
        return {name: _redacted(str(name), entry, redact) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(key, entry, redact) for entry in value]
    return redact(value) if isinstance(value, str) and key in _FREE_TEXTS else value


def parse(
    model: type[P], values: Mapping[str, Any], redact: Callable[[str], str] = lambda text: text
) -> P:
    """Return the parameters of a command, read as JSON would be.

    Args:
        redact: takes credentials out of free texts, before anything is compared with an earlier
            call, hashed or stored.

    Raises:
        RefusedError: VALIDATION_ERROR with the place and the problem; within a receipt
            VERIFICATION_RECEIPT_INVALID, however it is wrong.
    """
    try:
        clean = {key: _redacted(key, value, redact) for key, value in values.items()}
        return model.model_validate_json(json.dumps(clean))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":  # what was encoded here can only be half a character
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                "The input holds text that is not valid Unicode.",
                details={"field": "", "problem": "unicode"},
            ) from error
        place = ".".join(str(part) for part in first["loc"])
        raise RefusedError(
            _code_of(first["loc"]),
            f"{stated(place or 'The input', problem(first))}.",
            hint=_nearest(first),
            details={"field": place, "problem": first["type"]},
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise RefusedError(ErrorCode.VALIDATION_ERROR, "The input is not JSON.") from error


def _nearest(found: Mapping[str, Any]) -> str | None:
    if found["type"] not in ("enum", "literal_error"):
        return None
    return nearest(str(found["input"]), _QUOTED.findall(found["ctx"]["expected"]))


def _code_of(place: tuple[int | str, ...]) -> ErrorCode:
    inside = "verification_receipt" in place
    return ErrorCode.VERIFICATION_RECEIPT_INVALID if inside else ErrorCode.VALIDATION_ERROR
