"""Every refusal that the command line can meet without roles: its code, its exit code, its words."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.control.kit import Cli, gate_words

from runner.autonomy.codes import CODES, ErrorCode
from runner.files import locked

Scene = Callable[[Cli], tuple[str, ...]]


def _result(report: dict[str, Any]) -> tuple[str, ...]:
    return ("step", "next", "--result", json.dumps(report))


def _no_session(cli: Cli) -> tuple[str, ...]:
    return ("step", "next")


def _unknown_session(cli: Cli) -> tuple[str, ...]:
    return ("session", "status", "--session-id", "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV")


def _no_spec(cli: Cli) -> tuple[str, ...]:
    (cli.workspace / ".runner/status.json").unlink()
    return ("session", "start")


def _another_spec(cli: Cli) -> tuple[str, ...]:
    return ("session", "start", "--spec-id", "another")


def _two_sessions(cli: Cli) -> tuple[str, ...]:
    cli.start()
    path = cli.workspace / ".runner/status.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"demo"', '"other"'), encoding="utf-8")
    cli.start()
    return ("session", "pause")


def _second_start(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("session", "start", "--idempotency-key", "another")


def _resume_running(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("session", "resume")


def _reset_running(cli: Cli) -> tuple[str, ...]:
    return ("session", "reset", "--session-id", cli.start())


def _damaged(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    return ("step", "next")


def _made_up_cursor(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("session", "events", "--cursor", "bm9uc2Vuc2U")


def _missing_report(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.next()
    return ("step", "next")


def _report_of_another_step(cli: Cli) -> tuple[str, ...]:
    cli.start()
    other = "step_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    return _result(cli.report(cli.next(), step_id=other))


def _report_without_proof(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.next(), step_proof=None))


def _report_with_a_forged_proof(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.next(), step_proof="stp_forged"))


def _report_after_its_time(cli: Cli) -> tuple[str, ...]:
    before = cli.in_the_past(minutes=20)
    before.start(step_proof_ttl_minutes=15)
    return _result(cli.report(before.next()["next_step"]))


def _another_report_on_the_same_step(cli: Cli) -> tuple[str, ...]:
    cli.start()
    report = cli.report(cli.next())
    cli.next(report)
    return _result(report | {"note": "on second thoughts"})


def _change_of_another_deliverable(cli: Cli) -> tuple[str, ...]:
    cli.start()
    token = cli.next()["step_proof_token"]
    return ("task", "complete", "B-001", "--autonomy-step-proof", token)


def _verification_without_receipt(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.until("execute_verification"), verification_receipt=None))


def _receipt_without_results(cli: Cli) -> tuple[str, ...]:
    cli.start()
    report = cli.report(cli.until("execute_verification"))
    return _result(
        report | {"verification_receipt": report["verification_receipt"] | {"results": []}}
    )


def _forged_evidence(cli: Cli) -> tuple[str, ...]:
    cli.start()
    step = cli.until("run_fidelity_gate")
    return _result(cli.report(step, gate_evidence_token="gev_forged"))


def _edited_verdict(cli: Cli) -> tuple[str, ...]:
    cli.start()
    step = cli.until("run_fidelity_gate")
    evidence = cli.review(step, "fail")
    report = cli.report(step, "failure") | {"outcome": "success"} | evidence
    stored = cli.state()["pending_gate_evidence"]
    cli.edit_state(pending_gate_evidence=stored | {"verdict": "pass"})
    return _result(report)


def _skipped_gate(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.until("run_fidelity_gate"), "skipped"))


def _awaiting_a_person(cli: Cli) -> None:
    cli.start("--gate-policy", "manual")
    cli.next(cli.report(cli.until("run_fidelity_gate")))


def _unacknowledged(cli: Cli) -> tuple[str, ...]:
    _awaiting_a_person(cli)
    return ("session", "resume")


def _wrongly_acknowledged(cli: Cli) -> tuple[str, ...]:
    _awaiting_a_person(cli)
    attempt = ("--acknowledged-gate-attempt-id", "gate_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    return ("session", "resume", "--acknowledge-gate-review", *attempt)


def _review_of_no_step(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("review", "gate", *gate_words(cli.next()), "--verdict", "pass")


def _changed_structure(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.add_task("C-001", "p3")
    assert cli.ok("step", "next")["failure_reason"] == "spec_structure_changed"
    return ("session", "resume", "--force")


def _completed_work_is_gone(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.next(cli.report(cli.next()))
    cli.ok("session", "pause")
    path = cli.workspace / ".runner/status.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["deliverables"] = [d for d in document["deliverables"] if d["id"] != "A-001"]
    path.write_text(json.dumps(document), encoding="utf-8")
    return ("session", "rebase")


def _sessions_folder_is_a_file(cli: Cli) -> tuple[str, ...]:
    folder = cli.workspace / ".runner/autonomy/sessions"
    folder.parent.mkdir()
    folder.write_text("", encoding="utf-8")
    return ("session", "start")


SCENES: list[tuple[Scene, str]] = [
    (_no_session, "NO_ACTIVE_SESSION"),
    (_unknown_session, "SESSION_NOT_FOUND"),
    (_no_spec, "SPEC_NOT_FOUND"),
    (_another_spec, "SPEC_NOT_FOUND"),
    (_two_sessions, "AMBIGUOUS_ACTIVE_SESSION"),
    (_second_start, "SPEC_SESSION_EXISTS"),
    (_resume_running, "INVALID_STATE_TRANSITION"),
    (_reset_running, "INVALID_STATE_TRANSITION"),
    (_damaged, "SESSION_UNRECOVERABLE"),
    (_made_up_cursor, "INVALID_CURSOR"),
    (_missing_report, "STEP_RESULT_REQUIRED"),
    (_report_of_another_step, "STEP_MISMATCH"),
    (_report_without_proof, "STEP_PROOF_REQUIRED"),
    (_report_with_a_forged_proof, "STEP_PROOF_INVALID"),
    (_report_after_its_time, "STEP_PROOF_EXPIRED"),
    (_another_report_on_the_same_step, "STEP_PROOF_CONFLICT"),
    (_change_of_another_deliverable, "AUTONOMY_WRITE_LOCK_ACTIVE"),
    (_verification_without_receipt, "VERIFICATION_RECEIPT_REQUIRED"),
    (_receipt_without_results, "VERIFICATION_RECEIPT_INVALID"),
    (_forged_evidence, "INVALID_GATE_EVIDENCE"),
    (_edited_verdict, "GATE_INTEGRITY_CHECKSUM"),
    (_skipped_gate, "REQUIRED_GATE_UNSATISFIED"),
    (_unacknowledged, "MANUAL_GATE_ACK_REQUIRED"),
    (_wrongly_acknowledged, "INVALID_GATE_ACK"),
    (_review_of_no_step, "STEP_MISMATCH"),
    (_changed_structure, "SPEC_REBASE_REQUIRED"),
    (_completed_work_is_gone, "REBASE_COMPLETED_TASKS_REMOVED"),
    (_sessions_folder_is_a_file, "STATE_UNWRITABLE"),
]


@pytest.mark.parametrize(("scene", "code"), SCENES)
def test_a_refusal_is_an_envelope_with_its_code(cli: Cli, scene: Scene, code: str) -> None:
    words = scene(cli)
    exit_code, envelope = cli.envelope(*words)
    data = envelope["data"]
    assert (exit_code, envelope["success"], data["error_code"]) == (1, False, code)
    assert data["error_type"] == CODES[ErrorCode(code)].error_type


@pytest.mark.parametrize(("scene", "code"), SCENES)
def test_a_refusal_tells_people_what_to_do(cli: Cli, scene: Scene, code: str) -> None:
    words = scene(cli)
    done = cli.people(*words)
    assert (done.code, done.out) == (1, "")
    first, second, *_ = done.err.replace("\n       (", " (").splitlines()
    assert first.startswith("Error: ")
    assert f"({code})" in done.err
    assert second.startswith("       ")


@pytest.mark.parametrize(
    "words",
    [
        ("session", "start", "--max-tasks-per-session", "0"),
        ("session", "start", "--max-tasks-per-session", "many"),
        ("session", "start", "--gate-policy", "lax"),
        ("session", "start", "--idempotency-key", "white space"),
        ("session", "list", "--limit", "101"),
        ("session", "list", "--status-filter", "asleep"),
        ("session", "reset"),
        ("session", "status", "--session-id", "../../etc/passwd"),
        ("step", "report"),
        ("step", "next", "--result", "{"),
        ("step", "next", "--result", "[]"),
        ("step", "next", "--result", "@/nonexistent/report.json"),
        ("step", "next", "--result", "@/"),
        ("step", "heartbeat"),
        ("step", "heartbeat", "--context-usage-pct", "101"),
        ("review", "gate"),
        ("task", "prepare"),
        ("task", "prepare", "Z-999"),
        ("task", "update-status", "A-001", "--status", "done"),
        ("journal", "add"),
        ("journal", "add", "--title", ""),
    ],
)
def test_a_malformed_value_is_a_validation_error(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli.refused(*words) == "VALIDATION_ERROR"


def test_a_held_lock_is_said_so(cli: Cli) -> None:
    session_id = cli.start()
    lock = cli.workspace / f".runner/autonomy/locks/session_{session_id}.lock"
    with locked(lock, 1.0):
        assert cli.refused("step", "next") == "LOCK_TIMEOUT"


def test_a_wrong_option_is_named_as_it_was_given(cli: Cli) -> None:
    done = cli.people("step", "heartbeat", "--context-usage-pct", "full")
    assert done.err.startswith("Error: --context-usage-pct: ")


def test_a_report_is_named_as_it_was_given(cli: Cli) -> None:
    done = cli.people("step", "next", "--result", "{}")
    assert done.err.startswith("Error: --result.step_id: ")


def test_parameters_are_named_as_options_also_inside_a_sentence(cli: Cli) -> None:
    cli.start()
    cli.next()
    missing_report = cli.people("step", "next").err
    missing_proof = cli.people("task", "complete", "A-001").err
    assert "pass it as --result." in " ".join(missing_report.split())
    assert "needs --autonomy-step-proof." in " ".join(missing_proof.split())


def test_a_refusal_names_the_command_that_shows_what_is_missing(cli: Cli) -> None:
    cli.start()
    cli.next()
    done = cli.people("step", "next")
    command = f"runner step replay --session-id {cli.session_id} --workspace {cli.workspace}"
    assert f"Next:  {command}" in done.err.replace(" \\\n         ", " ")


def test_a_recommended_run_means_the_project_that_was_named(cli: Cli) -> None:
    (cli.workspace / ".runner/status.json").unlink()
    _, envelope = cli.envelope("session", "start")
    plan, _ = envelope["data"]["recommended_actions"]
    assert plan["command"] == f"runner run --project-dir {cli.workspace}"


def test_warnings_of_an_answer_go_to_stderr(cli: Cli) -> None:
    cli.start()
    (cli.workspace / ".runner/status.json").write_text("{", encoding="utf-8")
    done = cli.people("session", "status")
    assert done.code == 0
    assert done.err.startswith("Warning: ")
