"""The variables that commands of the control plane read besides those of the catalogue."""

from importlib import import_module

from runner.cli.control.commands import WORKSPACE
from runner.cli.lazy import RootGroup


def control_variables() -> frozenset[str]:
    """Return the names of all variables that some command of the control plane reads."""
    found: set[str] = set()
    for place in RootGroup.lazy.values():
        module, _, name = place.partition(":")
        for info in getattr(import_module(module), name).registered_commands:
            parameters = (*info.callback.declaration.parameters, WORKSPACE)
            found |= {p.variable for p in parameters if p.from_environment}
    return frozenset(found)
