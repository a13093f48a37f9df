"""Fakes at the loop's seams: an agent that does what a test says, and a list as a sink."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.errors import AgentStartError
from runner.loop.events import RunEvent, SessionOutcome, SessionResult, StreamEnd
from runner.loop.ports import SessionPlan, StreamSink
from runner.marker import PromptMarker

COMPLETED = SessionResult(SessionOutcome.COMPLETED, text="done", cost_usd=0.5, turns=3)
FAILED = SessionResult(SessionOutcome.EXECUTION_ERROR, error="API Error: 500", http_status=500)


def deliverable(
    number: int, status: Status = Status.PENDING, *, needs: tuple[str, ...] = ()
) -> Deliverable:
    """Return a deliverable with the id `D-<number>`."""
    return Deliverable(f"D-{number:03}", f"thing {number}", ("it works",), status, depends_on=needs)


@dataclass
class Plan:
    """Deliverables in memory; stands for the repository."""

    file: StatusFile | None = None

    def load(self) -> StatusFile | None:
        return self.file

    def put(self, *deliverables: Deliverable) -> None:
        self.file = StatusFile("test", deliverables=deliverables)

    def set(self, deliverable_id: str, status: Status) -> None:
        assert self.file is not None
        self.put(
            *(
                Deliverable(d.id, d.description, d.acceptance_criteria, status)
                if d.id == deliverable_id
                else d
                for d in self.file.deliverables
            )
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
