"""Every state and code has its row; every recommended command works when it is pasted."""

import shlex
from enum import StrEnum
from pathlib import Path

import pytest
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client

from runner.autonomy.codes import CODES, ErrorCode
from runner.autonomy.enums import FailureReason, LoopSignal, PauseReason, SessionStatus
from runner.autonomy.signals import (
    ERROR_ROWS,
    PAUSE_ROWS,
    TABLE,
    Action,
    error_actions,
    error_signal,
    loop_signal,
    recommended_actions,
)

STORE = MemoryStore


SESSION = "auto_01J00000000000000000000000"
FACTS = {"session_id": SESSION, "gate_attempt_id": "gate_1"}


def test_every_code_says_what_to_do() -> None:
    assert set(CODES) == set(ErrorCode)


@pytest.mark.parametrize("members", [SessionStatus, PauseReason, FailureReason, ErrorCode])
def test_every_member_has_a_row(members: type[StrEnum]) -> None:
    assert set(TABLE[members]) == set(members)


def test_only_phase_complete_lets_a_supervisor_go_on() -> None:
    going_on = [
        member
        for rows in TABLE.values()
        for member, row in rows.items()
        if row.signal is LoopSignal.PHASE_COMPLETE
    ]
    assert going_on == [PauseReason.PHASE_COMPLETE]


@pytest.mark.parametrize("reason", PauseReason)
def test_no_command_is_recommended_twice(reason: PauseReason) -> None:
    facts = FACTS | {"status": SessionStatus.PAUSED, "pause_reason": reason}
    actions = error_actions(ErrorCode.INVALID_STATE_TRANSITION, facts)
    commands = [action["command"] for action in actions if "command" in action]
    assert len(commands) == len(set(commands))


def test_there_is_no_signal_while_work_goes_on() -> None:
    assert loop_signal(SessionStatus.RUNNING) is None


@pytest.mark.parametrize("reason", [r for r in PauseReason if r != "phase_complete"])
def test_every_other_pause_needs_attention(reason: PauseReason) -> None:
    assert loop_signal(SessionStatus.PAUSED, reason) is LoopSignal.PAUSED_NEEDS_ATTENTION


def test_a_completed_session_says_spec_complete() -> None:
    assert loop_signal(SessionStatus.COMPLETED) is LoopSignal.SPEC_COMPLETE


def test_a_failed_session_says_failed() -> None:
    assert loop_signal(SessionStatus.FAILED) is LoopSignal.FAILED


def test_codes_of_policy_and_integrity_block() -> None:
    blocking = {code for code, row in ERROR_ROWS.items() if row.signal == "blocked_runtime"}
    assert blocking == {
        "REQUIRED_GATE_UNSATISFIED",
        "GATE_AUDIT_FAILURE",
        "GATE_INTEGRITY_CHECKSUM",
        "FEATURE_DISABLED",
        "AUTHORIZATION",
        "RATE_LIMITED",
    }


def test_wrong_evidence_blocks_only_when_it_comes_again() -> None:
    code = ErrorCode.INVALID_GATE_EVIDENCE
    assert (error_signal(code), error_signal(code, repeated=True)) == (None, "blocked_runtime")


@pytest.mark.parametrize("reason", PauseReason)
def test_every_pause_says_what_to_do(reason: PauseReason) -> None:
    assert recommended_actions(SESSION, SessionStatus.PAUSED, reason, None, "gate_1")


@pytest.mark.parametrize("reason", FailureReason)
def test_every_failure_says_what_to_do(reason: FailureReason) -> None:
    assert recommended_actions(SESSION, SessionStatus.FAILED, None, reason)


@pytest.mark.parametrize("code", ErrorCode)
def test_every_refusal_says_what_to_do(code: ErrorCode) -> None:
    assert error_actions(code, {})


def test_nothing_is_recommended_while_work_goes_on() -> None:
    assert recommended_actions(SESSION, SessionStatus.RUNNING, None, None) == []


def test_an_ended_session_is_followed_by_a_new_one() -> None:
    [action] = recommended_actions(SESSION, SessionStatus.ENDED, None, None)
    assert action["command"] == "runner session start"


@pytest.mark.parametrize("code", ["SPEC_SESSION_EXISTS", "INVALID_STATE_TRANSITION"])
def test_what_to_do_about_a_session_in_the_way_depends_on_its_state(code: str) -> None:
    found = {
        status: [a["action"] for a in error_actions(ErrorCode(code), FACTS | {"status": status})]
        for status in (SessionStatus.RUNNING, SessionStatus.PAUSED, SessionStatus.ENDED)
    }
    assert found == {
        "running": ["inspect"],
        "paused": ["inspect", "resume"],
        "ended": ["inspect", "start"],
    }


def test_an_unknown_session_is_left_out_of_a_command() -> None:
    [action] = error_actions(ErrorCode.STEP_MISMATCH, {})
    assert action["command"] == "runner step replay"


def test_a_command_that_lacks_a_value_is_left_out() -> None:
    _, acknowledge = error_actions(ErrorCode.MANUAL_GATE_ACK_REQUIRED, {"session_id": SESSION})
    assert "command" not in acknowledge


def test_a_reset_always_names_its_session() -> None:
    actions = error_actions(ErrorCode.GATE_INTEGRITY_CHECKSUM, {})
    assert "command" not in actions[-1]


def test_a_value_can_not_become_a_command_of_its_own() -> None:
    [action] = error_actions(ErrorCode.STEP_MISMATCH, {"session_id": "x; rm -rf ~"})
    assert shlex.split(action["command"])[-1] == "x; rm -rf ~"


def recommended_commands() -> list[str]:
    """Return every command of the table, filled in."""
    texts = {
        shown["command"]
        for code in ErrorCode
        for shown in error_actions(code, FACTS)
        if "command" in shown
    }
    for reason in PauseReason:
        texts |= {a["command"] for a in _shown(reason, None) if "command" in a}
    for status in SessionStatus:
        shown = recommended_actions(SESSION, status, None, None)
        texts |= {a["command"] for a in shown if "command" in a}
    for failure in FailureReason:
        texts |= {a["command"] for a in _shown(None, failure) if "command" in a}
    return sorted(texts)


def _shown(pause: PauseReason | None, failure: FailureReason | None) -> list[dict[str, str]]:
    status = SessionStatus.PAUSED if pause is not None else SessionStatus.FAILED
    return recommended_actions(SESSION, status, pause, failure, "gate_1")


@pytest.mark.parametrize("text", recommended_commands())
def test_every_recommended_command_exists_with_its_options(text: str, tmp_path: Path) -> None:
    program, *words = shlex.split(text)
    assert program == "runner"
    if words in (["run"], ["capabilities"]):
        return
    group, name, *options = words
    command = Client(tmp_path).plane.commands[(group, name)]
    given = {o[2:].replace("-", "_") for o in options if o.startswith("--")}
    assert given <= set(command.params.model_fields)


def test_no_row_names_an_action_twice_in_a_way_that_can_not_be_told_apart() -> None:
    def repeated(actions: tuple[Action, ...]) -> bool:
        return len({a.description for a in actions}) < len(actions)

    assert not [reason for reason, row in PAUSE_ROWS.items() if repeated(row.actions)]


def test_a_refusal_carries_its_signal_and_actions(client: Client) -> None:
    data = client.call("step", "next")["data"]
    assert data["loop_signal"] is None
    assert data["recommended_actions"][0]["command"] == "runner session start"


def test_the_commands_of_a_refusal_name_the_session_that_it_is_about(client: Client) -> None:
    client.start()
    client.next()
    [action] = client.call("step", "next")["data"]["recommended_actions"]
    assert action["command"].endswith(f"--session-id {client.session_id}")
