"""`server(action='capabilities')`: the control plane's word, and the calls of this surface."""

from collections.abc import Mapping
from typing import Any

from runner.autonomy.commands.session_config import REMOVAL_TARGET
from runner.autonomy.envelope import Envelope
from runner.autonomy.service import ControlPlane
from runner.server.routes import LEGACY, Route

TARGET = ("server", "capabilities")


def capabilities(
    plane: ControlPlane, calls: Mapping[Route, Any], values: Mapping[str, Any]
) -> Envelope:
    """Return what the build supports and has enabled, and which calls it takes in which shape."""
    envelope = plane.call(*TARGET, **values)
    if envelope["success"]:
        envelope["data"]["action_shapes"] = _shapes(calls)
    return envelope


def _shapes(calls: Mapping[Route, Any]) -> dict[str, Any]:
    return {
        "canonical": [route.shape for route in calls],
        "legacy": {old: route.shape for (_, old), route in LEGACY.items()},
        "removal_target": REMOVAL_TARGET,
    }
