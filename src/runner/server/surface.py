"""From a tool call to an envelope: which command is meant, and whether it may be asked at all."""

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.commands.session_config import (
    REMOVAL_TARGET,
    SessionConfig,
    SessionConfigParams,
    replacement,
)
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.inputs import Input
from runner.autonomy.service import ControlPlane, new_ulid
from runner.report.workspace_flag import place_of, placed
from runner.server.routes import LEGACY, ROUTES, SHORTEST, Local, Route
from runner.server.schemas import Schema, call_schema

_LOG = logging.getLogger(__name__)
_GATE = ("review", "gate")
_CAPABILITIES = ("server", "capabilities")


Reviewer = Callable[[Mapping[str, Any], float], Envelope]
"""(parameters, seconds it may take) → envelope: has the phase of a gate step reviewed.

It is called for those alone whose role may ask for a review; the parameters are not checked yet.
"""


class ToolRequest(NamedTuple):
    """A tool call that names a command.

    Attributes:
        params: what the command is given, unchecked.
        seconds: how long its caller waits.
        deprecated: what `meta.deprecated` says.
    """

    route: Route
    params: Mapping[str, Any]
    seconds: float
    deprecated: Mapping[str, str] | None = None


class Surface:
    """The calls of one workspace. Safe to use from many threads.

    Args:
        plane: answers the commands.
        workspace: the folder that the server serves.
        reviewer: makes the reviews that are asked for without a verdict; None leaves them to
            the control plane, which refuses them.
        is_named: the workspace was named to the server, and need not be where its client
            pastes a recommended command: then the commands name it, too.
    """

    def __init__(
        self,
        plane: ControlPlane,
        workspace: Path,
        reviewer: Reviewer | None = None,
        *,
        is_named: bool = False,
    ) -> None:
        self._plane = plane
        self._workspace = workspace
        self._reviewer = reviewer
        self._place = place_of(str(workspace) if is_named else None)
        self._config = SessionConfig(plane)

    @cached_property
    def calls(self) -> dict[Route, type[BaseModel]]:
        """The calls that this build has, with what they take."""
        found: dict[Route, type[BaseModel]] = {}
        for route in ROUTES:
            command = self._plane.commands.get(route.target)
            if command is not None:
                found[route] = command.params
            elif route.target[0] == Local.SESSION_CONFIG.value:
                found[route] = SessionConfigParams
            elif route.target == _CAPABILITIES:
                found[route] = Input
        return found

    @cached_property
    def schemas(self) -> dict[Route, Schema]:
        """The strict schema of every call."""
        return {route: call_schema(route, params) for route, params in self.calls.items()}

    def resolve(self, tool: str, arguments: Mapping[str, Any]) -> ToolRequest:
        """Find out which command a tool call means.

        Raises:
            RefusedError: VALIDATION_ERROR, with what is allowed in its place.
        """
        params = dict(arguments)
        action, command = params.pop("action", None), params.pop("command", None)
        old = LEGACY.get((tool, action)) if isinstance(action, str) else None
        if old is not None and command in (None, old.command):
            route = old
        else:
            old, route = None, self._find(tool, action, command)
        self._check_workspace(params.pop("workspace", None))
        seconds = _seconds(route, params.pop("timeout_seconds", None))
        return ToolRequest(route, params, seconds, _deprecation(old, str(action), route, params))

    def answer(self, request: ToolRequest) -> Envelope:
        """Run the command. Never raises."""
        try:
            envelope = self._run(request)
        except RefusedError as error:
            envelope = failure(error, request_id=new_ulid("req"))
        except Exception:  # noqa: BLE001 - the boundary: a bug must not end the server
            envelope = _bug(request)
        envelope["data"] = placed(envelope["data"], self._place)
        if request.deprecated is not None:
            _LOG.warning("%(action)s is deprecated; use %(replacement)s", request.deprecated)
            envelope["meta"]["deprecated"] = dict(request.deprecated)
        return envelope

    def state_version(self, request: ToolRequest) -> int | None:
        """Return the version of the session that a request is about, None when unknown."""
        named = {k: v for k, v in request.params.items() if k in ("session_id", "spec_id")}
        version = self._plane.call("session", "status", **named)["data"].get("state_version")
        return version if isinstance(version, int) else None

    def _run(self, request: ToolRequest) -> Envelope:
        group, command = request.route.target
        if request.route.target == _CAPABILITIES:
            return self._capabilities(request.params)
        if self._reviewer is not None and _wants_review(request):
            refused = self._plane.role_preflight([_GATE])
            return refused or self._reviewer(request.params, request.seconds)
        if group == Local.SESSION_CONFIG.value:
            return self._config.call(command, request.params, request.seconds)
        seconds = {"timeout_seconds": request.seconds}
        return self._plane.call(group, command, **request.params, **seconds)

    def _capabilities(self, values: Mapping[str, Any]) -> Envelope:
        """Return what the build supports and has enabled, and the calls of this surface."""
        envelope = self._plane.call(*_CAPABILITIES, **values)
        if envelope["success"]:
            envelope["data"]["action_shapes"] = {
                "canonical": [route.shape for route in self.calls],
                "legacy": {old: route.shape for (_, old), route in LEGACY.items()},
                "removal_target": REMOVAL_TARGET,
            }
        return envelope

    def _find(self, tool: str, action: object, command: object) -> Route:
        rows = [route for route in self.calls if route.tool == tool]
        actions = list(dict.fromkeys(route.action for route in rows))
        if not isinstance(action, str) or action not in actions:
            raise _invalid("The tool has no such action.", field="action", allowed=actions)
        rows = [route for route in rows if route.action == action]
        if action == Local.SESSION_CONFIG.value and command is None:
            command = "get"
        for route in rows:
            if route.command == command:
                return route
        commands = [route.command for route in rows if route.command]
        message = (
            f"The action {action} has no such command."
            if commands
            else f"The action {action} takes no command."
        )
        raise _invalid(message, field="command", allowed=commands)

    def _check_workspace(self, named: object) -> None:
        if named is None:
            return
        if not isinstance(named, str) or not self._is_ours(named):
            raise _invalid(
                f"This server serves {self._workspace} alone.",
                hint="Leave workspace out, or start a server for the other folder.",
                field="workspace",
            )

    def _is_ours(self, named: str) -> bool:
        try:
            return (self._workspace / named).resolve() == self._workspace.resolve()
        except (OSError, ValueError, RuntimeError):
            return False


def _wants_review(request: ToolRequest) -> bool:
    return request.route.target == _GATE and request.params.get("verdict") is None


def _bug(request: ToolRequest) -> Envelope:
    request_id = new_ulid("req")
    _LOG.exception("%s failed, request %s", request.route.name, request_id)
    error = RefusedError(ErrorCode.INTERNAL, "The server could not answer.")
    return failure(error, request_id=request_id)


def _seconds(route: Route, wanted: Any) -> float:
    if wanted is None:
        return route.budget.default
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if is_number and SHORTEST <= wanted <= route.budget.most:
        return float(wanted)
    raise _invalid(
        f"timeout_seconds is a number from {SHORTEST:g} to {route.budget.most:g}.",
        field="timeout_seconds",
    )


def _deprecation(
    old: Route | None, action: str, route: Route, params: Mapping[str, Any]
) -> dict[str, str] | None:
    """Return what to say about a name, or a way, that will go."""
    shape = None if old is None else route.shape
    if route.action == Local.SESSION_CONFIG.value and (command := replacement(params)):
        shape = f"task(action='session', command='{command}')"
    if shape is None:
        return None
    return {"action": action, "replacement": shape, "removal_target": REMOVAL_TARGET}


def _invalid(message: str, *, hint: str | None = None, **details: Any) -> RefusedError:
    return RefusedError(ErrorCode.VALIDATION_ERROR, message, hint=hint, details=details)
