"""Notice, while steps are at work, that somebody edits what they work from.

The control plane notices an edited plan with the next report, the loop an edited SPEC.md between two
steps. A step may span many sessions, so here both are looked at before each of them, and people
are told while a session still runs (docs/decisions/0406).
"""

from collections.abc import Callable
from contextlib import suppress

import anyio

from runner.autonomy.client import SessionView
from runner.autonomy.spec.source import build_spec
from runner.deliverables.model import StatusFile
from runner.deliverables.spec_text import SpecText
from runner.errors import RunnerError
from runner.events import Notice
from runner.loop.endings import CHANGED_SPEC
from runner.loop.termination import Ending
from runner.ports import RunSink

_ENDS = "The session at work is finished, its report counts, and the run then ends"
SPEC_EDITED = Notice(
    "warning",
    f"SPEC.md is being edited while the run works from it. {_ENDS}, unless the text is put back",
    "`runner sync` takes the changes over and keeps what is done; `runner run` then goes on.",
)
PLAN_EDITED = Notice(
    "warning",
    f"The structure of .runner/status.json is being edited while the run works by it. {_ENDS}, "
    "unless it is put back",
    "`runner sync` checks it against SPEC.md and goes on from it.",
)


class PlanEditedError(Exception):
    """The plan is another one than that the step was issued by."""


class Edits:
    """Looks after SPEC.md and the structure of the plan.

    Args:
        load: returns the plan as it is on disk.
        sink: is told of each once.
    """

    def __init__(
        self, spec_text: SpecText, load: Callable[[], StatusFile | None], sink: RunSink
    ) -> None:
        self._spec_text = spec_text
        self._load = load
        self._sink = sink
        self._structure: str | None = None
        self._told: set[str] = set()

    async def begin(self) -> None:
        """Take the plan as it is now for that which steps are issued by."""
        self._structure = await anyio.to_thread.run_sync(self._structure_now)

    async def spec_changed(self) -> bool:
        """Whether SPEC.md is another text than the plan was made from.

        Raises:
            RunnerError: it can't be told.
        """
        return await anyio.to_thread.run_sync(self._spec_text.changed)

    async def plan_changed(self) -> bool:
        """Whether the plan has another structure than at `begin`.

        Raises:
            RunnerError: it can't be read.
        """
        return await anyio.to_thread.run_sync(self._structure_now) != self._structure

    async def ending(self) -> Ending | None:
        """Return how the run has to end before another session, None when it may go on.

        Raises:
            PlanEditedError: the control plane is to be asked how it goes on.
            RunnerError: it can't be told.
        """
        if await self.spec_changed():
            return CHANGED_SPEC
        if await self.plan_changed():
            raise PlanEditedError
        return None

    async def watch(self, interval_seconds: float) -> None:
        """Tell people as soon as it is noticed, until cancelled. What it can't read, it leaves."""
        while True:
            await anyio.sleep(interval_seconds)
            # An editor may have the file away for a moment; the look between sessions counts.
            with suppress(RunnerError):
                if await self.spec_changed():
                    self._tell(SPEC_EDITED)
                if await self.plan_changed():
                    self._tell(PLAN_EDITED)

    def _tell(self, notice: Notice) -> None:
        if notice.message not in self._told:
            self._told.add(notice.message)
            self._sink(notice)

    def _structure_now(self) -> str | None:
        file = self._load()
        return None if file is None else build_spec(file, title="").structure_hash


def other_phases(view: SessionView, file: StatusFile | None) -> bool:
    """Whether a session works by other phases, or by more or fewer deliverables, than there are.

    Args:
        view: of the session.
        file: the plan as it is on disk.
    """
    rows = view.progress.phases
    if file is None or rows is None:
        return False
    phases = build_spec(file, title="").phases
    known = [(row.phase_id, row.tasks_total) for row in rows]
    return known != [(phase.id, len(phase.tasks)) for phase in phases]
