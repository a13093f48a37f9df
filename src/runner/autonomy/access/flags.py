"""Which feature flag gates what, and how a session works with one off (seed 003 WS2)."""

from collections.abc import Mapping
from dataclasses import replace

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.models import Limits, SessionState
from runner.autonomy.params import StartParams
from runner.config.feature_flags import FEATURE_FLAGS, FeatureFlags

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


def _limits(limits: Limits, flags: FeatureFlags) -> Limits:
    if flags.is_on(_HEARTBEAT):
        return limits
    return limits.evolve(heartbeat_grace_minutes=_NEVER, heartbeat_stale_minutes=_NEVER)
