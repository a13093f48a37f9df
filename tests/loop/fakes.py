"""Fakes at the loop's seams: an agent that does what a test says, and a list as a sink."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from runner.checkpoints.phase_diff import NoComparisonError
from runner.deliverables.model import Deliverable, Status
from runner.deliverables.review import Finding, ReviewVerdict, Verdict
from runner.errors import AgentStartError
from runner.events import RunEvent, SessionOutcome, SessionResult, StreamEnd
from runner.loop.steps.context import Judges
from runner.marker import PromptMarker
from runner.ports import SessionPlan, StreamSink, VerificationRun, VerifiedCommand

COMPLETED = SessionResult(SessionOutcome.COMPLETED, text="done", cost_usd=0.5, turns=3)
FAILED = SessionResult(SessionOutcome.EXECUTION_ERROR, error="API Error: 500", http_status=500)


def deliverable(
    number: int,
    status: Status = Status.PENDING,
    *,
    needs: tuple[str, ...] = (),
    phase: str | None = None,
    verification: tuple[str, ...] = (),
) -> Deliverable:
    """Return a deliverable with the id `D-<number>`."""
    return Deliverable(
        f"D-{number:03}",
        f"thing {number}",
        ("it works",),
        status,
        depends_on=needs,
        phase=phase,
        verification=verification,
    )


Behaviour = Callable[["FakeSession", PromptMarker], Awaitable[SessionResult]]


@dataclass
class FakeSession:
    """An agent session that runs a test's behaviour."""

    plan: SessionPlan
    behaviour: Behaviour
    prompts: list[str]
    interrupted: anyio.Event = field(default_factory=anyio.Event)
    closed: bool = False

    async def run(self, prompt: str, *, task_id: str | None, sink: StreamSink) -> SessionResult:
        self.prompts.append(prompt)
        marker = PromptMarker.find(prompt)
        assert marker is not None
        assert marker.task == task_id
        result = await self.behaviour(self, marker)
        sink(StreamEnd())
        return result

    async def context_usage(self) -> int | None:
        return 40

    async def interrupt(self) -> None:
        self.interrupted.set()

    async def close(self) -> None:
        self.closed = True


@dataclass
class FakeFactory:
    """Makes fake sessions and remembers them."""

    behaviour: Behaviour
    failures: int = 0
    sessions: list[FakeSession] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    async def connect(self, plan: SessionPlan) -> FakeSession:
        await anyio.lowlevel.checkpoint()
        if self.failures:
            self.failures -= 1
            raise AgentStartError("The agent could not be started: scripted.")
        session = FakeSession(plan, self.behaviour, self.prompts)
        self.sessions.append(session)
        return session

    @property
    def markers(self) -> list[PromptMarker]:
        """The markers of all prompts sent so far."""
        found = [PromptMarker.find(prompt) for prompt in self.prompts]
        return [marker for marker in found if marker is not None]


class Recorder(list[RunEvent]):
    """A sink that keeps what it is told."""

    def __call__(self, event: RunEvent) -> None:
        self.append(event)


@dataclass
class FakeJudges:
    """A verifier and a reviewer that say what a test wants.

    Attributes:
        exit_codes: of the verification runs to come, one for all commands of a run; then 0.
        verdicts: of the reviews to come; then pass.
        verified: the step of each verification run.
        briefed: the phase of each briefing.
        has_no_diff: whether a phase can't be compared with its beginning.
        scopes: what each of them was for.
        failing: command → how often it fails before it succeeds.
        commands: what was run, in order.
        remark: why no command could be run.
        about: the deliverables that findings to come name.
        changed_commands: what the last briefing had to say of them.
    """

    exit_codes: list[int] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    briefed: list[str] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    failing: dict[str, int] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    remark: str = ""
    about: list[str] = field(default_factory=list)
    submitted: ReviewVerdict | None = None
    has_no_diff: bool = False
    changed_commands: Mapping[str, Sequence[str]] | None = None

    def as_judges(self) -> Judges:
        return Judges(self, self, self.take)

    async def run(
        self,
        step_id: str,
        commands: Sequence[Mapping[str, str]],
        *,
        within_seconds: float | None = None,
    ) -> VerificationRun:
        self.verified.append(step_id)
        code = self.exit_codes.pop(0) if self.exit_codes else 0
        digest = hashlib.sha256(b"said").hexdigest()
        results = tuple(
            VerifiedCommand(
                c["command"], c["command_hash"], code or self._code_of(c["command"]), digest, "said",
                0.1, False, self.remark,
            )
            for c in commands
        )  # fmt: skip
        receipt = {
            "step_id": step_id,
            "issued_at": datetime.now(UTC).isoformat(),
            "results": [
                {"command_hash": r.command_hash, "exit_code": r.exit_code, "output_digest": digest}
                for r in results
            ],
        }
        return VerificationRun(receipt, results, None)

    def text(
        self,
        phase_id: str,
        *,
        changed_commands: Mapping[str, Sequence[str]] | None = None,
        scope: str = "phase",
    ) -> str:
        self.changed_commands = changed_commands
        self.scopes.append(scope)
        self.briefed.append(phase_id)
        if self.has_no_diff:
            raise NoComparisonError("The kept object is damaged.", hint="Look.")
        return f"The diff of {phase_id}."

    def _code_of(self, command: str) -> int:
        self.commands.append(command)
        left = self.failing.get(command, 0)
        self.failing[command] = max(left - 1, 0)
        return 1 if left else 0

    def submit(self) -> None:
        """Do what `submit_review` does."""
        verdict = self.verdicts.pop(0) if self.verdicts else Verdict.PASS
        about = self.about.pop(0) if self.about and verdict is not Verdict.PASS else None
        finding = Finding("major", "It lies", "See there.", about)
        findings = () if verdict is Verdict.PASS else (finding,)
        self.submitted = ReviewVerdict(verdict, f"It is a {verdict}.", findings)

    def take(self) -> ReviewVerdict | None:
        taken, self.submitted = self.submitted, None
        return taken
