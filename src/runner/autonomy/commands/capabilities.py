"""capabilities: what this build supports, and what is enabled now for this caller.

Discovery is a hint; the answer of a call is the truth. This answer is made of the tables that the
calls themselves are judged by, so that the two can't drift apart.
"""

from collections.abc import Callable, Iterable
from typing import Any

from runner import __version__
from runner.autonomy.access.callers import LOOP_COMMANDS, REQUIRED_ROLES, Key
from runner.autonomy.access.guard import MOST_REFUSALS, REFUSAL_WINDOW
from runner.autonomy.access.postures import PROFILES
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import CommandAnswer, Core
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.enums import SCHEMA_VERSION, LoopSignal
from runner.autonomy.envelope import VERSION
from runner.autonomy.params import CapabilitiesParams
from runner.config.feature_flags import FEATURE_FLAGS
from runner.config.postures import Role


class Capabilities:
    """Answers for one control plane.

    Args:
        core: brings the caller's policy.
        keys: returns the commands of the dispatch table.
    """

    def __init__(self, core: Core, keys: Callable[[], Iterable[Key]]) -> None:
        self._core = core
        self._keys = keys

    def show(self, _params: CapabilitiesParams) -> CommandAnswer:
        """Return versions, flags, actions, posture, role and limits.

        `supported` is what this build has, `enabled_now` what works at this moment. `actions` says
        of each command whether its plainest request would be let in, `refused_with` why not.
        """
        refused = {" ".join(key): code for key in self._keys() if (code := self._refusal(key))}
        commands = {" ".join(key): key for key in sorted(self._keys())}
        flags = self._core.policy.flags
        data = {
            "versions": {
                "runner": __version__,
                "envelope": VERSION,
                "session_schema": SCHEMA_VERSION,
            },
            "supported": list(FEATURE_FLAGS),
            "enabled_now": [name for name in FEATURE_FLAGS if flags.is_on(name)],
            "feature_flags": {name: self._flag(name) for name in FEATURE_FLAGS},
            "actions": {name: name not in refused for name in commands},
            "refused_with": refused,
            "required_roles": {
                name: REQUIRED_ROLES.get(key, Role.MAINTAINER) for name, key in commands.items()
            },
            "can_drive_sessions": not any(map(self._refusal, LOOP_COMMANDS)),
            "posture": self._posture(),
            "loop_signals": list(LoopSignal),
            "limits": {
                "refusals": MOST_REFUSALS,
                "refusal_window_seconds": int(REFUSAL_WINDOW.total_seconds()),
                **self._core.defaults.limits.model_dump(),
            },
            "warnings": list(self._core.policy.warnings),
        }
        return CommandAnswer(data)

    def _flag(self, name: str) -> dict[str, Any]:
        flag, flags = FEATURE_FLAGS[name], self._core.policy.flags
        setting = flags.settings[name]
        return {
            "description": flag.description,
            "supported": True,
            "enabled_now": flags.is_on(name),
            "value": setting.value,
            "origin": setting.origin,
            "default": flag.default,
        }

    def _refusal(self, key: Key) -> ErrorCode | None:
        try:
            self._core.policy.check_ready(key, self._core.defaults)
        except RefusedError as error:
            return error.code
        return None

    def _posture(self) -> dict[str, Any] | None:
        standing = self._core.policy.standing
        if standing is None:
            return None
        profile = PROFILES[standing.posture]
        return {
            "profile": standing.posture,
            "profile_origin": standing.posture_origin,
            "role": standing.role,
            "role_origin": standing.role_origin,
            "allow_lock_bypass": profile.lock_bypass,
            "allow_gate_waiver": profile.gate_waiver,
            "allow_recorded_review": profile.recorded_review,
            "refuses_weaker_sessions": profile.refuses_weaker,
            "session_defaults": _options(self._core.defaults),
        }


def _options(options: StartOptions) -> dict[str, Any]:
    return {
        "gate_policy": options.gate_policy,
        "gates_required": options.gates_required,
        **options.stop_conditions.model_dump(),
        "enforce_autonomy_write_lock": options.write_lock.enforced,
        "max_tasks_per_session": options.limits.max_tasks_per_session,
        "max_consecutive_errors": options.limits.max_consecutive_errors,
        "max_fidelity_review_cycles_per_phase": options.limits.max_fidelity_review_cycles_per_phase,
    }
