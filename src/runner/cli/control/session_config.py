"""`runner session config`, for scripts from before sessions were durable (ADR 0154)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from runner.cli.control.commands import ControlCommand
from runner.cli.control.parameters import SPEC_ID, Parameter, switch
from runner.cli.control.scene import Scene
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
    (
        _COMMAND,
        Parameter("get", "Read, which is the default.", switch),
        Parameter("auto_mode", "Deprecated: start a session, or pause it.", switch),
        SPEC_ID,
    ),
    _lines,
    perform=configured,
    hidden=True,
)
