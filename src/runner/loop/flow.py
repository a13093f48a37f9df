"""The part of a run that its command decides."""

from typing import Any, Protocol

from runner.loop.sessions import Sessions
from runner.loop.termination import Ending


class Flow(Protocol):
    """Decides which agent session comes next, and when the goal is reached."""

    command: str

    async def run(self, sessions: Sessions) -> Ending:
        """Run sessions until there is a reason to end.

        Raises:
            RunEndedError: a reason was found before a session.
        """
        ...

    async def wind_up(self) -> None:
        """Put down what is not written yet; the run ends, for whatever reason."""
        ...

    def achieved(self) -> object:
        """Return a value that differs when something was achieved beyond statuses and files."""
        ...

    def details(self) -> dict[str, Any]:
        """Return what the result object says beyond the common part."""
        ...
