"""`runner capabilities`."""

from collections.abc import Iterator, Mapping
from typing import Any

from runner.cli.control.commands import ControlCommand, control_command
from runner.cli.control.scene import Scene
from runner.cli.help_text import help_text
from runner.text.columns import labelled, table


def capability_lines(scene: Scene) -> Iterator[str]:
    """Yield what the build supports and what is enabled, as the library orders it."""
    yield from _tree(scene.data, scene.width)


def _tree(data: Mapping[str, Any], width: int) -> Iterator[str]:
    tables = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    yield from labelled(
        ((_name(key), _shown(value)) for key, value in data.items() if key not in tables), width
    )
    for key, inner in tables.items():
        if inner:
            yield ""
            yield _name(key)
        yield from (f"  {line}".rstrip() for line in _inner(inner, width - 2))


def _inner(data: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield a table of rows where the values have fields, else pairs, equal values together."""
    if data and all(isinstance(value, Mapping) for value in data.values()):
        yield from _rows(data, width)
        return
    groups = _groups(data)
    if len(groups) * 2 < len(data):
        yield from labelled(((value, ", ".join(names)) for value, names in groups.items()), width)
    else:
        yield from _tree(data, width)


def _rows(data: Mapping[str, Mapping[str, Any]], width: int) -> Iterator[str]:
    """Yield a table without the columns that tell no two rows apart, or repeat another."""
    columns: dict[tuple[str, ...], str] = {}
    for field in dict.fromkeys(key for row in data.values() for key in row):
        cells = tuple(_shown(row.get(field)) for row in data.values())
        if len(data) == 1 or len(set(cells)) > 1:
            columns.setdefault(cells, _name(field).upper())
    # The widest comes last, where it can be cut.
    ordered = sorted(columns, key=lambda cells: max(map(len, cells)))
    header = ("", *(columns[cells] for cells in ordered))
    yield from table(header, list(zip(data, *ordered, strict=True)), width)


def _groups(data: Mapping[str, Any]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, value in data.items():
        groups.setdefault("" if isinstance(value, Mapping) else _shown(value), []).append(name)
    return groups


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
    capability_lines,
)

capabilities = control_command(_CAPABILITIES)
