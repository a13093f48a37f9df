"""`runner session`: the life of autonomous sessions."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from runner.cli.control.commands import ControlCommand, control_group
from runner.cli.control.journal import event_lines
from runner.cli.control.parameters import Parameter, switch
from runner.cli.control.scene import Scene
from runner.cli.control.session_text import list_lines, reset_lines, session_lines
from runner.cli.help_text import help_text

if TYPE_CHECKING:
    from runner.autonomy.envelope import Envelope
    from runner.autonomy.service import ControlPlane


_COMMAND = Parameter("command", "What to do.", metavar="get|set", positional=True)


def configured(plane: "ControlPlane", values: Mapping[str, Any]) -> "Envelope":
    """Answer `session config` as the MCP server answers `session-config`."""
    from runner.autonomy.commands.session_config import (  # noqa: PLC0415 - pydantic is slow
        REMOVAL_TARGET,
        SessionConfig,
        replacement,
    )

    given = dict(values)
    envelope = SessionConfig(plane).call(given.pop(_COMMAND.key, "get"), given)
    instead = replacement(given)
    if instead is not None:
        envelope["meta"]["deprecated"] = {
            "action": "runner session config",
            "replacement": f"runner session {instead}",
            "removal_target": REMOVAL_TARGET,
        }
    return envelope


def _lines(scene: Scene) -> Iterator[str]:
    view = scene.data
    if view["session_id"] is None:
        yield "There is no live session."
        yield from scene.next("session", "start")
        return
    yield from scene.labelled(
        ("Session", view["session_id"]),
        ("Spec", view["spec_id"] or ""),
        ("Status", view["status"]),
        ("Gate policy", view.get("gate_policy") or ""),
    )


CONFIG = ControlCommand(
    "session",
    "config",
    help_text(
        "Show what the live session is configured with.",
        ("runner session config", ""),
        details="--auto-mode and --no-auto-mode are deprecated: they start and pause a session, as "
        "`runner session start` and `runner session pause` do.",
    ),
    _lines,
    perform=configured,
    hidden=True,
    own_parameters=(
        _COMMAND,
        Parameter("get", "Read, which is the default.", switch),
        Parameter("auto_mode", "Deprecated: start a session, or pause it.", switch),
        Parameter(
            "spec_id",
            "The spec; without it the workspace's.",
            metavar="ID",
            from_environment=True,
        ),
    ),
)


_START = ControlCommand(
    "session",
    "start",
    help_text(
        "Start a session for the workspace's spec.",
        ("runner session start", "with the defaults"),
        ("runner session start --stop-on-phase-completion", "one phase at a time"),
        ("runner session start --force", "in place of the live one"),
        details="A spec has one session at a time. What is not given comes from the posture.",
    ),
    session_lines,
)

_STATUS = ControlCommand(
    "session",
    "status",
    help_text(
        "Show a session; nothing is changed.",
        ("runner session status", "the live one"),
        ("runner session status --session-id auto_…", "any other"),
    ),
    session_lines,
)

_PAUSE = ControlCommand(
    "session",
    "pause",
    help_text(
        "Pause a session until it is resumed.",
        ("runner session pause --reason 'lunch'", ""),
        details="An agent at work finds out when it reports its step.",
    ),
    session_lines,
)

_RESUME = ControlCommand(
    "session",
    "resume",
    help_text(
        "Resume a paused session.",
        ("runner session resume", ""),
        ("runner session resume --force", "also one that has failed"),
        details="The limits start again. Where a review awaits a person, name it with "
        "--acknowledge-gate-review --acknowledged-gate-attempt-id gate_… to let the phase pass.",
    ),
    session_lines,
)

_REBASE = ControlCommand(
    "session",
    "rebase",
    help_text(
        "Apply an edited spec, and continue.",
        ("runner session rebase", "completed work stays completed"),
        ("runner session rebase --force", "also when completed deliverables are gone"),
    ),
    session_lines,
)

_END = ControlCommand(
    "session",
    "end",
    help_text(
        "End a session for good; the deliverables keep their status.",
        ("runner session end --reason 'done by hand'", ""),
    ),
    session_lines,
)

_LIST = ControlCommand(
    "session",
    "list",
    help_text(
        "List the sessions of a workspace, the last changed first.",
        ("runner session list", ""),
        ("runner session list --status-filter paused", ""),
    ),
    list_lines,
)

_RESET = ControlCommand(
    "session",
    "reset",
    help_text(
        "Remove a session that has failed; the deliverables keep their status.",
        ("runner session reset --session-id auto_…", ""),
    ),
    reset_lines,
)

_EVENTS = ControlCommand(
    "session",
    "events",
    help_text(
        "Show what happened in a session, newest first, page by page.",
        ("runner session events", "the last twenty events"),
        ("runner session events --limit 200 --json", "for dashboards"),
    ),
    event_lines("session", "events"),
)

session = control_group(
    "Autonomous sessions: start them, look at them, pause and resume them.",
    _START,
    _STATUS,
    _PAUSE,
    _RESUME,
    _REBASE,
    _END,
    _LIST,
    _RESET,
    _EVENTS,
    CONFIG,
)
