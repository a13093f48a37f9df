"""What a caller of the control plane is, and what that lets it do (seed 003 WS6)."""

from dataclasses import dataclass, field
from typing import Any

from runner.autonomy.access.flags import (
    COMMAND_FLAGS,
    adapt_session,
    require_features,
    require_start_features,
)
from runner.autonomy.access.postures import PROFILES, options_of, violations
from runner.autonomy.access.roles import PRIVILEGES, REQUIRED_ROLES, Key
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.models import SessionState
from runner.autonomy.params import StartParams
from runner.config.feature_flags import FeatureFlags
from runner.config.postures import ROLE_VARIABLE, Posture, Role, Standing

_LOCK_BYPASS = "start a session without the write lock"
_LAXER_POSTURES = [posture for posture in Posture if not PROFILES[posture].refuses_weaker]
_LAXER = "the posture " + " or ".join(_LAXER_POSTURES)


@dataclass(frozen=True, slots=True)
class Policy:
    """The caller's standing, and the features that are on.

    Attributes:
        standing: posture and role; None for the program itself, which no role bounds. Nothing
            from outside can ask for that: it is chosen where a control plane is made.
    """

    standing: Standing | None = None
    flags: FeatureFlags = field(default_factory=FeatureFlags)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What start-up has to say about the combination of posture, role and flags."""
        own = self.standing.warnings if self.standing is not None else ()
        return (*own, *self.flags.warnings())

    def check_command(self, key: Key) -> None:
        """Raise FEATURE_DISABLED or AUTHORIZATION for a command that can't be run at all."""
        require_features(self.flags, *COMMAND_FLAGS.get(key, ()))
        if self.standing is not None:
            required = REQUIRED_ROLES.get(key, Role.MAINTAINER)
            if not self.standing.role.covers(required):
                raise self._denied(self.standing, " ".join(key), required)

    def check_ready(self, key: Key, defaults: StartOptions) -> None:
        """Raise what the plainest request for a command would be refused with."""
        self.check_command(key)
        if key == ("session", "start"):
            self.check_start(defaults, StartParams())

    def check_request(self, key: Key, params: Any) -> None:
        """Raise AUTHORIZATION for what the parameters of a command ask for."""
        if self.standing is None:
            return
        for privilege in PRIVILEGES.get(key, ()):
            if not privilege.is_asked(params):
                continue
            if not privilege.allows(PROFILES[self.standing.posture]):
                raise self._forbidden(self.standing, privilege.action)
            if not self.standing.role.covers(privilege.role):
                raise self._denied(self.standing, privilege.action, privilege.role)

    def check_start(self, options: StartOptions, params: StartParams) -> None:
        """Judge the session that is to be started.

        Raises:
            RefusedError: AUTHORIZATION with details.violations where it is weaker than the
                posture allows; AUTHORIZATION or VALIDATION_ERROR for a bypass of the lock
                without the role or without a reason code; FEATURE_DISABLED.
        """
        hint = (
            "Leave out the options and settings that ask for it (--no-gates sets gates_required to "
            f"false), or use {_LAXER}: `runner run --posture supervised`, or "
            "AUTORUNNER_POSTURE=supervised. In CI and without a terminal it is unattended."
        )
        self._require_strong(options, hint)
        if not options.write_lock.enforced:
            self._check_bypass(params)
        require_start_features(self.flags, options, params)

    def check_session(self, state: SessionState) -> None:
        """Raise AUTHORIZATION with details.violations for a session that is too weak to go on."""
        hint = (
            f"Take it up in {_LAXER} (`runner run --posture supervised`), or end it there and "
            "start a new one (`AUTORUNNER_POSTURE=supervised runner session end --session-id "
            f"{state.id}`, then `runner run`; what has passed stays passed)."
        )
        self._require_strong(options_of(state), hint)

    def check_direct_change(self, action: str) -> None:
        """Raise AUTHORIZATION unless deliverables may be changed without a session's step."""
        if self.standing is not None and self.standing.role is not Role.MAINTAINER:
            raise self._denied(self.standing, f"{action} outside a session's step", Role.MAINTAINER)

    def adapted(self, state: SessionState) -> SessionState:
        """Return the session as it works under the feature flags."""
        return adapt_session(state, self.flags)

    def describe(self) -> dict[str, Any]:
        """Return who acts, for the journal's entries about waivers and bypasses."""
        if self.standing is None:
            return {"role": None, "posture": None}
        return {"role": self.standing.role, "posture": self.standing.posture}

    def _require_strong(self, options: StartOptions, hint: str) -> None:
        if self.standing is None:
            return
        found = violations(PROFILES[self.standing.posture], options)
        if found:
            named = ", ".join(f"{one['field']} must be {one['allowed']}" for one in found)
            raise RefusedError(
                ErrorCode.AUTHORIZATION,
                f"The session is weaker than the posture {self.standing.posture} allows: {named}.",
                hint=hint,
                details={
                    **self.describe(),
                    "action": "weaken a session",
                    "required_postures": _LAXER_POSTURES,
                    "violations": found,
                },
            )

    def _check_bypass(self, params: StartParams) -> None:
        if self.standing is None:
            return
        if not self.standing.role.covers(Role.MAINTAINER):
            raise self._denied(self.standing, _LOCK_BYPASS, Role.MAINTAINER)
        if params.reason_code is None:
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                "A session without the write lock needs a reason code.",
                hint="Give --reason-code, e.g. incident_response, and keep the lock otherwise.",
                details={"field": "reason_code"},
            )

    def _denied(self, standing: Standing, action: str, required: Role) -> RefusedError:
        return RefusedError(
            ErrorCode.AUTHORIZATION,
            f"The role {standing.role} may not: {action}.",
            hint=f"It needs the role {required} ([posture] role in .runner/runner.toml, or "
            f"{ROLE_VARIABLE}); ask whoever set up this posture.",
            details={**self.describe(), "action": action, "required_role": required},
        )

    def _forbidden(self, standing: Standing, action: str) -> RefusedError:
        return RefusedError(
            ErrorCode.AUTHORIZATION,
            f"The posture {standing.posture} does not allow anybody to: {action}.",
            hint=f"It needs {_LAXER}, and the role maintainer.",
            details={
                **self.describe(),
                "action": action,
                "required_role": Role.MAINTAINER,
                "required_postures": _LAXER_POSTURES,
            },
        )


PROGRAM = Policy()
"""The program itself, with all features at their defaults."""
