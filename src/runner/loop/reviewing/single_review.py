"""One review on its own, for callers that drive their session themselves (CONTRACT §6)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runner.events import ExitReason
from runner.loop.sessions import Sessions
from runner.loop.steps.context import StepContext
from runner.loop.steps.review import NoVerdictError, have_reviewed
from runner.loop.steps.step import CurrentStep
from runner.loop.termination import Ending

if TYPE_CHECKING:
    from runner.deliverables.review import ReviewVerdict


class ReviewFlow:
    """Has one phase reviewed. Implements `Flow`.

    Args:
        step: the outstanding gate step.
        context: makes what the review works with.

    Attributes:
        verdict: what the reviewer submitted, None while it did not.
    """

    command = "review"

    def __init__(self, step: CurrentStep, context: Callable[[Sessions], StepContext]) -> None:
        self.verdict: ReviewVerdict | None = None
        self._step = step
        self._context = context

    async def run(self, sessions: Sessions) -> Ending:
        """See `Flow.run`."""
        try:
            self.verdict = await have_reviewed(self._step, self._context(sessions))
        except NoVerdictError as error:
            return Ending(ExitReason.FAILED, str(error))
        return Ending(ExitReason.ALL_VERIFIED, f"{self._step.phase_id} was reviewed")

    async def wind_up(self) -> None:
        """See `Flow.wind_up`."""

    def achieved(self) -> object:
        """See `Flow.achieved`."""
        return self.verdict

    def details(self) -> dict[str, Any]:
        """See `Flow.details`."""
        return {}
