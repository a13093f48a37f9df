"""Refusals and warnings, for people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.cli.columns import wrap
from runner.cli.control.parameters import Parameter
from runner.cli.control.scene import Scene
from runner.cli.inert import inert

_MARGIN = " " * 7

_REPLAY = ("step", "replay")
_STATUS = ("session", "status")

# Where the refusal itself names no command, the one that shows what is needed to mend it.
_LOOK: Mapping[str, tuple[str, ...]] = {
    "STEP_RESULT_REQUIRED": _REPLAY,
    "STEP_MISMATCH": _REPLAY,
    "STEP_PROOF_REQUIRED": _REPLAY,
    "STEP_PROOF_INVALID": _REPLAY,
    "STEP_PROOF_CONFLICT": ("step", "next"),
    "STEP_PROOF_EXPIRED": ("session", "pause"),
    "INVALID_GATE_EVIDENCE": _REPLAY,
    "VERIFICATION_RECEIPT_REQUIRED": _REPLAY,
    "VERIFICATION_RECEIPT_INVALID": _REPLAY,
    "NO_ACTIVE_SESSION": ("session", "start"),
    "AMBIGUOUS_ACTIVE_SESSION": ("session", "list"),
    "SESSION_NOT_FOUND": ("session", "list"),
    "SPEC_SESSION_EXISTS": _STATUS,
    "MANUAL_GATE_ACK_REQUIRED": _STATUS,
    "INVALID_GATE_ACK": _STATUS,
    "INVALID_STATE_TRANSITION": _STATUS,
    "SPEC_REBASE_REQUIRED": ("session", "rebase"),
    "HEARTBEAT_STALE": ("session", "resume"),
    "TIMEOUT": _STATUS,
}
_UNSHOWN = frozenset({"field", "problem"})


def refusal_lines(
    envelope: Mapping[str, Any], parameters: Sequence[Parameter], scene: Scene
) -> Iterator[str]:
    """Yield what was refused, why, and what to do next."""
    data = envelope["data"]
    code = data["error_code"]
    said = _in_options(envelope["error"], parameters)
    yield from wrap(f"{said} ({code})", scene.width, _MARGIN, "Error: ")
    yield from wrap(_in_options(data["remediation"], parameters), scene.width, _MARGIN)
    for key, value in data["details"].items():
        if key not in _UNSHOWN and value not in (None, "", [], {}):
            yield from wrap(f"{key.replace('_', ' ')}: {_shown(value)}", scene.width, _MARGIN)
    recommended = [a for a in data.get("recommended_actions") or () if a.get("command")]
    for action in recommended:
        yield from scene.pasteable(inert(action["command"]), "Next:  ")
        yield from wrap(action["description"], scene.width, _MARGIN)
    if code in _LOOK and not recommended:
        session_id = data["details"].get("session_id")
        named = ("--session-id", session_id) if isinstance(session_id, str) else ()
        command = scene.command(*_LOOK[code], *named)
        if command not in data["remediation"]:
            yield from scene.pasteable(command, "Next:  ")


def warning_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield what went wrong without stopping the command."""
    for warning in envelope["meta"].get("warnings") or ():
        yield from wrap(warning, 80, " " * 9, "Warning: ")


def _in_options(message: str, parameters: Sequence[Parameter]) -> str:
    """Return the message with parameters named as on the command line.

    Plain words are left alone but at the beginning, where the library names what is wrong.
    """
    for parameter in parameters:
        anywhere = rf"\b{parameter.key}\b" if "_" in parameter.key else rf"^{parameter.key}(?=[:.])"
        message = re.sub(anywhere, f"--{parameter.option}", message)
    return message


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(entry)}" for key, entry in value.items() if entry)
    return str(value)
