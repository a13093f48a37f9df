"""Every state and code has its signal; every pause and failure says what to do."""

import pytest

from runner.autonomy.codes import CODES, ErrorCode
from runner.autonomy.enums import FailureReason, LoopSignal, PauseReason, SessionStatus
from runner.autonomy.signals import (
    FAILURE_ACTIONS,
    PAUSE_ACTIONS,
    PAUSE_SIGNALS,
    STATUS_SIGNALS,
    error_signal,
    loop_signal,
    recommended_actions,
)


def test_every_code_says_what_to_do() -> None:
    assert set(CODES) == set(ErrorCode)


def test_every_state_has_a_row() -> None:
    assert set(PAUSE_SIGNALS) == set(PAUSE_ACTIONS) == set(PauseReason)
    assert set(FAILURE_ACTIONS) == set(FailureReason)
    assert set(STATUS_SIGNALS) == set(SessionStatus)


def test_only_phase_complete_lets_a_supervisor_go_on() -> None:
    going_on = [r for r in PauseReason if PAUSE_SIGNALS[r] is LoopSignal.PHASE_COMPLETE]
    assert going_on == [PauseReason.PHASE_COMPLETE]


def test_there_is_no_signal_while_work_goes_on() -> None:
    assert loop_signal(SessionStatus.RUNNING) is None


@pytest.mark.parametrize(
    ("code", "signal"),
    [
        (ErrorCode.REQUIRED_GATE_UNSATISFIED, LoopSignal.BLOCKED_RUNTIME),
        (ErrorCode.AUTHORIZATION, LoopSignal.BLOCKED_RUNTIME),
        (ErrorCode.STEP_MISMATCH, None),
    ],
)
def test_codes_of_policy_and_integrity_block(code: ErrorCode, signal: LoopSignal | None) -> None:
    assert error_signal(code) is signal


def test_recommended_commands_name_the_session() -> None:
    actions = recommended_actions("auto_1", PauseReason.GATE_REVIEW_REQUIRED, None, "gate_1")
    assert any("auto_1" in a["command"] and "gate_1" in a["command"] for a in actions)


def test_nothing_is_recommended_while_work_goes_on() -> None:
    assert recommended_actions("auto_1", None, None) == []
