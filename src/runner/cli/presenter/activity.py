"""What the transient line says: the state of the running session or wait (seed 001 §3.5)."""

import time
from collections.abc import Callable

from runner.events import (
    Checking,
    CheckStage,
    RunEnded,
    RunEvent,
    SessionActivity,
    SessionEnded,
    SessionStarted,
    StreamApiRetry,
    StreamEnd,
    StreamEvent,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    StreamToolResponse,
    Waiting,
)
from runner.text.durations import format_duration, format_remaining, format_reset_time
from runner.text.messages import plural
from runner.text.safe import inert

_NAME_LIMIT = 60
_REASON_LIMIT = 80
_COMMAND_LIMIT = 80

Clock = Callable[[], float]


def tool_label(name: str) -> str:
    """Return a tool's name as people know it: `mcp__runner__set_status` is `set_status`."""
    return inert(name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name, _NAME_LIMIT)


def retry_label(event: StreamApiRetry) -> str:
    """Return `API retry 3 of 10 (529 overloaded_error)`."""
    cause = " ".join(filter(None, (str(event.http_status or ""), inert(event.error, _NAME_LIMIT))))
    return f"API retry {event.attempt} of {event.max_retries} ({cause or 'no answer'})"


class Activity:
    """Follows the events and says at any time what is going on.

    `update` is cheap enough for every stream event; `text` may be called from another thread.

    Args:
        clock: monotonic seconds.
        wall: seconds since the epoch; waits are measured by it, so that they survive a
            suspended machine and a changed clock.
    """

    def __init__(self, clock: Clock = time.monotonic, wall: Clock = time.time) -> None:
        self._clock = clock
        self._wall = wall
        self._started = 0.0
        self._last: StreamEvent | None = None
        self._running = False
        self._waiting: tuple[Waiting, float] | None = None
        self._checking: Checking | None = None
        self.tools = 0

    def update(self, event: RunEvent) -> None:
        """Take in one event."""
        if isinstance(event, SessionActivity):
            self._update_stream(event.event)
        elif isinstance(event, SessionStarted):
            self._started, self._last, self.tools = self._clock(), None, 0
            self._running, self._waiting, self._checking = True, None, None
        elif isinstance(event, Waiting):
            self._running, self._waiting = False, (event, self._wall() + event.seconds)
            self._checking = None
        elif isinstance(event, Checking):
            self._running, self._waiting = False, None
            self._started = self._clock()
            self._checking = None if event.stage is CheckStage.ENDED else event
        elif isinstance(event, SessionEnded | RunEnded):
            self._running, self._waiting, self._checking = False, None, None

    def _update_stream(self, event: StreamEvent) -> None:
        if isinstance(event, StreamToolResponse):
            self.tools += 1
        elif isinstance(event, StreamEnd):
            self._running = False
        elif isinstance(event, StreamThinking | StreamText | StreamToolInvocation | StreamApiRetry):
            self._last = event

    def text(self) -> str:
        """Return the line, "" when nothing is going on. It may be wider than a terminal."""
        if self._waiting is not None:
            return self._waiting_text(*self._waiting)
        if self._checking is None and not self._running:
            return ""
        elapsed = format_duration(self._clock() - self._started)
        if self._checking is not None:
            return f"⚡ {elapsed} {_checking(self._checking)}"
        tools = f" ({plural(self.tools, 'tool')})" if self.tools else ""
        return f"⚡ {elapsed} {_doing(self._last)}...{tools}"

    def _waiting_text(self, event: Waiting, until: float) -> str:
        now = self._wall()
        if event.resets_at is None:
            why = inert(event.reason, _REASON_LIMIT)
        else:
            why = f"resets at {format_reset_time(event.resets_at, now)}"
        suffix = f" ({why})" if why else ""
        return f"⏳ Waiting... {format_remaining(until - now)} remaining{suffix}"


def _checking(event: Checking) -> str:
    match event.stage:
        case CheckStage.PREPARING:
            return "Preparing a clean room for verification..."
        case CheckStage.SETUP:
            return f"Setting up for verification: {inert(event.command, _COMMAND_LIMIT)}"
        case _:
            what = "Trying before any work" if event.baseline else "Verifying"
            command = inert(event.command, _COMMAND_LIMIT)
            return f"{what} {event.number} of {event.total}: {command}"


def _doing(event: StreamEvent | None) -> str:
    match event:
        case StreamThinking():
            return "Thinking"
        case StreamText():
            return "Responding"
        case StreamToolInvocation(name=name):
            return f"Running {tool_label(name)}"
        case StreamApiRetry():
            return retry_label(event)
        case _:
            return "Starting"
