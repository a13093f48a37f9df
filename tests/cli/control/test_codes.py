"""CONTRACT §6: every code is met through `runner … --json`."""

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.cli.control.kit import Cli
from tests.cli.control.refusals import ROWS, Words

from runner.autonomy.codes import CODES, ErrorCode
from runner.autonomy.signals import ERROR_ROWS

NEVER = {ErrorCode.INTERNAL}
"""It says that there is a bug, and no input is to yield it."""

POLICY = [
    ErrorCode.FEATURE_DISABLED,
    ErrorCode.AUTHORIZATION,
    ErrorCode.RATE_LIMITED,
    ErrorCode.GATE_AUDIT_FAILURE,
]

SEEN_BY_OTHER_PROCESSES = [
    ErrorCode.RATE_LIMITED,
    ErrorCode.VERIFICATION_RECEIPT_INVALID,
    ErrorCode.GATE_INTEGRITY_CHECKSUM,
    ErrorCode.LOCK_TIMEOUT,
]
"""A count, a key and a checksum that are kept on disk, and a lock that another process holds."""


def _json_of_process(cli: Cli, words: Words) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words, "--workspace", str(cli.workspace), "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    (line,) = done.stdout.splitlines()
    envelope: dict[str, Any] = json.loads(line)
    return done.returncode, envelope


def test_every_code_has_its_row() -> None:
    assert set(ROWS) == set(ErrorCode) - NEVER


@pytest.mark.parametrize("code", ROWS)
def test_the_code_stands_in_the_data_of_the_envelope(cli: Cli, code: ErrorCode) -> None:
    words = ROWS[code].scene(cli)
    with ROWS[code].meanwhile(cli):
        exit_code, envelope = cli.envelope(*words)
    data = envelope["data"]
    assert (exit_code, envelope["success"], data["error_code"]) == (1, False, code)
    assert data["error_type"] == CODES[code].error_type
    assert data["loop_signal"] == ERROR_ROWS[code].signal
    assert data["remediation"]
    assert envelope["error"]


@pytest.mark.process
@pytest.mark.parametrize("code", SEEN_BY_OTHER_PROCESSES)
def test_a_process_of_its_own_meets_the_same_code(cli: Cli, code: ErrorCode) -> None:
    words = ROWS[code].scene(cli)
    with ROWS[code].meanwhile(cli):
        exit_code, envelope = _json_of_process(cli, words)
    assert (exit_code, envelope["data"]["error_code"]) == (1, code)


@pytest.mark.parametrize("code", ROWS)
def test_people_are_told_the_code_and_what_to_do(cli: Cli, code: ErrorCode) -> None:
    words = ROWS[code].scene(cli)
    with ROWS[code].meanwhile(cli):
        done = cli.people(*words)
    assert (done.code, done.out) == (1, "")
    said = [line for line in done.err.splitlines() if not line.startswith("Warning: ")]
    first = next(number for number, line in enumerate(said) if line.startswith("Error: "))
    assert f"({code})" in done.err
    assert said[first + 1].startswith("       ")


@pytest.mark.parametrize("code", POLICY)
def test_a_refusal_by_policy_names_a_command_that_shows_why(cli: Cli, code: ErrorCode) -> None:
    done = cli.people(*ROWS[code].scene(cli))
    assert "\nNext:  runner " in done.err


def test_who_asks_too_often_is_told_how_long_to_wait(cli: Cli) -> None:
    _, envelope = cli.envelope(*ROWS[ErrorCode.RATE_LIMITED].scene(cli))
    assert 0 < envelope["data"]["details"]["retry_after"] <= 60


def test_a_late_answer_names_the_version_that_was_written(cli: Cli) -> None:
    row = ROWS[ErrorCode.TIMEOUT]
    words = row.scene(cli)
    with row.meanwhile(cli):
        _, envelope = cli.envelope(*words)
    assert envelope["data"]["details"]["state_version"] == cli.state()["state_version"]


def test_a_heartbeat_that_is_refused_has_paused_its_session(cli: Cli) -> None:
    cli.refused(*ROWS[ErrorCode.HEARTBEAT_STALE].scene(cli))
    assert cli.ok("session", "status")["pause_reason"] == "heartbeat_stale"
