"""The closed vocabularies of the control plane."""

from enum import StrEnum

SCHEMA_VERSION = 3


class SessionStatus(StrEnum):
    """The status of an autonomous session."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    ENDED = "ended"

    @property
    def is_terminal(self) -> bool:
        """Whether no transition leads out of it. `failed` is not terminal: it can be resumed."""
        return self in TERMINAL_STATUSES


TERMINAL_STATUSES = (SessionStatus.COMPLETED, SessionStatus.ENDED)
"""The status of a session that nothing takes up again."""


class PauseReason(StrEnum):
    """Why a session is paused."""

    USER = "user"
    CONTEXT_LIMIT = "context_limit"
    ERROR_THRESHOLD = "error_threshold"
    BLOCKED = "blocked"
    GATE_FAILED = "gate_failed"
    GATE_REVIEW_REQUIRED = "gate_review_required"
    TASK_LIMIT = "task_limit"
    HEARTBEAT_STALE = "heartbeat_stale"
    STEP_STALE = "step_stale"
    PHASE_COMPLETE = "phase_complete"
    FIDELITY_CYCLE_LIMIT = "fidelity_cycle_limit"
    VERIFICATION_UNSETTLED = "verification_unsettled"


class FailureReason(StrEnum):
    """Why a session has failed."""

    SPEC_NOT_FOUND = "spec_not_found"
    SPEC_STRUCTURE_CHANGED = "spec_structure_changed"
    STATE_CORRUPT = "state_corrupt"
    MIGRATION_FAILED = "migration_failed"


class StepType(StrEnum):
    """What a step asks of the caller. The last two are answers, never reported on."""

    IMPLEMENT_TASK = "implement_task"
    EXECUTE_VERIFICATION = "execute_verification"
    RUN_FIDELITY_GATE = "run_fidelity_gate"
    ADDRESS_FIDELITY_FEEDBACK = "address_fidelity_feedback"
    PAUSE = "pause"
    COMPLETE_SPEC = "complete_spec"


class StepOutcome(StrEnum):
    """What a caller says became of a step."""

    SUCCESS = "success"
    FAILURE = "failure"
    SKIPPED = "skipped"


class GatePolicy(StrEnum):
    """How a verdict decides about a gate."""

    STRICT = "strict"
    LENIENT = "lenient"
    MANUAL = "manual"


class GateVerdict(StrEnum):
    """What an independent review found."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    WARN = "warn"
    FAIL = "fail"


class GateStatus(StrEnum):
    """The status of a phase's gate."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"
    WAIVED = "waived"

    @property
    def is_satisfied(self) -> bool:
        return self in (GateStatus.PASSED, GateStatus.WAIVED)


class TaskStatus(StrEnum):
    """The status of a deliverable in `status.json`."""

    PENDING = "pending"
    PASSED = "passed"
    BLOCKED = "blocked"


class EntryType(StrEnum):
    """What a journal entry is about."""

    SESSION = "session"
    STEP = "step"
    GATE = "gate"
    TASK = "task"
    NOTE = "note"


class ReviewScope(StrEnum):
    """What a gate's review looks at: its phase, or with the last one the whole specification."""

    PHASE = "phase"
    SPEC = "spec"


class LoopSignal(StrEnum):
    """What a supervisor does next: go on after `phase_complete`, else stop."""

    PHASE_COMPLETE = "phase_complete"
    SPEC_COMPLETE = "spec_complete"
    PAUSED_NEEDS_ATTENTION = "paused_needs_attention"
    FAILED = "failed"
    BLOCKED_RUNTIME = "blocked_runtime"
