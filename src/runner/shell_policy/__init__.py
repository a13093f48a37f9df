"""Shell analysis, command rules, path policy, tool policy.

Nothing heavy is imported until the first judgement.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.shell_policy.decision import Decision, PolicySettings
    from runner.shell_policy.policy import Explanation, explain, judge_command

__all__ = [
    "Decision",
    "Explanation",
    "PolicySettings",
    "explain",
    "judge_command",
]

_HOMES = {
    "Decision": "decision",
    "Explanation": "policy",
    "PolicySettings": "decision",
    "explain": "policy",
    "judge_command": "policy",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
