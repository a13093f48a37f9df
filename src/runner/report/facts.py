"""The facts of a report. Texts are free of credentials and bounded; they may hold anything else.

Times are timezone-aware, durations in seconds, amounts in US dollars.
"""

from dataclasses import dataclass, field
from datetime import datetime

from runner.deliverables.model import Counts


@dataclass(frozen=True, slots=True)
class Took:
    """What agent sessions took."""

    cost_usd: float = 0.0
    seconds: float = 0.0
    sessions: int = 0

    def __add__(self, other: "Took") -> "Took":
        return Took(
            self.cost_usd + other.cost_usd,
            self.seconds + other.seconds,
            self.sessions + other.sessions,
        )


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What was taken of one model."""

    model: str
    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens, those of the cache included."""
        cached = self.cache_read_tokens + self.cache_write_tokens
        return self.input_tokens + self.output_tokens + cached

    def __add__(self, other: "ModelUse") -> "ModelUse":
        return ModelUse(
            self.model,
            self.sessions + other.sessions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class WorkFact:
    """What one kind of session took, by its instruction."""

    instruction: str
    took: Took


@dataclass(frozen=True, slots=True)
class SessionFact:
    """One agent session.

    Attributes:
        number: from 1 in this report.
        run: which run it was part of.
        ended_at: None while it is at work, and of one that was killed.
        outcome: None where nothing is known of its end.
        text: the agent's last words.
        denied: how many tool calls were refused.
        tokens: None where the agent did not say.
    """

    number: int
    run: str
    command: str
    instruction: str
    model: str
    started_at: datetime
    task_id: str | None = None
    phase_id: str | None = None
    step_id: str | None = None
    ended_at: datetime | None = None
    seconds: float = 0.0
    outcome: str | None = None
    error: str = ""
    text: str = ""
    cost_usd: float = 0.0
    turns: int = 0
    tools: int = 0
    denied: int = 0
    retries: int = 0
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """A tool call that the policy refused. `session` is the number of its agent session."""

    at: datetime
    session: int
    tool: str
    input: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunFact:
    """How a run ended, as it said itself."""

    at: datetime
    run: str
    command: str
    exit_reason: str
    message: str
    hint: str
    sessions: int
    seconds: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class CommandFact:
    """What a verification command gave; `output` is the end of what it printed."""

    text: str
    exit_code: int | None
    output_digest: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class VerificationFact:
    """One time that a phase's verification commands were run.

    Attributes:
        passed: whether every command exited with 0.
        accepted: whether the control plane accepted its receipt.
        receipt_path: where the receipt is; empty for one that is gone.
    """

    step_id: str
    at: datetime | None
    attempt: int
    passed: bool
    accepted: bool
    commands: tuple[CommandFact, ...] = ()
    receipt_path: str = ""
    receipt_hash: str = ""


@dataclass(frozen=True, slots=True)
class FindingFact:
    """One problem that a review found."""

    severity: str
    title: str
    detail: str = ""
    deliverable_id: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """An independent review of a phase, as the gate took it.

    Attributes:
        passed: whether it let the phase pass under the gate policy.
        document: the review's text, where its findings are not given in full.
    """

    at: datetime | None
    attempt_id: str
    verdict: str
    passed: bool
    summary: str = ""
    findings: tuple[FindingFact, ...] = ()
    path: str = ""
    document: str = ""


@dataclass(frozen=True, slots=True)
class StepFact:
    """A step that was reported.

    Attributes:
        started_at: when it was issued.
        checkpoint: the commit that holds the work tree after it; empty without one.
    """

    step_id: str
    type: str
    title: str
    outcome: str
    at: datetime | None
    started_at: datetime | None
    phase_id: str | None = None
    task_id: str | None = None
    note: str = ""
    checkpoint: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceFact:
    """What speaks for a deliverable: the last successful report of its step, or else the last.

    Attributes:
        failures: how many of its steps failed.
    """

    at: datetime | None = None
    step_id: str = ""
    outcome: str = ""
    note: str = ""
    checkpoint: str = ""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class DeliverableFact:
    """A deliverable; `status` is pending, passed, blocked or deprecated."""

    id: str
    description: str
    status: str
    phase_id: str
    criteria: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    evidence: EvidenceFact | None = None
    took: Took = Took()


@dataclass(frozen=True, slots=True)
class PhaseFact:
    """A phase with all that judged it.

    Attributes:
        known: whether the session tells how it stands; where not, nobody knows of its gate.
        gate: pending, passed, failed or waived; None where none is required.
        steps: the newest, oldest first; `steps_total` counts them all.
        models: what was taken of each model, the dearest first.
    """

    id: str
    title: str
    total: int = 0
    passed: int = 0
    blocked: int = 0
    known: bool = True
    started_at: datetime | None = None
    completed_at: datetime | None = None
    seconds: float | None = None
    gate: str | None = None
    verdict: str | None = None
    cycles: int = 0
    acknowledged: bool = False
    awaits_person: bool = False
    waiver_reason: str = ""
    verified_at: datetime | None = None
    steps_total: int = 0
    steps: tuple[StepFact, ...] = ()
    verifications: tuple[VerificationFact, ...] = ()
    reviews: tuple[Review, ...] = ()
    took: Took = Took()
    models: tuple[ModelUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something else that the journal tells: pauses, resumes, waivers, notes."""

    at: datetime | None
    kind: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a person can do; `command` is ready to be pasted, empty for none."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class PlanReviewFact:
    """The last review of the plan.

    Attributes:
        stage: due, revise, accepted or refused.
        awaits_person: whether nobody works on the plan before a person has decided.
    """

    stage: str
    verdict: str
    reviews: int
    awaits_person: bool
    summary: str = ""
    findings: tuple[FindingFact, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How it stands in one look: passed, attention, failed, stopped, running or ended."""

    state: str
    headline: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AutonomousSessionFact:
    """The autonomous session; `id` is empty where none has begun."""

    id: str
    status: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
    pause_reason: str | None = None
    failure_reason: str | None = None
    resume_count: int = 0
    gate_policy: str | None = None
    gates_required: bool = True
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All that a report says.

    Attributes:
        counts: where `passed` is what counts as done; `claimed`, `verified` and `closed` say how
            far they are, and `remark` what must not be left unsaid next to it.
        began_at: when the first agent session or the autonomous session began.
        took: of all agent sessions that the report is about.
        took_over_all: of all runs of the spec, as the budget counts them.
        deliverables_total: how many there are, those included that are left out.
        models_outside: the models of sessions that worked in no phase, as planning does.
        recorded: whether every agent session is known one by one; where not, costs of phases and
            deliverables are over all runs, and models and tokens are told of a part.
        problems: what is damaged or missing.
        cuts: what was left out, and why.
    """

    generated_at: datetime
    runner_version: str
    project_dir: str
    spec_id: str
    spec_title: str
    session: AutonomousSessionFact
    outcome: RunOutcome
    counts: Counts
    began_at: datetime | None
    last_at: datetime | None
    took: Took
    took_over_all: Took
    recorded: bool
    claimed: int = 0
    verified: int = 0
    closed: int = 0
    remark: str = ""
    driven_by: str = ""
    denied_total: int = 0
    tools_total: int = 0
    needs: tuple[Need, ...] = ()
    plan_review: PlanReviewFact | None = None
    phases: tuple[PhaseFact, ...] = ()
    deliverables: tuple[DeliverableFact, ...] = ()
    deliverables_total: int = 0
    sessions: tuple[SessionFact, ...] = ()
    runs: tuple[RunFact, ...] = ()
    models: tuple[ModelUse, ...] = ()
    models_outside: tuple[ModelUse, ...] = ()
    work: tuple[WorkFact, ...] = ()
    denials: tuple[Denial, ...] = ()
    events: tuple[Event, ...] = ()
    note: str = ""
    other_sessions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    cuts: tuple[str, ...] = field(default=())
