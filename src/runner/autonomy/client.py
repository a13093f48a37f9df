"""Answers and reports of the control plane as types, for callers in the same program.

Each model names what a caller in this program reads. The rest of an answer is for other callers.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from runner.autonomy.enums import (
    FailureReason,
    GatePolicy,
    PauseReason,
    SessionStatus,
    StepType,
)
from runner.autonomy.inputs import StepReport
from runner.autonomy.params import parse


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class RecommendedAction(_Answer):
    """What a person can do next."""

    action: str
    description: str
    command: str | None = None


class PendingAcknowledgement(_Answer):
    """A review that a person must acknowledge."""

    phase_id: str
    verdict: str


class AnswerDetails(_Answer):
    """Why a session is as it is."""

    message: str | None = None
    last_error: str | None = None
    spec_drift: dict[str, Any] | None = None


class NextStep(_Answer):
    """An issued step, or with a message why there is none.

    Attributes:
        step_proof_token: None where the write lock is not enforced.
        commands: of `execute_verification`, each with `command` and `command_hash`.
        findings: what a review found that the step must deal with.
        commands_changed: with `was` and `is`, where the phase's verification commands are not
            those that the session was started with.
        reverifies: it runs the commands of a closed phase again, on the final tree.
        scope: of `run_fidelity_gate`, what is reviewed: `phase` or `spec`.
    """

    type: StepType
    step_id: str = ""
    phase_id: str | None = None
    task_id: str | None = None
    step_proof_token: str | None = None
    commands: tuple[dict[str, str], ...] = ()
    findings: tuple[dict[str, Any], ...] = ()
    commands_changed: dict[str, Any] | None = None
    reverifies: bool = False
    scope: str | None = None
    message: str | None = None

    @property
    def ends(self) -> bool:
        """Whether it only says that there is nothing to do."""
        return self.type in (StepType.PAUSE, StepType.COMPLETE_SPEC)


class SessionAnswer(_Answer):
    """What every answer about one session says.

    Attributes:
        signal: for programs that supervise the caller.
        data: the whole answer, for those that pass it on.
    """

    session_id: str
    status: SessionStatus
    pause_reason: PauseReason | None = None
    failure_reason: FailureReason | None = None
    signal: str | None = Field(
        default=None, validation_alias=AliasChoices("session_signal", "loop_signal")
    )
    recommended_actions: tuple[RecommendedAction, ...] = ()
    pending_manual_gate_ack: PendingAcknowledgement | None = None
    details: AnswerDetails = AnswerDetails()
    next_step: NextStep | None = None
    data: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the answer whose data that is."""
        return cls.model_validate({**data, "data": dict(data)})


class PhaseSize(_Answer):
    """A phase of the plan that a session works by."""

    phase_id: str
    tasks_total: int


class SessionProgress(_Answer):
    """How far a session has got."""

    phases: tuple[PhaseSize, ...] | None = None


class CompletedTask(_Answer):
    """A deliverable that was accepted before."""

    task_id: str
    title: str | None = None
    files_touched: tuple[str, ...] = ()


class ResumeContext(_Answer):
    """What a caller with an empty context needs to go on."""

    last_pause_reason: str | None = None
    recent_completed_tasks: tuple[CompletedTask, ...] = ()


class SessionView(SessionAnswer):
    """A session as `session status` shows it.

    Attributes:
        effective_status: what the next write will find.
        created: whether this `session start` made it.
        proven_tree: on which everything was verified.
        in_force: the options that it was started with.
    """

    effective_status: SessionStatus
    created: bool = False
    last_step_id: str | None = None
    proven_tree: str | None = None
    progress: SessionProgress = SessionProgress()
    resume_context: ResumeContext | None = None
    limits: dict[str, Any] = Field(default_factory=dict)

    @property
    def in_force(self) -> Mapping[str, Any]:
        return {**self.limits, **self.data}


class GateAnswer(_Answer):
    """A recorded review."""

    gate_attempt_id: str
    gate_evidence_token: str
    gate_policy: GatePolicy
    gate_passed_preview: bool


def build_report(fields: Mapping[str, Any]) -> StepReport:
    """Return the report with these fields. Raises RefusedError: one of them is wrong."""
    return parse(StepReport, fields)
