"""`server(action='capabilities')`: the control plane's word, and the calls of this surface."""

from collections.abc import Mapping
from typing import Any

from runner import __version__
from runner.autonomy.envelope import Envelope, success
from runner.autonomy.inputs import Input
from runner.autonomy.params import parse
from runner.autonomy.service import ControlPlane, new_ulid
from runner.server.routes import LEGACY, REMOVAL_TARGET, Route

TARGET = ("server", "capabilities")


def capabilities(
    plane: ControlPlane, calls: Mapping[Route, Any], values: Mapping[str, Any]
) -> Envelope:
    """Return what the build supports and has enabled, and which calls it takes in which shape.

    Raises:
        RefusedError: VALIDATION_ERROR.
    """
    if TARGET in plane.commands:
        envelope = plane.call(*TARGET, **values)
    else:
        parse(Input, values)
        envelope = success({"version": __version__}, request_id=new_ulid("req"))
    if envelope["success"]:
        envelope["data"]["action_shapes"] = _shapes(calls)
    return envelope


def _shapes(calls: Mapping[Route, Any]) -> dict[str, Any]:
    return {
        "canonical": [route.shape for route in calls],
        "legacy": {old: route.shape for (_, old), route in LEGACY.items()},
        "removal_target": REMOVAL_TARGET,
    }
