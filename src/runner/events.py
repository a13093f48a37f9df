"""What happens inside an agent session and a run, as values (seed 001 §3.5).

`StreamEvent` is what one agent session emits; `RunEvent` is what the loop tells whoever
presents a run. Both are plain data: presenters, logs and JSON output are built from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from runner.deliverables.model import Counts, StatusFile
from runner.marker import Instruction


@dataclass(frozen=True, slots=True)
class StreamThinking:
    """The agent is thinking. `text` may be empty when the model keeps it to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class StreamText:
    """The agent wrote text."""

    text: str


@dataclass(frozen=True, slots=True)
class StreamToolInvocation:
    """The agent asked for a tool."""

    tool_use_id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StreamToolResponse:
    """A tool answered the agent."""

    tool_use_id: str
    content: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class StreamToolDenied:
    """The policy refused a tool call; the agent was told `reason`."""

    name: str
    input: dict[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class StreamApiRetry:
    """The agent process tries an API call again after `delay_seconds`."""

    attempt: int
    max_retries: int
    delay_seconds: float
    http_status: int | None
    error: str


@dataclass(frozen=True, slots=True)
class StreamUsage:
    """What the session has cost so far, estimated from its messages, in US dollars."""

    estimated_usd: float


@dataclass(frozen=True, slots=True)
class StreamError:
    """Something went wrong inside the session; its result says whether it ended it."""

    message: str


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The session's stream is over."""


StreamEvent = (
    StreamThinking
    | StreamText
    | StreamToolInvocation
    | StreamToolResponse
    | StreamToolDenied
    | StreamApiRetry
    | StreamUsage
    | StreamError
    | StreamEnd
)


class SessionOutcome(StrEnum):
    """How an agent session ended."""

    COMPLETED = "completed"
    EXECUTION_ERROR = "execution_error"
    QUOTA_EXCEEDED = "quota_exceeded"
    BUDGET_EXCEEDED = "budget_exceeded"
    MAX_TURNS = "max_turns"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class TokenUse:
    """What a session took of one model.

    Attributes:
        input_tokens: read anew; what came from the cache or went into it is counted apart.
        cost_usd: as the agent reckons it, in US dollars.
    """

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The end of one agent session.

    Attributes:
        outcome: the classification that the loop acts on.
        text: the agent's last words, "" when it said none.
        error: one sentence for people when the outcome is not COMPLETED.
        cost_usd: what the session cost, in US dollars.
        turns: model turns of the main loop.
        duration_seconds: wall-clock length.
        http_status: status of the API failure that ended it, if one did.
        fatal: whether trying again can't help (a refused key, an unknown model).
        quota_resets_at: seconds since the epoch, when the service said so.
        tokens: what it took of each model, as far as the agent said.
    """

    outcome: SessionOutcome
    text: str = ""
    error: str | None = None
    cost_usd: float = 0.0
    turns: int = 0
    duration_seconds: float = 0.0
    http_status: int | None = None
    fatal: bool = False
    quota_resets_at: int | None = None
    tokens: tuple[TokenUse, ...] = ()


class ExitReason(StrEnum):
    """Why a run ended (CONTRACT §3)."""

    ALL_PASSED = "all_passed"
    PARTLY_PASSED = "partly_passed"
    ALL_VERIFIED = "all_verified"
    PHASE_COMPLETE = "phase_complete"
    ALL_BLOCKED = "all_blocked"
    STALLED = "stalled"
    PAUSED = "paused"
    FAILED = "failed"
    MAX_ITERATIONS = "max_iterations"
    MAX_RETRIES_EXCEEDED = "max_retries_exceeded"
    QUOTA_EXCEEDED = "quota_exceeded"
    BUDGET_EXCEEDED = "budget_exceeded"
    BLOCKED_RUNTIME = "blocked_runtime"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run: everything the result object of CONTRACT §3 is made from.

    Attributes:
        signal_number: the signal that ended it when `exit_reason` is INTERRUPTED.
        message: the termination message of seed 001 §8.9, or the error.
        hint: what the user can do next, where there is something to do.
        quota_resets_at: seconds since the epoch, when the service said so.
        blocked_reasons: of the blocked deliverables, None where nobody says.
        waiting_ids: deliverables that wait for blocked ones.
        needs_person: whether the posture wants a person for this end (`partly_passed`).
    """

    command: str
    exit_reason: ExitReason
    message: str
    spec_id: str
    counts: Counts
    iterations: int = 0
    agent_sessions: int = 0
    duration_seconds: float = 0.0
    total_cost_usd: float = 0.0
    blocked_ids: tuple[str, ...] = ()
    hint: str | None = None
    signal_number: int | None = None
    quota_resets_at: int | None = None
    blocked_reasons: Mapping[str, str | None] = field(default_factory=dict)
    waiting_ids: tuple[str, ...] = ()
    needs_person: bool = False

    @classmethod
    def of(
        cls,
        plan: StatusFile | None,
        *,
        command: str,
        exit_reason: ExitReason,
        message: str,
        spec_id: str,
        **more: Any,
    ) -> "RunResult":
        """Return a result with the deliverables of a plan.

        Args:
            plan: None where there is none, or none that can be read.
            more: further attributes.
        """
        result = cls(command, exit_reason, message, spec_id, Counts(), **more)
        if plan is None:
            return result
        return replace(
            result,
            counts=plan.counts,
            blocked_ids=tuple(d.id for d in plan.blocked),
            blocked_reasons={d.id: d.blocked_reason for d in plan.blocked},
            waiting_ids=tuple(d.id for d in plan.unreachable),
        )


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The startup display (seed 001 §3.5). `facts` are its label/value lines, in order."""

    version: str
    message: str
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """An agent session begins.

    Attributes:
        number: counts from 1 over the run, retries included.
        scope: of a review, what it looks at: `plan`, `phase` or `spec`.
    """

    number: int
    instruction: Instruction
    iteration: int
    model: str
    task_id: str | None = None
    task_title: str | None = None
    phase_id: str | None = None
    step_id: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class SessionActivity:
    """Something happened inside the running agent session."""

    event: StreamEvent


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """An agent session is over."""

    number: int
    instruction: Instruction
    result: SessionResult


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """A deliverable changed its status; `status` is pending, passed or blocked."""

    deliverable_id: str
    status: str
    description: str


@dataclass(frozen=True, slots=True)
class DeliverablesPlanned:
    """A planning session created deliverables."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run waits before the next session. `resets_at`: seconds since the epoch."""

    seconds: float
    reason: str
    resets_at: float | None = None


class CheckStage(StrEnum):
    """How far the runner is with a list of verification commands."""

    PREPARING = "preparing"
    SETUP = "setup"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Checking:
    """The runner itself runs verification commands.

    Attributes:
        stage: PREPARING while a clean room is made; ENDED when no command runs any more.
        baseline: whether they run before any work, to see which of them pass already.
        command: the one that runs; "" when none does.
        number: counts verification commands from 1; 0 when none runs.
        total: how many verification commands there are.
    """

    stage: CheckStage
    baseline: bool = False
    command: str = ""
    number: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for people. `level` is info, warning or error; `hint` says what to do next."""

    level: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over; nothing follows."""

    result: RunResult
    details: dict[str, Any] = field(default_factory=dict)


RunEvent = (
    RunStarted
    | SessionStarted
    | SessionActivity
    | SessionEnded
    | StatusChanged
    | DeliverablesPlanned
    | Waiting
    | Checking
    | Notice
    | RunEnded
)
