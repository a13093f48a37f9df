"""Refusals by policy, audit and time, on the command line; with the others every code has a test."""

import threading
from collections.abc import Callable, Sequence

import pytest
from filelock import FileLock
from tests.cli.control.kit import Cli
from tests.cli.control.test_refusals import SCENES

from runner.autonomy.codes import CODES, ErrorCode

Scene = Callable[[Cli], Sequence[str]]

NOT_HERE = {
    ErrorCode.VALIDATION_ERROR: "has its own tests in test_refusals.py",
    ErrorCode.LOCK_TIMEOUT: "has its own test in test_refusals.py",
    ErrorCode.TIMEOUT: "has its own test above",
    ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED: "of session-config, which only MCP has",
    ErrorCode.HEARTBEAT_STALE: "comes as details.pause_trigger",
    ErrorCode.REVIEW_UNAVAILABLE: "an agent makes reviews, in e2e",
    ErrorCode.INTERNAL: "is a bug",
}


def _configure(cli: Cli, text: str) -> None:
    (cli.workspace / ".runner/runner.toml").write_text(text, encoding="utf-8")


def _switched_off(cli: Cli) -> Sequence[str]:
    _configure(cli, "[feature_flags]\nautonomy_rebase = false\n")
    return ("session", "rebase")


def _not_allowed(cli: Cli) -> Sequence[str]:
    _configure(cli, '[posture]\nprofile = "unattended"\n')
    return ("session", "end")


def _asked_too_often(cli: Cli) -> Sequence[str]:
    words = _not_allowed(cli)
    for _ in range(10):
        assert cli.refused(*words) == "AUTHORIZATION"
    return words


def _older_copy(cli: Cli) -> Sequence[str]:
    """Put back the session as it was before its first step."""
    cli.start()
    before = cli.session_file().read_bytes()
    cli.next()
    cli.session_file().write_bytes(before)
    return ("step", "next", "--session-id", cli.session_id)


POLICY_SCENES: list[tuple[Scene, ErrorCode]] = [
    (_switched_off, ErrorCode.FEATURE_DISABLED),
    (_not_allowed, ErrorCode.AUTHORIZATION),
    (_asked_too_often, ErrorCode.RATE_LIMITED),
    (_older_copy, ErrorCode.GATE_AUDIT_FAILURE),
]


@pytest.mark.parametrize(("scene", "code"), POLICY_SCENES)
def test_a_refusal_by_policy_blocks_the_run(cli: Cli, scene: Scene, code: ErrorCode) -> None:
    exit_code, envelope = cli.envelope(*scene(cli))
    data = envelope["data"]
    assert (exit_code, data["error_code"], data["loop_signal"]) == (1, code, "blocked_runtime")
    assert data["error_type"] == CODES[code].error_type


@pytest.mark.parametrize(("scene", "code"), POLICY_SCENES)
def test_a_refusal_by_policy_tells_people_what_to_do(
    cli: Cli, scene: Scene, code: ErrorCode
) -> None:
    done = cli.people(*scene(cli))
    assert (done.code, done.out) == (1, "")
    assert f"({code})" in done.err
    assert "\nNext:  runner " in done.err


def test_who_asks_too_often_is_told_how_long_to_wait(cli: Cli) -> None:
    _, envelope = cli.envelope(*_asked_too_often(cli))
    assert 0 < envelope["data"]["details"]["retry_after"] <= 60


def _lock(cli: Cli, name: str) -> FileLock:
    return FileLock(cli.workspace / ".runner/autonomy/locks" / name, thread_local=False)


def test_what_waits_twice_runs_out_of_time(cli: Cli) -> None:
    cli.start()
    step = cli.next()
    session = _lock(cli, f"session_{cli.session_id}.lock")
    proof = ("--autonomy-step-proof", step["step_proof_token"])
    with _lock(cli, "status.lock"):
        session.acquire()
        waker = threading.Timer(3, session.release)
        waker.start()
        code, envelope = cli.envelope("task", "block", step["task_id"], *proof)
        waker.join()
    assert (code, envelope["data"]["error_code"]) == (1, "TIMEOUT")
    assert envelope["data"]["details"]["state_version"] == cli.state()["state_version"]


def test_every_code_has_a_scene_or_a_reason_why_not() -> None:
    shown = {ErrorCode(code) for _, code in SCENES} | {code for _, code in POLICY_SCENES}
    assert shown | set(NOT_HERE) == set(ErrorCode)
    assert not shown & set(NOT_HERE)
