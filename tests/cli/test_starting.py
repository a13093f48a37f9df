"""The options of a run become the parameters of `session start`."""

import pytest

from runner.app.run import SESSIONS_IN_STEP, start_defaults, start_parameters
from runner.autonomy.access.postures import PROFILES
from runner.autonomy.params import StartParams, parse
from runner.config.options import MAX_COUNT, MAX_SESSION_MINUTES, RunOptions
from runner.config.postures import Posture, Role, Standing

MINUTES = {"step_stale_minutes": 240, "step_proof_ttl_minutes": 240}


def test_what_was_not_said_is_left_to_the_posture() -> None:
    assert start_parameters(RunOptions()) == MINUTES


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(gate_policy="lenient"), {"gate_policy": "lenient"}),
        (RunOptions(gates=False), {"gates_required": False}),
        (RunOptions(one_phase=True), {"stop_on_phase_completion": True}),
        (RunOptions(max_consecutive_errors=7), {"max_consecutive_errors": 7}),
        (RunOptions(max_review_cycles=2), {"max_fidelity_review_cycles_per_phase": 2}),
    ],
)
def test_what_was_said_is_passed_on(options: RunOptions, expected: dict[str, object]) -> None:
    assert start_parameters(options) == MINUTES | expected


@pytest.mark.parametrize(("minutes", "expected"), [(0.1, 1), (15, 60), (22.6, 91)])
def test_a_step_has_time_for_several_sessions(minutes: float, expected: int) -> None:
    given = start_parameters(RunOptions(session_timeout_minutes=minutes))
    assert given["step_proof_ttl_minutes"] == expected >= minutes * SESSIONS_IN_STEP


def test_the_control_plane_takes_the_parameters() -> None:
    options = RunOptions(gate_policy="manual", gates=False, one_phase=True, max_review_cycles=2)
    parse(StartParams, start_parameters(options))


def test_the_control_plane_takes_the_greatest_values_that_the_options_take() -> None:
    parse(
        StartParams,
        start_parameters(
            RunOptions(
                session_timeout_minutes=MAX_SESSION_MINUTES,
                max_consecutive_errors=MAX_COUNT,
                max_review_cycles=MAX_COUNT,
            )
        ),
    )


def test_a_run_in_a_terminal_begins_what_a_run_at_night_may_take_up() -> None:
    supervised = start_defaults(_standing(Posture.SUPERVISED))
    at_night = PROFILES[Posture.UNATTENDED].defaults.limits
    assert supervised == {"max_consecutive_errors": at_night.max_consecutive_errors}


def test_in_debug_the_posture_bounds_errors() -> None:
    assert start_defaults(_standing(Posture.DEBUG)) == {}


def _standing(posture: Posture) -> Standing:
    return Standing(posture, "command line", Role.MAINTAINER, "posture")
