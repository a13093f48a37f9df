"""What a caller of the control plane is, and what that lets it do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runner.autonomy.access.postures import PROFILES, PosturePolicy, options_of, violations
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.models import SessionLimits, SessionState
from runner.autonomy.params import StartParams
from runner.config.feature_flags import FEATURE_FLAGS, FeatureFlags
from runner.config.postures import ROLE_VARIABLE, Posture, Role, Standing

Key = tuple[str, str]
"""Group and command, as in the dispatch table."""

_READ, _RUN, _ALL = Role.OBSERVER, Role.AUTONOMY_RUNNER, Role.MAINTAINER

REQUIRED_ROLES: Mapping[Key, Role] = {
    ("session", "start"): _RUN,
    ("session", "status"): _READ,
    ("session", "pause"): _RUN,
    ("session", "resume"): _RUN,
    ("session", "rebase"): _ALL,
    ("session", "end"): _ALL,
    ("session", "list"): _READ,
    ("session", "reset"): _ALL,
    ("session", "events"): _READ,
    ("step", "next"): _RUN,
    ("step", "report"): _RUN,
    ("step", "replay"): _RUN,  # its answer holds the step's token
    ("step", "heartbeat"): _RUN,
    ("review", "gate"): _RUN,
    ("task", "list"): _READ,
    ("task", "prepare"): _READ,
    ("task", "start"): _RUN,
    ("task", "complete"): _RUN,
    ("task", "block"): _RUN,
    ("task", "unblock"): _RUN,
    ("task", "update-status"): _RUN,
    ("task", "gate-waiver"): _ALL,
    ("journal", "list"): _READ,
    ("journal", "add"): _RUN,
    ("server", "capabilities"): _READ,
}
"""The least role for each command. A command that is missing here is for maintainers alone."""

MUTATIONS = frozenset(
    ("task", command) for command in ("start", "complete", "block", "unblock", "update-status")
)
"""Changes of deliverables: below maintainer only for the step that a live session has issued."""

LOOP_COMMANDS: tuple[Key, ...] = (
    ("session", "list"),
    ("session", "start"),
    ("session", "status"),
    ("session", "resume"),
    ("session", "pause"),
    ("step", "next"),
    ("step", "report"),
    ("step", "heartbeat"),
    ("review", "gate"),
)
"""Permissions needed to drive a session; the role preflight checks them."""


@dataclass(frozen=True, slots=True)
class Privilege:
    """Something within a command that needs more than the command itself.

    Attributes:
        action: named in the refusal.
        is_asked: whether the parameters ask for it.
        allows: whether a posture allows it at all.
    """

    action: str
    is_asked: Callable[[Any], bool]
    role: Role = _ALL
    allows: Callable[[PosturePolicy], bool] = lambda _profile: True


PRIVILEGES: Mapping[Key, tuple[Privilege, ...]] = {
    ("session", "start"): (
        # It ends the session that is there.
        Privilege("session start with force", lambda params: params.force),
    ),
    ("session", "resume"): (
        # A person lets the phase pass: the caller that runs the work must not do so itself.
        Privilege("acknowledge a gate review", lambda params: params.acknowledge_gate_review),
    ),
    ("review", "gate"): (
        Privilege(
            "record a review that somebody else made",
            lambda params: getattr(params, "verdict", None) is not None,
            allows=lambda profile: profile.recorded_review,
        ),
    ),
    ("task", "gate-waiver"): (
        Privilege("waive a gate", lambda _params: True, allows=lambda profile: profile.gate_waiver),
    ),
}


_SESSIONS, _STEP, _GATES = (
    "autonomy_sessions",
    "autonomy_session_step",
    "autonomy_fidelity_gates",
)
_RETRY, _LOCK, _HEARTBEAT = (
    "autonomy_auto_gate_retry",
    "autonomy_write_lock",
    "autonomy_context_heartbeat",
)

COMMAND_FLAGS: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{
        ("session", command): (_SESSIONS,)
        for command in ("start", "status", "pause", "end", "list", "reset", "events")
    },
    ("session", "resume"): ("autonomy_resume",),
    ("session", "rebase"): ("autonomy_rebase",),
    ("step", "next"): (_STEP,),
    ("step", "report"): (_STEP,),
    ("step", "replay"): (_STEP,),
    ("step", "heartbeat"): (_HEARTBEAT,),
    ("review", "gate"): (_GATES,),
    ("task", "gate-waiver"): (_GATES,),
    ("journal", "list"): (_SESSIONS,),
    ("journal", "add"): (_SESSIONS,),
}
"""What must be on for a command; with each flag, those that it needs. Others need none."""

_NEVER = 100_000
"""Minutes: no heartbeat is awaited where none can be sent. A step's own time still bounds it."""


def require_features(flags: FeatureFlags, *names: str) -> None:
    """Raise FEATURE_DISABLED when one of these features does not work now."""
    off = flags.first_off(*names)
    if off is None:
        return
    flag = FEATURE_FLAGS[off]
    raise RefusedError(
        ErrorCode.FEATURE_DISABLED,
        f"The feature flag {off} is off.",
        hint=f"Switch it on: {off} = true under [feature_flags] in .runner/runner.toml, "
        f"or {flag.variable}=1.",
        details={"flag": off, "origin": flags.settings[off].origin, "needed_by": list(names)},
    )


def require_start_features(flags: FeatureFlags, options: StartOptions, asked: StartParams) -> None:
    """Refuse a session that would rely on a feature that is off.

    A flag never weakens a session silently: without the lock or without gates it starts only
    when the caller asks for that in so many words, which the posture must allow.

    Raises:
        RefusedError: FEATURE_DISABLED with details.flag.
    """
    if options.write_lock.enforced:
        require_features(flags, _LOCK)
    if options.gates_required:
        require_features(flags, _GATES)
    if asked.auto_retry_fidelity_gate:
        require_features(flags, _RETRY)
    if asked.heartbeat_grace_minutes or asked.heartbeat_stale_minutes:
        require_features(flags, _HEARTBEAT)


def adapt_defaults(defaults: StartOptions, flags: FeatureFlags) -> StartOptions:
    """Return the defaults of `start` without those that a flag switches off."""
    stops = defaults.stop_conditions
    if not flags.is_on(_RETRY):
        stops = stops.evolve(auto_retry_fidelity_gate=False)
    return replace(defaults, stop_conditions=stops, limits=_limits(defaults.limits, flags))


def adapt_session(state: SessionState, flags: FeatureFlags) -> SessionState:
    """Return a session as it works under the flags, whatever it was started with.

    Its lock and its gates stay: what protects is never switched off under way.
    """
    stops = state.stop_conditions
    if stops.auto_retry_fidelity_gate and not flags.is_on(_RETRY):
        state = state.evolve(stop_conditions=stops.evolve(auto_retry_fidelity_gate=False))
    limits = _limits(state.limits, flags)
    return state if limits == state.limits else state.evolve(limits=limits)


def _limits(limits: SessionLimits, flags: FeatureFlags) -> SessionLimits:
    if flags.is_on(_HEARTBEAT):
        return limits
    return limits.evolve(heartbeat_grace_minutes=_NEVER, heartbeat_stale_minutes=_NEVER)


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
