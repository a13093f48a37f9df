"""What every presenter is."""

from types import TracebackType
from typing import Protocol, Self

from runner.events import RunEvent


class Presenter(Protocol):
    """Shows a run. Called with each event; used as a context manager around the run.

    Neither call raises for a stream that went away. Leaving the context restores the terminal.
    """

    @property
    def lost(self) -> OSError | None:
        """Why a part of what belongs on stdout could not be written, None when all of it was."""
        ...

    def __call__(self, event: RunEvent) -> None:
        """Show one event. Called from one thread."""
        ...

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """End, in any state."""
        ...
