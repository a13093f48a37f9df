"""The control plane: a durable state machine that decides what a run does next (DESIGN §1).

Names are loaded on first use, so that commands which need no state machine stay quick.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.autonomy.assembly import open_control_plane
    from runner.autonomy.service import ControlPlane

__all__ = ["ControlPlane", "open_control_plane"]


def __getattr__(name: str) -> Any:
    if name == "ControlPlane":
        from runner.autonomy.service import ControlPlane  # noqa: PLC0415 - brings in pydantic

        return ControlPlane
    if name == "open_control_plane":
        from runner.autonomy.assembly import open_control_plane  # noqa: PLC0415 - as above

        return open_control_plane
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
