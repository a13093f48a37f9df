"""The seams of the loop: what it needs from an agent and from a presenter."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from runner.deliverables.model import StatusFile
from runner.deliverables.verification_conditions import Conditions
from runner.events import RunEvent, SessionResult, StreamEvent
from runner.marker import Instruction

StreamSink = Callable[[StreamEvent], None]
RunSink = Callable[[RunEvent], None]


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What decides how an agent session is connected.

    Attributes:
        instruction: decides the tools and the policy.
        model: model name or alias, e.g. "sonnet".
        thinking_tokens: thinking budget in tokens, None for none.
        max_cost_usd: the session's own spending limit in US dollars, None for none.
    """

    instruction: Instruction
    model: str
    thinking_tokens: int | None = None
    max_cost_usd: float | None = None


class Deliverables(Protocol):
    """What the loop reads of the deliverables."""

    def load(self) -> StatusFile | None: ...


class ControlPlanePort(Protocol):
    """The control plane's one entrance."""

    def call(self, group: str, command: str, /, **params: Any) -> dict[str, Any]:
        """Run a command and return its envelope (CONTRACT §6)."""
        ...


class SessionGuard(Protocol):
    """Looks after agent sessions from outside. What it raises ends the run."""

    def before(self, instruction: Instruction) -> None:
        """Note what must still hold when the session is over; it is not connected yet."""
        ...

    def after(self, instruction: Instruction) -> None:
        """Look at what the session did; its process is gone."""
        ...


class AgentSession(Protocol):
    """One connected agent with a fresh context. Runs one prompt, then is closed."""

    async def run(self, prompt: str, *, task_id: str | None, sink: StreamSink) -> SessionResult:
        """Send the prompt and drive the agent to its result.

        Never raises for anything the agent or the API does; that is what the result's
        outcome says.

        Args:
            prompt: the text, delivered verbatim.
            task_id: the only deliverable whose status this session may set, or None.
            sink: receives the stream events as they happen.
        """
        ...

    async def context_usage(self) -> int | None:
        """Return how full the agent's context is, in percent; None when it can't be told."""
        ...

    async def interrupt(self) -> None:
        """Ask the agent to stop now; `run` then returns with outcome INTERRUPTED."""
        ...

    async def close(self) -> None:
        """End the agent process and everything it started. May be called twice."""
        ...


class AgentFactory(Protocol):
    """Makes agent sessions."""

    async def connect(self, plan: SessionPlan) -> AgentSession:
        """Start an agent process for `plan`.

        Raises:
            AgentStartError: it could not be started.
        """
        ...


@dataclass(frozen=True, slots=True)
class VerifiedCommand:
    """What running one verification command gave.

    Attributes:
        command_hash: as it was issued.
        exit_code: 0 to 255; 124 when it took too long, 126 when the policy denied it.
        output_digest: SHA-256 of its whole output, in lower-case hex.
        output_tail: the end of the output, made text.
        remark: why it was not run, or not to its end; "" for one that ended by itself.
    """

    command: str
    command_hash: str
    exit_code: int
    output_digest: str
    output_tail: str
    duration_seconds: float
    timed_out: bool
    remark: str = ""


@dataclass(frozen=True, slots=True)
class VerificationRun:
    """One run of a step's verification commands.

    Attributes:
        receipt: as CONTRACT §6 has it.
        receipt_path: where it was written; None where it was not.
        conditions: where they ran; None where nobody says.
    """

    receipt: dict[str, Any]
    results: tuple[VerifiedCommand, ...]
    receipt_path: Path | None
    conditions: Conditions | None = None

    @property
    def passed(self) -> bool:
        """Whether every command exited with 0."""
        return all(result.exit_code == 0 for result in self.results)


class Verifier(Protocol):
    """Runs verification commands, contained as the agent is."""

    async def run(
        self,
        step_id: str,
        commands: Sequence[Mapping[str, str]],
        *,
        within_seconds: float | None = None,
    ) -> VerificationRun:
        """Run the commands of a step, one after another.

        Args:
            step_id: the step's, or `receipts.BASELINE`.
            commands: mappings with `command` and `command_hash`, as the step has them.
            within_seconds: bounds all of them, their setup included; each command is cut off after
                its share of what is left. None for no bound but the one of each command.

        Raises:
            StateWriteError: output or receipt could not be written.
        """
        ...


class ReviewBriefing(Protocol):
    """What an independent review is told about a phase."""

    def text(
        self,
        phase_id: str,
        *,
        changed_commands: Mapping[str, Sequence[str]] | None = None,
        scope: str = "phase",
    ) -> str:
        """Return the briefing, Markdown.

        Args:
            changed_commands: with `was` and `is`, where the phase's verification commands are not
                those that the session was started with; None where they are.
            scope: `spec` where the whole specification is reviewed with the phase.
        """
        ...


class Checkpoints(Protocol):
    """Keeps the work tree of every completed step. Never raises: a problem is a warning."""

    def record(self, step_id: str, phase_id: str | None, summary: str) -> None:
        """Keep the work tree as it is now, under the step's id."""
        ...

    def planning_started(self) -> None:
        """Keep the project before a session plans: the first phase's review compares with it.

        Only the first call counts until a phase begins.
        """
        ...

    def phase_started(self, phase_id: str) -> None:
        """Keep what a later review compares with. Only the first call of a phase counts."""
        ...

    def touched(self) -> tuple[str, ...]:
        """Return files that differ from what was kept last, the first few, for people to read."""
        ...
