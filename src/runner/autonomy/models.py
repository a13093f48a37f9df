"""The state of an autonomous session, as its file holds it.

Everything is frozen: a transition makes a new state with `evolve`, which shares what did not
change. Values are validated where they enter, from a file or a caller, and not again on every
step. Times are timezone-aware.
"""

from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from runner.autonomy.enums import (
    SCHEMA_VERSION,
    FailureReason,
    GatePolicy,
    GateStatus,
    GateVerdict,
    PauseReason,
    ReviewScope,
    SessionStatus,
    StepOutcome,
    StepType,
    TaskStatus,
)

_set = object.__setattr__

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Record(BaseModel):
    """Base of everything that is stored: frozen, strict, no unknown fields."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", populate_by_name=True, defer_build=True
    )

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with `changes`, which must be valid: they are not checked again.

        It is what `model_copy` makes of a record, at a third of its cost: records have no
        private attributes and no extra fields that would have to be copied.
        """
        copy = self.__class__.__new__(self.__class__)
        for name, value in (
            ("__dict__", {**self.__dict__, **changes}),
            ("__pydantic_fields_set__", self.__pydantic_fields_set__.union(changes)),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            _set(copy, name, value)  # the record is frozen for everybody else
        return copy


class Counters(Record):
    """What has been counted.

    Attributes:
        tasks_completed: completed deliverables, always `len(completed_task_ids)`.
        tasks_since_resume: completed since the last start or resume; the task limit's measure.
        consecutive_errors: failures since the last success or resume.
        fidelity_review_cycles_in_active_phase: accepted reviews of the active phase's gate.
    """

    tasks_completed: Count = 0
    tasks_since_resume: Count = 0
    consecutive_errors: Count = 0
    fidelity_review_cycles_in_active_phase: Count = 0


class SessionLimits(Record):
    """Bounds of a session; minutes and percent as the names say."""

    max_tasks_per_session: Positive = 100
    max_consecutive_errors: Positive = 3
    context_threshold_pct: Annotated[int, Field(ge=1, le=100)] = 85
    heartbeat_stale_minutes: Positive = 10
    heartbeat_grace_minutes: Positive = 5
    step_stale_minutes: Positive = 60
    gate_nonce_ttl_minutes: Positive = 30
    max_fidelity_review_cycles_per_phase: Positive = 3


class StopConditions(Record):
    """When to stop although nothing is wrong, and whether to fix a failed gate automatically."""

    stop_on_phase_completion: bool = False
    auto_retry_fidelity_gate: bool = True


class WriteLock(Record):
    """Whether changes of deliverables and reports need a step proof, and how long it holds."""

    enforced: bool = True
    step_proof_ttl_minutes: Positive = 15


class ContextUsage(Record):
    """What the caller says about the agent's context; advisory."""

    context_usage_pct: Annotated[int, Field(ge=0, le=100)] = 0
    estimated_tokens_used: Count | None = None
    last_heartbeat_at: AwareDatetime | None = None


class VerificationCommand(Record):
    """A command of an `execute_verification` step; the hash is SHA-256 in hex of its text."""

    command: str
    command_hash: str


class IssuedStep(Record):
    """The step that the caller owes a report on.

    Attributes:
        reverifies: it runs the commands of a closed phase again, on the final tree.
        scope: of `run_fidelity_gate`, what its review looks at.
    """

    step_id: str
    type: StepType
    phase_id: str
    task_id: str | None = None
    issued_at: AwareDatetime
    commands: tuple[VerificationCommand, ...] = ()
    gate_attempt_id: str | None = None
    reverifies: bool = False
    scope: ReviewScope | None = None


class ConsumedAction(Record):
    """A protected change that a proof was used for; the digest is of its content."""

    action: str
    digest: str
    consumed_at: AwareDatetime


class StepProof(Record):
    """The stored half of a step's proof: a hash of the token, and which actions used it up."""

    proof_hash: str
    step_id: str
    issued_at: AwareDatetime
    expires_at: AwareDatetime
    prolonged_to: AwareDatetime | None = None
    consumed_actions: tuple[ConsumedAction, ...] = ()


class GateFinding(Record):
    """One thing that a review found."""

    severity: str
    title: str
    detail: str = ""
    deliverable_id: str | None = None
    file: str | None = None


class GateEvidence(Record):
    """A review's result, waiting to be consumed by a report.

    `checksum` is an HMAC over all the other fields, so that an edit of the stored verdict shows.
    `key_id` names the key that signed the token, None where evidence is not signed.
    """

    gate_attempt_id: str
    session_id: str
    step_id: str
    phase_id: str
    verdict: GateVerdict
    token_hash: str
    issued_at: AwareDatetime
    expires_at: AwareDatetime
    checksum: str
    key_id: str | None = None
    summary: str = ""
    review_path: str | None = None
    findings: tuple[GateFinding, ...] = ()


class ManualGateAck(Record):
    """The review that a person must acknowledge before the session continues."""

    gate_attempt_id: str
    phase_id: str
    verdict: GateVerdict
    requested_at: AwareDatetime


class ConsumedNonce(Record):
    """A gate token that was used and must not be used again."""

    nonce_hash: str
    consumed_at: AwareDatetime


class PhaseGate(Record):
    """A phase's gate.

    Attributes:
        verified_at: when the phase's verification last succeeded; None when it is due.
        verification_skipped: a caller skipped it, which only an unlocked session allows.
        remediated: the findings were addressed, so that the next review is due.
        feedback_skipped: the caller declined to address them, so that a person must.
        acknowledged: a person let it pass under the manual policy.
        reverified: how often its commands ran again for the final tree.
    """

    required: bool = True
    status: GateStatus = GateStatus.PENDING
    verdict: GateVerdict | None = None
    cycles: Count = 0
    gate_attempt_id: str | None = None
    evidence_hash: str | None = None
    review_path: str | None = None
    evaluated_at: AwareDatetime | None = None
    findings: tuple[GateFinding, ...] = ()
    remediated: bool = False
    feedback_skipped: bool = False
    acknowledged: bool = False
    waiver_reason: str | None = None
    verified_at: AwareDatetime | None = None
    verification_skipped: bool = False
    receipt_hash: str | None = None
    reverified: Count = 0

    @property
    def is_satisfied(self) -> bool:
        """Whether the gate no longer holds the phase back."""
        return not self.required or self.status.is_satisfied


class PhaseShape(Record):
    """A phase as the structure hash sees it: `verifies` says whether commands close it."""

    id: str
    title: str
    verifies: bool
    task_ids: tuple[str, ...]
    verifying_task_ids: tuple[str, ...] = ()


class WorkflowStructure(Record):
    """The structure the session works by, taken at its start or last rebase."""

    total_phases: Count
    starting_phase: Count = 0
    indexing_scheme: str = "zero_based"
    workflow_version: str = "1"
    phases: tuple[PhaseShape, ...]


class PhaseTiming(Record):
    """When a phase was entered and closed; durations in seconds."""

    started_at: AwareDatetime
    completed_at: AwareDatetime | None = None
    duration_seconds: float | None = None


class Lifecycle(Record):
    """Explicit flags, set once by a transition and never computed."""

    completed: bool = False
    completed_at: AwareDatetime | None = None
    total_duration_seconds: float | None = None
    paused: bool = False
    paused_at: AwareDatetime | None = None
    paused_reason: PauseReason | None = None
    paused_context: str | None = None
    resumed_at: AwareDatetime | None = None
    resume_count: Count = 0
    last_error: str | None = None
    last_error_at: AwareDatetime | None = None


class StoredResponse(Record):
    """An answer of the hot path, without its token, which is derived again when it is given."""

    command: str
    data: dict[str, Any]


class RecordedReport(Record):
    """The last report that was accepted, and the answer that an identical one gets again."""

    step_id: str
    digest: str
    proof_hash: str | None
    outcome: StepOutcome
    recorded_at: AwareDatetime
    answer: StoredResponse | None = None


class JournalEntry(Record):
    """One line of the journal but for its chain hash. `seq` counts from 1."""

    seq: Positive
    at: AwareDatetime
    session_id: str
    spec_id: str
    entry_type: str
    title: str
    content: str
    data: dict[str, Any] = Field(default_factory=dict)


class TaskChange(Record):
    """A deliverable's status that follows from a transition; `reason` is that of a block."""

    task_id: str
    status: TaskStatus
    reason: str | None = None


class Outbox(Record):
    """What follows from the last transition: applied right after, or by the next caller."""

    entries: tuple[JournalEntry, ...] = ()
    changes: tuple[TaskChange, ...] = ()


class JournalHead(Record):
    """The journal's last line as this session wrote it, so that a later change of it shows."""

    seq: Count = 0
    line_hash: str = "sha256:" + "0" * 64


class LostSession(Record):
    """A live session that had vanished with all its files when this one was started (ADR-0038).

    `last_seen_at` is when it was last written, by its note outside the workspace.
    """

    session_id: str
    spec_id: str
    last_seen_at: AwareDatetime


class ProvenTree(Record):
    """The commands that succeeded on one work tree, whichever phase they belong to.

    Attributes:
        tree: identifies it (`engine.progress.tree_identity`).
        commands: their hashes.
    """

    tree: str
    commands: tuple[str, ...]


class SessionState(Record):
    """An autonomous session (`auto_<ULID>`), one file each.

    Attributes:
        report_exempt: the next `next` needs no report (after start, resume and rebase).
        latest_at: the latest time that the session has seen; None in one of before this was kept.
        clock_is_behind: the journal says already that the clock went back.
        skipped_task_ids: deliverables that a caller skipped; not issued again before a rebase.
        retry_task_id: the deliverable whose step failed last; it is issued again first.
        stopped_after_phase_id: the phase whose completion the session stopped for already.
        agreed_commands: phase → its verification commands in `status.json` at the start or last
            rebase (ADR-0039); None in a session of before this was kept.
        work_reports: reports of steps in which the project may have been changed.
        proven: what the last verifications proved; None before the first one.
        lost_sessions: those that this one replaces; no other record of them is left.
        journal_seq: number of the last journal entry, applied or still in the outbox.
        journal_head: number and hash of that entry's line; the store keeps it.
        state_version: grows by one with every write.
    """

    schema_version: int = Field(default=SCHEMA_VERSION, alias="_schema_version")
    id: str
    spec_id: str
    spec_title: str = ""
    idempotency_key: str | None = None
    spec_structure_hash: str
    spec_file_mtime: float
    spec_file_size: Count
    status: SessionStatus = SessionStatus.RUNNING
    created_at: AwareDatetime
    updated_at: AwareDatetime
    latest_at: AwareDatetime | None = None
    clock_is_behind: bool = False
    paused_at: AwareDatetime | None = None
    pause_reason: PauseReason | None = None
    failure_reason: FailureReason | None = None
    active_phase_id: str | None = None
    last_task_id: str | None = None
    last_step_issued: IssuedStep | None = None
    report_exempt: bool = True
    pending_step_proof: StepProof | None = None
    pending_gate_evidence: GateEvidence | None = None
    pending_manual_gate_ack: ManualGateAck | None = None
    consumed_gate_nonces: tuple[ConsumedNonce, ...] = ()
    counters: Counters = Counters()
    limits: SessionLimits = SessionLimits()
    stop_conditions: StopConditions = StopConditions()
    write_lock: WriteLock = WriteLock()
    gate_policy: GatePolicy = GatePolicy.STRICT
    gates_required: bool = True
    context: ContextUsage = ContextUsage()
    phase_gates: dict[str, PhaseGate] = Field(default_factory=dict)
    completed_task_ids: tuple[str, ...] = ()
    skipped_task_ids: tuple[str, ...] = ()
    retry_task_id: str | None = None
    stopped_after_phase_id: str | None = None
    workflow_structure: WorkflowStructure
    agreed_commands: dict[str, tuple[str, ...]] | None = None
    work_reports: Count = 0
    proven: ProvenTree | None = None
    lost_sessions: tuple[LostSession, ...] = ()
    phase_timing: dict[str, PhaseTiming] = Field(default_factory=dict)
    lifecycle: Lifecycle = Lifecycle()
    last_report: RecordedReport | None = None
    last_response: StoredResponse | None = None
    journal_seq: Count = 0
    journal_head: JournalHead = JournalHead()
    outbox: Outbox = Outbox()
    state_version: Positive = 1

    def gate(self, phase_id: str) -> PhaseGate:
        """Return the phase's gate; one that nothing was recorded for is pending."""
        return self.phase_gates.get(phase_id) or PhaseGate(required=self.gates_required)

    def with_gate(self, phase_id: str, **changes: Any) -> Self:
        """Return a state in which the phase's gate has `changes`."""
        gate = self.gate(phase_id).evolve(**changes)
        return self.evolve(phase_gates={**self.phase_gates, phase_id: gate})

    def with_counters(self, **changes: Any) -> Self:
        return self.evolve(counters=self.counters.evolve(**changes))

    def with_lifecycle(self, **changes: Any) -> Self:
        return self.evolve(lifecycle=self.lifecycle.evolve(**changes))
