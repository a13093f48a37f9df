"""Which variables `AUTORUNNER_*` nothing reads: a typing error in one would go unnoticed."""

from collections.abc import Mapping


def unread(unknown: Mapping[str, str]) -> dict[str, str]:
    """Return, of the variables that are no options of a run, those that no other command reads."""
    if not unknown:
        return {}
    from runner.cli.control.commands import control_variables  # noqa: PLC0415 - rarely needed

    ours = control_variables()
    return {name: hint for name, hint in unknown.items() if name not in ours}
