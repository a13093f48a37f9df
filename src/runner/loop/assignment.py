"""What an agent session is asked to do."""

from dataclasses import dataclass

from runner.deliverables.model import Deliverable
from runner.marker import PLAN_REVIEW, PLAN_SCOPE, Instruction


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the next agent session is asked to do.

    Attributes:
        deliverable: the one it is bound to, None when it is not bound.
        briefing: what else its prompt has to say.
        phase_id: the phase it works in; that of the deliverable where None.
        step_id: the step it belongs to, None outside of steps.
        scope: of a review, as in its marker.
    """

    instruction: Instruction
    deliverable: Deliverable | None = None
    briefing: str | None = None
    phase_id: str | None = None
    step_id: str | None = None
    scope: str | None = None

    @property
    def text_name(self) -> str:
        """The name of its instruction's text."""
        return PLAN_REVIEW if self.scope == PLAN_SCOPE else self.instruction

    @property
    def phase(self) -> str | None:
        """The id of the phase it works in, None where it works in none."""
        return self.phase_id or (self.deliverable.phase_id if self.deliverable else None)
