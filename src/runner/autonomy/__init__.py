"""The control plane: a durable state machine that decides what a run does next (DESIGN §1).

Names are loaded on first use, so that commands which need no state machine stay quick.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.autonomy.service import ControlPlane

__all__ = ["ControlPlane"]


def __getattr__(name: str) -> Any:
    if name == "ControlPlane":
        from runner.autonomy.service import ControlPlane  # noqa: PLC0415 - brings in pydantic

        return ControlPlane
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
