"""What is looked at before and after each agent session, from outside of it."""

from collections.abc import Sequence
from pathlib import Path

from runner.errors import RunnerError
from runner.marker import Instruction
from runner.sandbox.status import Containment
from runner.sandbox.watch import ReadOnlyWatch, ReviewWatch


class ToolFailures:
    """Ends a run whose injected tools could not do their work. Implements `SessionGuard`.

    Further sessions would be paid for and their work not recorded.

    Args:
        failures: what went wrong so far; others add to it.
    """

    def __init__(self, failures: Sequence[RunnerError]) -> None:
        self._failures = failures

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        if self._failures:
            raise self._failures[0]


class ReadOnlyRun:
    """Proves that the sessions of a sync change nothing. Implements `SessionGuard`."""

    def __init__(self, project: Path, containment: Containment) -> None:
        self._watch = ReadOnlyWatch(project, containment)

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        self._watch.after_session()


class ReadOnlyReviews:
    """Proves that each review changes nothing. Implements `SessionGuard`."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._watch: ReviewWatch | None = None

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""
        reviewing = instruction is Instruction.REVIEW
        self._watch = ReviewWatch(self._project) if reviewing else None

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.after_session()
