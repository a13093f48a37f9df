"""Every call that the server takes, and the command behind it (CONTRACT §7).

One row is one call: a tool, its `action`, and where the action has several, its `command`.
What a call takes is said by the command's own model of parameters, nowhere else.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from runner.autonomy.calls import TimeBudget, budget_of

SHORTEST = 5.0
"""Seconds that every call must be given: a lock is waited for as long (ADR-0032)."""


class Effect(NamedTuple):
    """What a call does to the workspace, as MCP's tool annotations put it."""

    read_only: bool
    destructive: bool
    idempotent: bool


class Route(NamedTuple):
    """One call.

    Attributes:
        target: group and command of the control plane's dispatch table.
        summary: what it does, for a model that chooses a call.
    """

    tool: str
    action: str
    command: str | None
    target: tuple[str, str]
    effect: Effect
    summary: str

    @property
    def budget(self) -> TimeBudget:
        """Seconds that the call may take."""
        if self.target[0] == Local.SESSION_CONFIG.value:
            return budget_of("session", "start")
        return budget_of(*self.target)

    @property
    def name(self) -> str:
        """The call in short, e.g. `session/start`."""
        return self.action if self.command is None else f"{self.action}/{self.command}"

    @property
    def shape(self) -> str:
        """The call as callers write it, e.g. `task(action='session', command='start')`."""
        command = "" if self.command is None else f", command='{self.command}'"
        return f"{self.tool}(action='{self.action}'{command})"


class Local(Enum):
    """Groups of targets that the server answers itself, from other commands' answers."""

    SESSION_CONFIG = "session-config"


_READS = Effect(read_only=True, destructive=False, idempotent=True)
_ADDS = Effect(read_only=False, destructive=False, idempotent=False)
_SETS = Effect(read_only=False, destructive=False, idempotent=True)
_DESTROYS = Effect(read_only=False, destructive=True, idempotent=False)


def _session(command: str, effect: Effect, summary: str) -> Route:
    return Route("task", "session", command, ("session", command), effect, summary)


def _step(command: str, effect: Effect, summary: str) -> Route:
    return Route("task", "session-step", command, ("step", command), effect, summary)


def _task(action: str, effect: Effect, summary: str) -> Route:
    return Route("task", action, None, ("task", action), effect, summary)


def _config(command: str, effect: Effect, summary: str) -> Route:
    target = (Local.SESSION_CONFIG.value, command)
    return Route("task", "session-config", command, target, effect, summary)


ROUTES: tuple[Route, ...] = (
    _session("start", _DESTROYS, "Start the spec's session; force ends a live one"),
    _session("status", _READS, "Show a session"),
    _session("pause", _SETS, "Pause a running session"),
    _session("resume", _SETS, "Go on with a paused session, or a failed one by force"),
    _session("rebase", _DESTROYS, "Accept an edited spec"),
    _session("end", _DESTROYS, "End a session for good"),
    _session("list", _READS, "List sessions; also the check of one's role"),
    _session("reset", _DESTROYS, "Delete a failed session"),
    _step("next", _SETS, "Report the step before, if any, and get the next one"),
    _step("report", _SETS, "Report a step without asking for the next one"),
    _step("replay", _READS, "Get the last answer again, unchanged"),
    _step("heartbeat", _ADDS, "Give a sign of life and the context's use"),
    Route(
        "task", "session-events", None, ("session", "events"), _READS,
        "Read a session's events, newest first",
    ),
    _config("get", _READS, "Show what the live session is configured with"),
    _config("set", _SETS, "Deprecated: auto_mode true starts a session, false pauses it"),
    _task("list", _READS, "List deliverables"),
    _task("prepare", _READS, "Show one deliverable with its acceptance criteria"),
    _task("start", _SETS, "Note that work on the step's deliverable begins"),
    _task("complete", _SETS, "Mark the step's deliverable as passed"),
    _task("block", _SETS, "Mark the step's deliverable as blocked"),
    _task("unblock", _SETS, "Mark a deliverable as pending again"),
    _task("update-status", _SETS, "Set a deliverable's status by name"),
    _task("gate-waiver", _DESTROYS, "Let a phase pass without its gate; audited"),
    Route(
        "review", "fidelity-gate", None, ("review", "gate"), _ADDS,
        "Review the phase of the outstanding gate step; returns its evidence",
    ),
    Route(
        "journal", "list", None, ("journal", "list"), _READS,
        "Read the journal, newest first",
    ),
    Route("journal", "add", None, ("journal", "add"), _ADDS, "Add a note to the journal"),
    Route(
        "server", "capabilities", None, ("server", "capabilities"), _READS,
        "Say what this build supports and what is enabled now",
    ),
)  # fmt: skip

TOOLS: Mapping[str, str] = {
    "task": "Drive an autonomous session step by step, and see and change deliverables.",
    "review": "Review a phase; the evidence it returns closes the phase's gate.",
    "journal": "Read and add to the record of a session.",
    "server": "Find out what the server can do.",
}

LEGACY: Mapping[tuple[str, str], Route] = {
    (route.tool, f"{route.action}-{route.command}"): route
    for route in ROUTES
    if route.action in ("session", "session-step")
}
"""Names of before: `session-start`, `session-step-next`, …."""
