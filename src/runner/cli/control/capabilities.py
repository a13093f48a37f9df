"""`runner capabilities`."""

from collections.abc import Iterator, Mapping
from typing import Any

from runner.cli.columns import labelled
from runner.cli.control.commands import ControlCommand, control_command
from runner.cli.control.scene import Scene
from runner.cli.help_text import help_text


def capability_lines(scene: Scene) -> Iterator[str]:
    """Yield what the build supports and what is enabled, as the library orders it."""
    yield from _tree(scene.data, scene.width)


def _tree(data: Mapping[str, Any], width: int) -> Iterator[str]:
    tables = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    yield from labelled(
        ((_name(key), _shown(value)) for key, value in data.items() if key not in tables), width
    )
    for key, table in tables.items():
        yield ""
        yield _name(key)
        yield from (f"  {line}".rstrip() for line in _tree(table, width - 2))


def _name(key: str) -> str:
    return key.replace("_", " ")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return "-" if value is None else str(value)


_CAPABILITIES = ControlCommand(
    "server",
    "capabilities",
    help_text(
        "Show what this build supports, and what is enabled in this workspace.",
        ("runner capabilities", "for the current folder"),
        ("runner capabilities --json", "one envelope, for programs"),
        details="What is enabled follows from [feature_flags] in .runner/runner.toml and from "
        "AUTORUNNER_FEATURE_<NAME> in the environment.",
    ),
    (),
    capability_lines,
)

capabilities = control_command(_CAPABILITIES)
