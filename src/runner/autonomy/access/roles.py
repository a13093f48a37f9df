"""Who may run which command, and what some of their parameters ask for besides (CONTRACT §6)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.autonomy.access.postures import Profile
from runner.config.postures import Role

Key = tuple[str, str]
"""Group and command, as in the dispatch table."""

_READ, _RUN, _ALL = Role.OBSERVER, Role.AUTONOMY_RUNNER, Role.MAINTAINER

REQUIRED_ROLES: Mapping[Key, Role] = {
    ("session", "start"): _RUN,
    ("session", "status"): _READ,
    ("session", "pause"): _RUN,
    ("session", "resume"): _RUN,
    ("session", "rebase"): _ALL,
    ("session", "end"): _ALL,
    ("session", "list"): _READ,
    ("session", "reset"): _ALL,
    ("session", "events"): _READ,
    ("step", "next"): _RUN,
    ("step", "report"): _RUN,
    ("step", "replay"): _RUN,  # its answer holds the step's token
    ("step", "heartbeat"): _RUN,
    ("review", "gate"): _RUN,
    ("task", "list"): _READ,
    ("task", "prepare"): _READ,
    ("task", "start"): _RUN,
    ("task", "complete"): _RUN,
    ("task", "block"): _RUN,
    ("task", "unblock"): _RUN,
    ("task", "update-status"): _RUN,
    ("task", "gate-waiver"): _ALL,
    ("journal", "list"): _READ,
    ("journal", "add"): _RUN,
    ("server", "capabilities"): _READ,
}
"""The least role for each command. A command that is missing here is for maintainers alone."""

MUTATIONS = frozenset(
    ("task", command) for command in ("start", "complete", "block", "unblock", "update-status")
)
"""Changes of deliverables: below maintainer only for the step that a live session has issued."""

LOOP_COMMANDS: tuple[Key, ...] = (
    ("session", "list"),
    ("session", "start"),
    ("session", "status"),
    ("session", "resume"),
    ("session", "pause"),
    ("step", "next"),
    ("step", "report"),
    ("step", "heartbeat"),
    ("review", "gate"),
)
"""What whoever drives a session through must be able to do; the role preflight asks for it."""


@dataclass(frozen=True, slots=True)
class Privilege:
    """Something within a command that needs more than the command itself.

    Attributes:
        action: named in the refusal.
        is_asked: whether the parameters ask for it.
        allows: whether a posture allows it at all.
    """

    action: str
    is_asked: Callable[[Any], bool]
    role: Role = _ALL
    allows: Callable[[Profile], bool] = lambda _profile: True


PRIVILEGES: Mapping[Key, tuple[Privilege, ...]] = {
    ("session", "start"): (
        # It ends the session that is there.
        Privilege("session start with force", lambda params: params.force),
    ),
    ("session", "resume"): (
        # A person lets the phase pass: whoever runs the work must not do so for itself.
        Privilege("acknowledge a gate review", lambda params: params.acknowledge_gate_review),
    ),
    ("review", "gate"): (
        Privilege(
            "record a review that somebody else made",
            lambda params: getattr(params, "verdict", None) is not None,
            allows=lambda profile: profile.recorded_review,
        ),
    ),
    ("task", "gate-waiver"): (
        Privilege("waive a gate", lambda _params: True, allows=lambda profile: profile.gate_waiver),
    ),
}
