"""Refusals and warnings, for people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.cli.control.parameters import Parameter
from runner.cli.control.scene import Scene
from runner.text.columns import wrap
from runner.text.safe import inert

_MARGIN = " " * 7

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


def warning_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield what went wrong without stopping the command, and what will stop working."""
    deprecated = envelope["meta"].get("deprecated")
    if deprecated is not None:
        said = "{action} is deprecated, and goes with {removal_target}. Use {replacement}."
        yield from wrap(said.format_map(deprecated), 80, " " * 9, "Warning: ")
    for warning in envelope["meta"].get("warnings") or ():
        yield from wrap(warning, 80, " " * 9, "Warning: ")


def _in_options(message: str, parameters: Sequence[Parameter]) -> str:
    """Return the message with parameters named as on the command line.

    Plain words are left alone but at the beginning, where the library names what is wrong.
    """
    for parameter in parameters:
        anywhere = (
            rf"\b{parameter.key}\b"
            if "_" in parameter.key
            else rf"^{parameter.key}(?=[:.]| must | is )"
        )
        message = re.sub(anywhere, f"--{parameter.option}", message)
    return message


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(entry)}" for key, entry in value.items() if entry)
    return str(value)
