"""Whoever calls, with whatever flags: a refusal changes nothing, and a lesser role never may more."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.autonomy.surface import Caller, flag
from tests.autonomy.test_malformed import _files
from tests.autonomy.test_roles import WELL_FORMED

from runner.autonomy.access.callers import REQUIRED_ROLES, Key, Policy
from runner.autonomy.codes import RefusedError
from runner.config.feature_flags import FEATURE_FLAGS, FeatureFlags, resolve_flags
from runner.config.postures import Posture, Role, Standing

REFUSALS = {"AUTHORIZATION", "FEATURE_DISABLED", "RATE_LIMITED"}
EXTRAS: dict[Key, st.SearchStrategy[dict[str, Any]]] = {
    ("session", "start"): st.fixed_dictionaries(
        {},
        optional={
            "gate_policy": st.sampled_from(["strict", "lenient", "manual"]),
            "gates_required": st.booleans(),
            "enforce_autonomy_write_lock": st.booleans(),
            "max_consecutive_errors": st.integers(1, 9),
            "force": st.booleans(),
            "reason_code": st.just("testing"),
        },
    ),
    ("session", "resume"): st.fixed_dictionaries(
        {}, optional={"force": st.booleans(), "acknowledge_gate_review": st.booleans()}
    ),
}


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    posture=st.sampled_from(Posture),
    role=st.sampled_from(Role),
    off=st.sets(st.sampled_from(sorted(FEATURE_FLAGS)), max_size=2),
    key=st.sampled_from(sorted(REQUIRED_ROLES)),
    data=st.data(),
)
def test_a_refused_call_changes_no_file(
    workspace: Path, *, posture: str, role: str, off: set[str], key: Key, data: st.DataObject
) -> None:
    environ = dict(itertools.chain(*(flag(name).items() for name in off)))
    caller = Caller(workspace, posture, role, environ=environ)
    params = WELL_FORMED.get(key, {}) | data.draw(EXTRAS.get(key, st.just({})))
    before = _files(workspace)
    code = caller.call(*key, **params)["data"].get("error_code")
    assert code != "INTERNAL"
    assert code not in REFUSALS or _files(workspace) == before


def _may(policy: Policy, key: Key) -> bool:
    try:
        policy.check_command(key)
    except RefusedError:
        return False
    return True


@pytest.mark.parametrize(("less", "more"), list(itertools.pairwise(Role)))
def test_a_role_may_all_that_a_lesser_one_may(less: Role, more: Role) -> None:
    def allowed(role: Role) -> set[Key]:
        policy = Policy(Standing(Posture.SUPERVISED, "default", role, "posture"))
        return {key for key in REQUIRED_ROLES if _may(policy, key)}

    assert allowed(less) < allowed(more)


@given(off=st.sets(st.sampled_from(sorted(FEATURE_FLAGS))))
def test_switching_a_flag_off_enables_nothing(off: set[str]) -> None:
    def enabled(flags: FeatureFlags) -> set[str]:
        return {name for name in FEATURE_FLAGS if flags.is_on(name)}

    assert enabled(resolve_flags(dict.fromkeys(off, False), {})) <= enabled(FeatureFlags())
