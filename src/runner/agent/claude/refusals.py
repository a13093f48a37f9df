"""Refusals by the agent itself: a tool that is not offered, a path its rules deny.

They never reach our hook, and come back as the tool's answer. A user must see them all the same:
they are why an agent is stuck.
"""

import re
from typing import Any

from runner.events import (
    StreamEvent,
    StreamToolDenied,
    StreamToolInvocation,
    StreamToolResponse,
)

_REFUSAL = re.compile(
    r"denied by your permission settings|No such tool available|Permission to use .* denied"
    r"|requested permissions to",
    re.IGNORECASE,
)
_FRAME = re.compile(r"</?tool_use_error>")


class Refusals:
    """Matches a session's tool answers with the calls they answer."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}

    def denial(self, event: StreamEvent) -> StreamToolDenied | None:
        """Take note of an event; return the refusal it stands for, if it does."""
        if isinstance(event, StreamToolInvocation):
            self._calls[event.tool_use_id] = (event.name, event.input)
        if not isinstance(event, StreamToolResponse):
            return None
        name, given = self._calls.pop(event.tool_use_id, ("tool", {}))
        if not event.is_error or not _REFUSAL.search(event.content[:500]):
            return None
        return StreamToolDenied(name, given, _FRAME.sub("", event.content).strip())
