"""What the executors of steps work with."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from runner.deliverables.review import ReviewVerdict
from runner.loop.claims import ClaimedDeliverables
from runner.loop.edited_inputs import Edits
from runner.loop.plane import Plane
from runner.loop.prompts import Assignment
from runner.loop.sessions import Sessions, SessionTurn
from runner.loop.steps.step import CurrentStep, StepResult
from runner.loop.termination import REVIEW_RULES, SESSION_RULES, RunEndedError
from runner.marker import Instruction
from runner.ports import ReviewBriefing, RunSink, Verifier


@dataclass(frozen=True)
class Judges:
    """Who judges the work, apart from those who do it.

    Attributes:
        verifier: runs verification commands.
        briefing: tells a reviewer what to look at.
        take_verdict: returns what the last review session submitted, None when it did not.
    """

    verifier: Verifier
    briefing: ReviewBriefing
    take_verdict: Callable[[], ReviewVerdict | None]


MOST_SESSIONS = 5


@dataclass
class StepContext:
    """What is there to execute steps with, for one autonomous session.

    Attributes:
        memory: what earlier runs did before they took up this step, None for a step that is new;
            the next prompt of one who works tells it, once.
        most_sessions: agent sessions on one deliverable before it counts as stuck.
        spent: deliverable → agent sessions that worked on it in this run.
        edits: notices that somebody edits what the steps work from; None where nobody looks.
    """

    session_id: str
    plane: Plane
    sessions: Sessions
    claims: ClaimedDeliverables
    judges: Judges
    sink: RunSink
    memory: str | None = None
    edits: Edits | None = None
    most_sessions: int = MOST_SESSIONS
    spent: Counter[str] = field(default_factory=Counter)

    async def work(
        self, assignment: Assignment, *, follower: Instruction | None = None
    ) -> SessionTurn:
        """Run agent sessions until one says something about the work; return what it gave.

        A session that crashed or met a limit is tried again, within the bounds of the run; what
        it changed before counts as progress of the one that is returned.

        Raises:
            RunEndedError: there is a reason to end.
            PlanEditedError: the step was issued by a plan that is another one now.
        """
        counts = assignment.instruction.is_iteration
        progressed = False
        while True:
            await self.sessions.ready(SESSION_RULES if counts else REVIEW_RULES)
            await self._unless_edited()  # that may have waited for hours
            turn = await self.sessions.run(assignment, follower=follower)
            progressed = progressed or turn.progressed
            if turn.worked or self._has_word(assignment):
                return replace(turn, progressed=progressed)

    async def _unless_edited(self) -> None:
        ending = None if self.edits is None else await self.edits.ending()
        if ending is not None:
            raise RunEndedError(ending)

    @property
    def taken_up(self) -> bool:
        """Whether an earlier run may have done the work of this step, and nobody has looked yet."""
        return self.memory is not None

    def briefing(self, *parts: str | None) -> str | None:
        """Return the parts that there are, after what is to be remembered."""
        memory, self.memory = self.memory, None
        return "\n\n".join(part for part in (memory, *parts) if part) or None

    def _has_word(self, assignment: Assignment) -> bool:
        """Whether the bound agent had its say before something broke."""
        bound = assignment.deliverable is not None
        return bound and self.claims.word.value != "pending"


Executor = Callable[[CurrentStep, StepContext], Awaitable[StepResult]]
