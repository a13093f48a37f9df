"""What each command takes: one strict model per command, for every surface (CONTRACT §6)."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.enums import GatePolicy, GateVerdict, SessionStatus, TaskStatus
from runner.autonomy.inputs import Input, ShortText, StepReport
from runner.text.messages import nearest, problem, stated


@dataclass(frozen=True)
class OnCommandLine:
    """How a field is given on the command line, where its name and type do not say it all.

    Attributes:
        metavar: the placeholder for the value in the help.
        named: the option's name, where it is not the field's name in kebab case.
        positional: it may also be given without its name.
        from_environment: it may also be given as `AUTORUNNER_<NAME>`; for what configures or
            names a session, not for what is said once.
    """

    metavar: str = ""
    named: str = ""
    positional: bool = False
    from_environment: bool = False


_ENVIRONMENT = OnCommandLine(from_environment=True)

Minutes = Annotated[int, Field(ge=1, le=100_000), _ENVIRONMENT]
Bound = Annotated[int, Field(ge=1, le=1_000_000), _ENVIRONMENT]
Percent = Annotated[int, Field(ge=0, le=100), OnCommandLine("0-100")]
Setting = Annotated[bool, _ENVIRONMENT]
Reason = Annotated[str, Field(max_length=500)]
ReasonCode = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"), OnCommandLine("CODE")]
IdempotencyKey = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_-]{1,128}$"),
    OnCommandLine("KEY", from_environment=True),
]
SessionId = Annotated[ShortText, OnCommandLine("ID", from_environment=True)]
SpecId = Annotated[ShortText, OnCommandLine("ID", from_environment=True)]
TaskId = Annotated[ShortText, OnCommandLine("TASK_ID", positional=True)]
Id = Annotated[ShortText, OnCommandLine("ID")]
Proof = Annotated[ShortText, OnCommandLine("TOKEN", from_environment=True)]
Cursor = Annotated[str, Field(max_length=1000), OnCommandLine("CURSOR")]
Report = Annotated[StepReport, OnCommandLine(named="result")]

_SESSION_HELP = "The session; without it the only live one."
_SPEC_HELP = "The spec; without it the workspace's."
_REASON_HELP = "Why; it is written to the journal."
_LIMIT_HELP = "The maximum number on one page."
_CURSOR_HELP = "Where the previous page ended, as that page says."
_REPORT_HELP = "The report on the outstanding step."


class SessionParams(Input):
    """Names a session; without both ids the workspace's only live session is meant."""

    session_id: SessionId | None = Field(default=None, description=_SESSION_HELP)
    spec_id: SpecId | None = Field(default=None, description=_SPEC_HELP)


class StartParams(Input):
    """`session start`; None means the posture's default.

    Without the write lock (`enforce_autonomy_write_lock: false`) a reason code is needed.
    """

    spec_id: SpecId | None = Field(default=None, description=_SPEC_HELP)
    idempotency_key: IdempotencyKey | None = Field(
        default=None, description="The same key again returns the session that it started."
    )
    max_tasks_per_session: Bound | None = Field(
        default=None, description="Pause after N deliverables."
    )
    max_consecutive_errors: Bound | None = Field(
        default=None, description="Pause after N consecutive errors."
    )
    context_threshold_pct: Annotated[int, Field(ge=1, le=100), _ENVIRONMENT] | None = Field(
        default=None, description="Pause when N percent of the context is used."
    )
    gate_policy: Annotated[GatePolicy, _ENVIRONMENT] | None = Field(
        default=None, description="Which verdicts let a phase pass."
    )
    heartbeat_stale_minutes: Minutes | None = Field(
        default=None, description="Pause after N minutes without a heartbeat."
    )
    heartbeat_grace_minutes: Minutes | None = Field(
        default=None, description="Minutes until the first heartbeat is due."
    )
    step_stale_minutes: Minutes | None = Field(
        default=None, description="Pause after N minutes on one step."
    )
    gate_nonce_ttl_minutes: Minutes | None = Field(
        default=None, description="Minutes for which a review's evidence is valid."
    )
    stop_on_phase_completion: Setting | None = Field(
        default=None, description="Pause after each phase."
    )
    max_fidelity_review_cycles_per_phase: Bound | None = Field(
        default=None, description="Pause after N reviews of a phase."
    )
    auto_retry_fidelity_gate: Setting | None = Field(
        default=None, description="Fix findings and review again automatically."
    )
    enforce_autonomy_write_lock: Setting | None = Field(
        default=None, description="Refuse changes without a step's proof."
    )
    step_proof_ttl_minutes: Minutes | None = Field(
        default=None, description="Minutes for which a step's proof is valid."
    )
    gates_required: Setting | None = Field(default=None, description="Review every phase.")
    force: bool = Field(default=False, description="End the spec's live session first.")
    reason_code: ReasonCode | None = Field(
        default=None, description="The kind of reason for working without the write lock."
    )
    reason: Reason | None = Field(default=None, description=_REASON_HELP)


class ReasonParams(SessionParams):
    """`session pause` and `session end`."""

    reason: Reason | None = Field(default=None, description=_REASON_HELP)


class ResumeParams(SessionParams):
    """`session resume`."""

    force: bool = Field(default=False, description="Resume a failed session, too.")
    acknowledge_gate_review: bool = Field(default=False, description="Let the phase pass.")
    acknowledged_gate_attempt_id: Id | None = Field(
        default=None, description="The review that awaits a person."
    )


class RebaseParams(SessionParams):
    """`session rebase`."""

    force: bool = Field(
        default=False, description="Drop completed deliverables that are no longer in the spec."
    )


class ResetParams(Input):
    """`session reset`: always names its session."""

    session_id: Id = Field(description="The session, always by its id.")
    reason: Reason | None = Field(default=None, description=_REASON_HELP)


class ListParams(Input):
    """`session list`."""

    status_filter: SessionStatus | None = Field(
        default=None, description="Only those with this status."
    )
    spec_id: Id | None = Field(default=None, description="Only those of this spec.")
    limit: Annotated[int, Field(ge=1, le=100)] = Field(default=20, description=_LIMIT_HELP)
    cursor: Cursor | None = Field(default=None, description=_CURSOR_HELP)


class EventsParams(SessionParams):
    """`session events` and `journal list`."""

    limit: Annotated[int, Field(ge=1, le=200)] = Field(default=20, description=_LIMIT_HELP)
    cursor: Cursor | None = Field(default=None, description=_CURSOR_HELP)


class NextParams(SessionParams):
    """`step next`."""

    last_step_result: Report | None = Field(default=None, description=_REPORT_HELP)


class ReportParams(SessionParams):
    """`step report`."""

    last_step_result: Report = Field(description=_REPORT_HELP)


class HeartbeatParams(SessionParams):
    """`step heartbeat`. `last_completed_task_id` is accepted for compatibility and ignored."""

    context_usage_pct: Percent = Field(description="Percent of the context in use.")
    estimated_tokens_used: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Tokens used so far."
    )
    consecutive_error_delta: Annotated[int, Field(ge=-1000, le=1000)] = Field(
        default=0, description="Add N to the count of consecutive errors."
    )
    last_completed_task_id: Id | None = Field(
        default=None, description="For the caller's own records."
    )


class FindingParams(Input):
    """A review's finding, spelled as in `submit_review`."""

    severity: Annotated[str, Field(max_length=50)]
    title: Annotated[str, Field(max_length=500)]
    detail: Annotated[str, Field(max_length=20_000)] = ""
    deliverableId: ShortText | None = None  # noqa: N815 - the tool's spelling
    file: Annotated[str, Field(max_length=4096)] | None = None


class GateParams(SessionParams):
    """`review gate`; without a verdict a surface that has an agent lets it make the review.

    `review_path` says where the reviewer's own account is; it is noted and not followed.
    """

    phase_id: Id = Field(description="The phase.")
    step_id: Id = Field(description="The outstanding gate step.")
    verdict: GateVerdict | None = Field(default=None, description="What the review found.")
    summary: Annotated[str, Field(max_length=20_000)] = Field(
        default="", description="The review's summary in a few sentences."
    )
    findings: Annotated[tuple[FindingParams, ...], Field(max_length=1000)] = Field(
        default=(), description="Its findings."
    )
    review_path: Annotated[str, Field(max_length=4096), OnCommandLine("PATH")] | None = Field(
        default=None, description="Where the review is written down."
    )


class JournalAddParams(SessionParams):
    """`journal add`."""

    title: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="What it is about."
    )
    content: Annotated[str, Field(max_length=20_000)] = Field(
        default="", description="The note itself."
    )


class SpecParams(Input):
    """Names the spec; the workspace's where it is left out."""

    spec_id: SpecId | None = Field(default=None, description=_SPEC_HELP)


class TaskListParams(SpecParams):
    """`task list`."""

    status: TaskStatus | None = Field(default=None, description="The status.")
    phase_id: Id | None = Field(default=None, description="The phase.")
    limit: Annotated[int, Field(ge=1, le=10_000)] = Field(default=100, description=_LIMIT_HELP)


class TaskParams(SpecParams):
    """`task prepare`."""

    task_id: TaskId = Field(description="The deliverable.")


class TaskMutationParams(TaskParams):
    """`task start`, `complete`, `block` and `unblock`; a live session wants the step's proof."""

    session_id: SessionId | None = Field(default=None, description=_SESSION_HELP)
    autonomy_step_proof: Proof | None = Field(
        default=None, description="The outstanding step's proof."
    )
    reason: Reason | None = Field(default=None, description=_REASON_HELP)


class TaskStatusParams(TaskMutationParams):
    """`task update-status`."""

    status: TaskStatus = Field(description="The status.")


class GateWaiverParams(SessionParams):
    """`task gate-waiver`; the reason code is for those who count, the reason for those who read."""

    phase_id: Id = Field(description="The phase.")
    reason_code: ReasonCode = Field(description="The kind of reason.")
    reason: Reason | None = Field(default=None, description=_REASON_HELP)


class CapabilitiesParams(Input):
    """`capabilities` takes nothing."""


PARAMS: Mapping[tuple[str, str], type[Input]] = {
    ("session", "start"): StartParams,
    ("session", "status"): SessionParams,
    ("session", "pause"): ReasonParams,
    ("session", "resume"): ResumeParams,
    ("session", "rebase"): RebaseParams,
    ("session", "end"): ReasonParams,
    ("session", "list"): ListParams,
    ("session", "reset"): ResetParams,
    ("session", "events"): EventsParams,
    ("step", "next"): NextParams,
    ("step", "report"): ReportParams,
    ("step", "replay"): SessionParams,
    ("step", "heartbeat"): HeartbeatParams,
    ("review", "gate"): GateParams,
    ("task", "list"): TaskListParams,
    ("task", "prepare"): TaskParams,
    ("task", "start"): TaskMutationParams,
    ("task", "complete"): TaskMutationParams,
    ("task", "block"): TaskMutationParams,
    ("task", "unblock"): TaskMutationParams,
    ("task", "update-status"): TaskStatusParams,
    ("task", "gate-waiver"): GateWaiverParams,
    ("journal", "list"): EventsParams,
    ("journal", "add"): JournalAddParams,
    ("server", "capabilities"): CapabilitiesParams,
}
"""Group and command → what it takes, on every surface."""


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
