"""Which calls of our tools the agent's stream has asked for.

A call reaches an in-process tool as a message of its own, beside the stream. It counts only when
the stream has shown that the model made it: the same tool, the same input, once.
"""

from typing import Any

import anyio

from runner.agent.claude.tools import qualified_name
from runner.errors import DeliverableError

WAIT_SECONDS = 10.0
"""How long a call may come before the part of the stream that asked for it."""

_POLL_SECONDS = 0.01


class AskedCalls:
    """The calls of our tools that a session's stream has shown and that were not carried out yet."""

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._calls: dict[str, tuple[str, Any]] = {}
        self._seen: set[str] = set()

    def note(self, call_id: str, name: str, tool_input: Any) -> None:
        """Take note of a call in the stream; `name` is the one that the agent sees."""
        if call_id not in self._seen:
            self._seen.add(call_id)
            self._calls[call_id] = (name, tool_input)

    def forget(self, call_id: str) -> None:
        """Take note of a call that was answered: it can't be carried out any more."""
        self._calls.pop(call_id, None)

    async def take(self, tool: str, arguments: Any) -> None:
        """Use up the call of one of our tools that the stream asked for.

        Raises:
            DeliverableError: the stream asked for no such call.
        """
        wanted = (qualified_name(tool), arguments)
        with anyio.move_on_after(self._wait_seconds):
            while True:
                for call_id, call in self._calls.items():
                    if call == wanted:
                        del self._calls[call_id]
                        return
                await anyio.sleep(_POLL_SECONDS)
        raise DeliverableError(
            f"{tool}: the model did not make this call, so something else did (security). "
            "Nothing was changed.",
            hint="Look at what the session's commands ran.",
        )
