"""`session-config`, which was there before sessions were durable."""

from collections.abc import Mapping
from typing import Any

from runner.autonomy.calls import budget_of
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.envelope import Envelope, failure, success
from runner.autonomy.inputs import Input, ShortText
from runner.autonomy.params import parse
from runner.autonomy.service import ControlPlane, new_ulid

REMOVAL_TARGET = "0.3.0"
"""The version that no longer knows what is deprecated (docs/migration.md)."""

COMMANDS = ("get", "set")
_SECONDS = budget_of("session", "start").default
_SHOWN = (
    "session_id", "spec_id", "status", "gate_policy", "limits", "stop_conditions", "write_lock",
)  # fmt: skip


class SessionConfigParams(Input):
    """`session-config`: `get` reads, `auto_mode` starts (true) or pauses (false)."""

    get: bool | None = None
    auto_mode: bool | None = None
    spec_id: ShortText | None = None


class SessionConfig:
    """Answers `session-config` from `session status`, `start` and `pause`; keeps nothing itself."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def call(self, command: str, values: Mapping[str, Any], seconds: float = _SECONDS) -> Envelope:
        """Run `get` or `set`. The field `auto_mode` makes either a `set`, as it always did.

        Args:
            seconds: what the command behind it may take; less where its own budget is shorter.
        """
        try:
            params = parse(SessionConfigParams, values)
            _check(command, params)
        except RefusedError as error:
            return failure(error, request_id=new_ulid("req"))
        if params.auto_mode is None:
            return self._shown(params.spec_id, seconds)
        if params.auto_mode:
            return self._started(params.spec_id, seconds)
        named = {} if params.spec_id is None else {"spec_id": params.spec_id}
        return self._session("pause", seconds, **named)

    def _session(self, command: str, seconds: float, **params: Any) -> Envelope:
        most = budget_of("session", command).most
        return self._plane.call("session", command, **params, timeout_seconds=min(seconds, most))

    def _shown(self, spec_id: str | None, seconds: float) -> Envelope:
        envelope = self._session("status", seconds, spec_id=spec_id)
        data = envelope["data"]
        idle = data.get("error_code") == ErrorCode.NO_ACTIVE_SESSION
        if not envelope["success"] and not idle:
            return envelope
        config = {name: data.get(name) for name in _SHOWN}
        config["auto_mode"] = data.get("status") == "running"
        return success(config, request_id=envelope["meta"]["request_id"])

    def _started(self, spec_id: str | None, seconds: float) -> Envelope:
        envelope = self._session("start", seconds, spec_id=spec_id)
        missing = envelope["data"].get("error_code") == ErrorCode.SPEC_NOT_FOUND
        if spec_id is not None or not missing:
            return envelope
        error = RefusedError(
            ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED,
            f"No spec was named, and the workspace has none. {envelope['error']}",
        )
        return failure(error, request_id=envelope["meta"]["request_id"])


def replacement(values: Mapping[str, Any]) -> str | None:
    """Return the command of `session` that does the same; None for a way that is to stay."""
    auto_mode = values.get("auto_mode")
    if auto_mode is None:
        return None
    return "start" if auto_mode is True else "pause"


def _check(command: str, params: SessionConfigParams) -> None:
    if command not in COMMANDS:
        raise _refusal("There is no such command.", f"Use {' or '.join(COMMANDS)}.", "command")
    if command == "set" and params.auto_mode is None:
        raise _refusal("There is nothing to set.", "Pass auto_mode.", "auto_mode")
    if params.get and params.auto_mode is not None:
        raise _refusal("get and auto_mode exclude each other.", "Pass one of them.", "get")


def _refusal(message: str, hint: str, field: str) -> RefusedError:
    return RefusedError(ErrorCode.VALIDATION_ERROR, message, hint=hint, details={"field": field})
