"""What is recommended works when it is pasted: every command of every row is really run."""

import json
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import pytest
from tests.cli.control.kit import Cli
from tests.cli.control.refusals import ROWS

from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, PauseReason, SessionStatus

Actions = list[dict[str, Any]]
Rest = Callable[[Cli], dict[str, Any]]
"""Brings a session to rest, and returns the answer that says so."""


def _paste(cli: Cli, actions: Actions) -> None:
    """Run what is recommended, one after another, as a person would who believes it."""
    for action in actions:
        if command := action.get("command"):
            program, *words = shlex.split(command)
            assert program == "runner"
            if words[0] != "run":  # that needs an agent; tests/e2e has it
                done = cli.run(*words)
                assert done.code == 0, (command, done)


@pytest.mark.parametrize("code", ROWS)
def test_what_a_refusal_recommends_can_be_done(cli: Cli, code: ErrorCode) -> None:
    row = ROWS[code]
    words = row.scene(cli)
    with row.meanwhile(cli):
        _, envelope = cli.envelope(*words)
    _paste(cli, envelope["data"]["recommended_actions"])


def _paused_by_a_person(cli: Cli) -> dict[str, Any]:
    cli.start()
    return cli.ok("session", "pause")


def _full_context(cli: Cli) -> dict[str, Any]:
    cli.start()
    cli.ok("step", "heartbeat", "--context-usage-pct", "99")
    return cli.ok("step", "next")


def _failing(cli: Cli) -> dict[str, Any]:
    cli.start("--max-consecutive-errors", "1")
    return cli.answer(cli.report(cli.next(), "failure"))


def _nothing_to_do(cli: Cli) -> dict[str, Any]:
    for task_id in ("A-001", "A-002", "B-001"):
        cli.ok("task", "block", task_id)
    cli.start()
    return cli.ok("step", "next")


def _reviewed_badly(cli: Cli, *options: str) -> dict[str, Any]:
    cli.start(*options)
    step = cli.until("run_fidelity_gate")
    report = cli.report(step, "failure") | {"outcome": "success"} | cli.review(step, "fail")
    return cli.answer(report)


def _awaiting_a_person(cli: Cli) -> dict[str, Any]:
    cli.start("--gate-policy", "manual")
    return cli.answer(cli.report(cli.until("run_fidelity_gate")))


def _enough_for_now(cli: Cli) -> dict[str, Any]:
    cli.start("--max-tasks-per-session", "1")
    return cli.answer(cli.report(cli.next()))


def _silent(cli: Cli) -> dict[str, Any]:
    cli.in_the_past(minutes=30).start()
    return cli.ok("step", "next")


def _slow(cli: Cli) -> dict[str, Any]:
    before = cli.in_the_past(minutes=30)
    before.start(
        step_stale_minutes=1,
        heartbeat_stale_minutes=61,
        heartbeat_grace_minutes=60,
        step_proof_ttl_minutes=60,
    )
    return cli.answer(cli.report(before.next()["next_step"]))


def _phase_is_over(cli: Cli) -> dict[str, Any]:
    cli.start("--stop-on-phase-completion")
    return cli.answer(cli.report(cli.until("run_fidelity_gate")))


def _never_settled(cli: Cli) -> dict[str, Any]:
    cli.start("--max-fidelity-review-cycles-per-phase", "1")
    step = cli.until("execute_verification")
    while not step.get("reverifies"):
        (cli.workspace / f"{step['step_id']}.txt").touch()
        step = cli.next(cli.report(step))
    cli.ok("step", "report", "--result", json.dumps(cli.report(step)))
    (cli.workspace / "later.txt").touch()
    return cli.ok("step", "next")


PAUSES: Mapping[PauseReason, Rest] = {
    PauseReason.USER: _paused_by_a_person,
    PauseReason.CONTEXT_LIMIT: _full_context,
    PauseReason.ERROR_THRESHOLD: _failing,
    PauseReason.BLOCKED: _nothing_to_do,
    PauseReason.GATE_FAILED: lambda cli: _reviewed_badly(cli, "--no-auto-retry-fidelity-gate"),
    PauseReason.GATE_REVIEW_REQUIRED: _awaiting_a_person,
    PauseReason.TASK_LIMIT: _enough_for_now,
    PauseReason.HEARTBEAT_STALE: _silent,
    PauseReason.STEP_STALE: _slow,
    PauseReason.PHASE_COMPLETE: _phase_is_over,
    PauseReason.FIDELITY_CYCLE_LIMIT: lambda cli: _reviewed_badly(
        cli, "--max-fidelity-review-cycles-per-phase", "1"
    ),
    PauseReason.VERIFICATION_UNSETTLED: _never_settled,
}


def _spec_is_gone(cli: Cli) -> dict[str, Any]:
    cli.start()
    path = cli.workspace / ".runner/status.json"
    before = path.read_bytes()
    path.unlink()
    data = cli.ok("step", "next")
    path.write_bytes(before)  # as the first recommendation says
    return data


def _spec_is_edited(cli: Cli) -> dict[str, Any]:
    cli.start()
    cli.add_task("C-001", "p3")
    return cli.ok("step", "next")


def _file_is_damaged(cli: Cli) -> dict[str, Any]:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    return cli.ok("session", "status", "--session-id", cli.session_id)


def _file_of_another_version(cli: Cli) -> dict[str, Any]:
    cli.start()
    cli.edit_state(_schema_version=99)
    return cli.ok("session", "status", "--session-id", cli.session_id)


FAILURES: Mapping[FailureReason, tuple[Rest, str | None]] = {
    FailureReason.SPEC_NOT_FOUND: (_spec_is_gone, "running"),
    FailureReason.SPEC_STRUCTURE_CHANGED: (_spec_is_edited, "running"),
    FailureReason.STATE_CORRUPT: (_file_is_damaged, None),
    FailureReason.MIGRATION_FAILED: (_file_of_another_version, None),
}
"""With what becomes of the session; None where it is removed."""


def _completed(cli: Cli) -> dict[str, Any]:
    cli.start()
    cli.until("complete_spec")
    return cli.ok("session", "status", "--session-id", cli.session_id)


def _ended(cli: Cli) -> dict[str, Any]:
    cli.start()
    return cli.ok("session", "end")


def _running(cli: Cli) -> dict[str, Any]:
    cli.start()
    return cli.ok("session", "status")


STATUSES: Mapping[SessionStatus, tuple[Rest, str]] = {
    SessionStatus.RUNNING: (_running, "running"),
    SessionStatus.PAUSED: (_paused_by_a_person, "running"),
    SessionStatus.COMPLETED: (_completed, "completed"),
    SessionStatus.FAILED: (_spec_is_edited, "running"),
    SessionStatus.ENDED: (_ended, "running"),
}
"""With the status of the latest session afterwards."""


def _latest(cli: Cli) -> str | None:
    rows = cli.ok("session", "list", "--limit", "1")["sessions"]
    return rows[0]["status"] if rows else None


@pytest.mark.parametrize(
    ("table", "members"),
    [(PAUSES, PauseReason), (FAILURES, FailureReason), (STATUSES, SessionStatus)],
)
def test_every_rest_has_its_row(table: Mapping[Any, Any], members: type[StrEnum]) -> None:
    assert set(table) == set(members)


@pytest.mark.parametrize("reason", PAUSES)
def test_what_a_pause_recommends_sets_the_session_going(cli: Cli, reason: PauseReason) -> None:
    data = PAUSES[reason](cli)
    assert (data["status"], data["pause_reason"]) == ("paused", reason)
    _paste(cli, data["recommended_actions"])
    assert _latest(cli) == "running"


@pytest.mark.parametrize("reason", FAILURES)
def test_what_a_failure_recommends_leads_out_of_it(cli: Cli, reason: FailureReason) -> None:
    fail, then = FAILURES[reason]
    data = fail(cli)
    assert (data["status"], data["failure_reason"]) == ("failed", reason)
    _paste(cli, data["recommended_actions"])
    assert _latest(cli) == then


@pytest.mark.parametrize("status", STATUSES)
def test_what_is_recommended_at_a_status_can_be_done(cli: Cli, status: SessionStatus) -> None:
    rest, then = STATUSES[status]
    data = rest(cli)
    assert data["status"] == status
    _paste(cli, data["recommended_actions"])
    assert _latest(cli) == then
