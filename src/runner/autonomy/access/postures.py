"""What each posture allows and starts sessions with: the table of CONTRACT §6, as data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.enums import GatePolicy
from runner.autonomy.models import SessionLimits, SessionState, StopConditions, WriteLock
from runner.config.postures import Posture


@dataclass(frozen=True, slots=True)
class PosturePolicy:
    """A posture's policy.

    Attributes:
        lock_bypass: whether a session may be started without the write lock.
        gate_waiver: whether a phase's gate may be waived.
        recorded_review: whether a review made elsewhere may be handed in.
        refuses_weaker: whether `defaults` are the weakest values that a session may have.
        defaults: what `session start` uses where the caller says nothing.
    """

    lock_bypass: bool
    gate_waiver: bool
    recorded_review: bool
    refuses_weaker: bool
    defaults: StartOptions


def _defaults(
    policy: GatePolicy, *, stop: bool, retry: bool, tasks: int, errors: int, cycles: int
) -> StartOptions:
    return StartOptions(
        limits=SessionLimits(
            max_tasks_per_session=tasks,
            max_consecutive_errors=errors,
            max_fidelity_review_cycles_per_phase=cycles,
        ),
        stop_conditions=StopConditions(
            stop_on_phase_completion=stop, auto_retry_fidelity_gate=retry
        ),
        write_lock=WriteLock(),
        gate_policy=policy,
    )


_STRICT, _MANUAL = GatePolicy.STRICT, GatePolicy.MANUAL

PROFILES: Mapping[Posture, PosturePolicy] = {
    Posture.UNATTENDED: PosturePolicy(
        lock_bypass=False,
        gate_waiver=False,
        recorded_review=False,
        refuses_weaker=True,
        defaults=_defaults(_STRICT, stop=True, retry=True, tasks=100, errors=3, cycles=3),
    ),
    Posture.SUPERVISED: PosturePolicy(
        lock_bypass=True,
        gate_waiver=True,
        recorded_review=True,
        refuses_weaker=False,
        defaults=_defaults(_STRICT, stop=True, retry=True, tasks=100, errors=5, cycles=3),
    ),
    Posture.DEBUG: PosturePolicy(
        lock_bypass=True,
        gate_waiver=True,
        recorded_review=True,
        refuses_weaker=False,
        defaults=_defaults(_MANUAL, stop=False, retry=False, tasks=250, errors=20, cycles=10),
    ),
}


def violations(profile: PosturePolicy, options: StartOptions) -> list[dict[str, Any]]:
    """Return where a session would be weaker than the posture allows, field by field.

    What only stops more often is not weaker: lower limits, no retries, the manual policy, under
    which a person with the role for it lets each phase pass.
    """
    return list(_violations(profile.defaults, options)) if profile.refuses_weaker else []


def options_of(state: SessionState) -> StartOptions:
    """Return what a session was started with."""
    return StartOptions(
        limits=state.limits,
        stop_conditions=state.stop_conditions,
        write_lock=state.write_lock,
        gate_policy=state.gate_policy,
        gates_required=state.gates_required,
    )


_BOUNDED = (
    "max_tasks_per_session",
    "max_consecutive_errors",
    "max_fidelity_review_cycles_per_phase",
)


def _violations(bound: StartOptions, wanted: StartOptions) -> Iterator[dict[str, Any]]:
    if wanted.gate_policy is GatePolicy.LENIENT:
        yield _violation("gate_policy", wanted.gate_policy, f"{_STRICT} or {_MANUAL}")
    for field, chosen in (
        ("gates_required", wanted.gates_required),
        ("enforce_autonomy_write_lock", wanted.write_lock.enforced),
        ("stop_on_phase_completion", wanted.stop_conditions.stop_on_phase_completion),
    ):
        if not chosen:
            yield _violation(field, value=False, allowed="true")
    for field in _BOUNDED:
        most, value = getattr(bound.limits, field), getattr(wanted.limits, field)
        if value > most:
            yield _violation(field, value, f"at most {most}")


def _violation(field: str, value: object, allowed: str) -> dict[str, Any]:
    return {"field": field, "value": value, "allowed": allowed}
