import signal

import pytest

from runner.app.exit_codes import EXIT_CODES, exit_code, exit_code_for_error
from runner.errors import (
    AgentStartError,
    ConfigError,
    LockTimeoutError,
    PrerequisiteError,
    RunnerError,
    StateCorruptError,
    StateWriteError,
    UsageError,
)
from runner.events import ExitReason

CONTRACT = {
    "all_passed": 0,
    "all_verified": 0,
    "phase_complete": 0,
    "failed": 1,
    "max_retries_exceeded": 1,
    "error": 1,
    "paused": 3,
    "all_blocked": 3,
    "stalled": 3,
    "max_iterations": 4,
    "quota_exceeded": 75,
    "budget_exceeded": 6,
    "blocked_runtime": 7,
    "interrupted": 130,
}


def test_every_exit_reason_has_a_code() -> None:
    assert set(EXIT_CODES) == set(ExitReason)


@pytest.mark.parametrize(("reason", "code"), CONTRACT.items())
def test_codes_are_those_of_the_contract(reason: str, code: int) -> None:
    assert exit_code(ExitReason(reason)) == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_says_by_which_signal(number: int, code: int) -> None:
    assert exit_code(ExitReason.INTERRUPTED, number) == code


def test_a_signal_number_changes_no_other_reason() -> None:
    assert exit_code(ExitReason.ALL_PASSED, signal.SIGTERM) == 0


@pytest.mark.parametrize("kind", [UsageError, PrerequisiteError, ConfigError])
def test_usage_errors_exit_2(kind: type[RunnerError]) -> None:
    assert exit_code_for_error(kind("no")) == 2


def test_damaged_state_is_a_prerequisite() -> None:
    assert exit_code_for_error(StateCorruptError("no")) == 2


@pytest.mark.parametrize("kind", [RunnerError, StateWriteError, LockTimeoutError, AgentStartError])
def test_other_errors_exit_1(kind: type[RunnerError]) -> None:
    assert exit_code_for_error(kind("no")) == 1
