"""`runner step` and `runner review`: the hot path from the command line."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli.control.kit import Cli, gate_words, receipt


def _pasted(said: str) -> list[str]:
    """Return the arguments of the last command that the text says comes next."""
    command = said[said.rindex("runner ") :].replace("\\\n", " ")
    return shlex.split(command)[1:]


def test_next_has_all_fields_of_the_contract(cli: Cli) -> None:
    cli.start()
    data = cli.ok("step", "next")
    assert set(data) >= {
        "session_id", "status", "state_version", "next_step", "loop_signal",
        "recommended_actions", "pause_reason", "failure_reason", "details",
    }  # fmt: skip
    assert set(data["next_step"]) >= {
        "step_id", "type", "phase_id", "task_id", "task_title", "instructions",
        "step_proof_token", "step_proof_expires_at",
    }  # fmt: skip


def test_a_spec_is_driven_to_its_end(cli: Cli) -> None:
    cli.start()
    step, types = cli.next(), []
    while step["type"] != "complete_spec":
        types.append(step["type"])
        step = cli.next(cli.report(step))
    assert types == [
        "implement_task", "implement_task", "execute_verification", "run_fidelity_gate",
        "implement_task", "run_fidelity_gate",
    ]  # fmt: skip
    done = cli.ok("session", "status", "--session-id", cli.session_id)
    assert (done["status"], done["session_signal"]) == ("completed", "spec_complete")


def test_a_report_can_stand_in_a_file(cli: Cli, tmp_path: Path) -> None:
    cli.start()
    file = tmp_path / "report.json"
    file.write_text(json.dumps(cli.report(cli.next())), encoding="utf-8")
    assert cli.ok("step", "next", "--result", f"@{file}")["next_step"]["task_id"] == "A-002"


def test_a_report_can_come_from_standard_input(cli: Cli) -> None:
    cli.start()
    report = json.dumps(cli.report(cli.next())).encode()
    data = cli.ok("step", "next", "--result", "-", stdin=report)
    assert data["next_step"]["task_id"] == "A-002"


def test_report_leaves_the_next_step_to_next(cli: Cli) -> None:
    cli.start()
    report = json.dumps(cli.report(cli.next()))
    assert cli.ok("step", "report", "--result", report)["next_step"] is None
    assert cli.next()["task_id"] == "A-002"


def test_a_report_that_says_two_things_is_refused(cli: Cli) -> None:
    cli.start()
    report = json.dumps(cli.report(cli.next()))
    twice = report.replace('"outcome"', '"outcome": "failure", "outcome"')
    _, envelope = cli.envelope("step", "report", "--result", twice)
    assert envelope["error"] == "--result is not JSON: a key stands twice in one object."


def test_replay_gives_the_last_answer_unchanged(cli: Cli) -> None:
    cli.start()
    issued = cli.ok("step", "next")
    assert cli.ok("step", "replay") == issued


def test_the_identical_report_gets_the_identical_answer(cli: Cli) -> None:
    cli.start()
    report = json.dumps(cli.report(cli.next()))
    assert cli.ok("step", "next", "--result", report) == cli.ok("step", "next", "--result", report)


def test_a_heartbeat_is_noted(cli: Cli) -> None:
    cli.start()
    cli.ok(
        "step", "heartbeat", "--context-usage-pct", "45", "--estimated-tokens-used", "9000",
        "--consecutive-error-delta", "-1", "--last-completed-task-id", "A-001",
    )  # fmt: skip
    view = cli.ok("session", "status")
    assert view["context_usage_pct"] == 45
    assert view["last_heartbeat_at"] is not None


def test_a_full_context_pauses_with_a_signal_and_a_way_on(cli: Cli) -> None:
    cli.start()
    cli.ok("step", "heartbeat", "--context-usage-pct", "90")
    data = cli.ok("step", "next")
    assert (data["pause_reason"], data["loop_signal"]) == (
        "context_limit",
        "paused_needs_attention",
    )
    done = cli.run(*shlex.split(data["recommended_actions"][0]["command"])[1:], "--json")
    assert json.loads(done.out)["data"]["status"] == "running"


def test_a_review_is_recorded_with_its_findings(cli: Cli) -> None:
    cli.start()
    step = cli.until("run_fidelity_gate")
    findings = [{"severity": "major", "title": "Nothing is tested", "detail": "At all."}]
    data = cli.ok(
        "review", "gate", "--session-id", cli.session_id, *gate_words(step),
        "--verdict", "fail", "--findings", json.dumps(findings), "--review-path", "review.md",
    )  # fmt: skip
    assert (data["verdict"], data["gate_passed_preview"]) == ("fail", False)
    assert data["findings"][0]["title"] == "Nothing is tested"


def test_a_failed_review_leads_to_its_findings(cli: Cli) -> None:
    cli.start()
    step = cli.until("run_fidelity_gate")
    findings = [{"severity": "major", "title": "Nothing is tested"}]
    evidence = cli.ok(
        "review", "gate", *gate_words(step), "--verdict", "fail",
        "--findings", "-", stdin=json.dumps(findings).encode(),
    )  # fmt: skip
    keys = ("gate_attempt_id", "gate_evidence_token")
    report = cli.report(step, "failure") | {"outcome": "success"}
    following = cli.next(report | {key: evidence[key] for key in keys})
    assert following["type"] == "address_fidelity_feedback"
    assert following["findings"][0]["title"] == "Nothing is tested"


def test_a_manual_gate_is_acknowledged_with_the_recommended_command(cli: Cli) -> None:
    cli.start("--gate-policy", "manual")
    step = cli.until("run_fidelity_gate")
    data = cli.ok("step", "next", "--result", json.dumps(cli.report(step)))
    assert data["pause_reason"] == "gate_review_required"
    command = next(a["command"] for a in data["recommended_actions"] if a["action"] != "inspect")
    resumed = cli.run(*shlex.split(command)[1:], "--json")
    assert json.loads(resumed.out)["data"]["phase_gates"]["p1"]["status"] == "passed"


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_the_command_that_a_step_shows_reports_it(cli: Cli, outcome: str) -> None:
    cli.start()
    words = _pasted(cli.text("step", "next"))
    words[words.index("--result") + 1] = words[words.index("--result") + 1].replace(
        '"success"', f'"{outcome}"'
    )
    data = json.loads(cli.run(*words, "--json").out)["data"]
    assert data["next_step"]["task_id"] == {"success": "A-002", "failure": "A-001"}[outcome]


def test_a_gate_step_shows_the_command_that_reviews_it(cli: Cli) -> None:
    cli.start()
    cli.until("run_fidelity_gate")
    said = cli.text("step", "replay")
    start = said.index("runner review")
    command = said[start : said.index("Then", start)].replace("\\\n", " ")
    done = cli.run(*shlex.split(command)[1:], "--verdict", "pass", "--json")
    assert json.loads(done.out)["data"]["gate_passed_preview"] is True


def test_a_verification_step_shows_its_commands_with_their_hashes(cli: Cli) -> None:
    cli.start()
    step = cli.until("execute_verification")
    said = cli.text("step", "replay")
    assert "  $ make test\n" in said
    assert step["commands"][0]["command_hash"] in said


def test_a_completed_spec_says_so(cli: Cli) -> None:
    cli.start("--no-gates-required")
    step = cli.next()
    while step["type"] != "complete_spec":
        step = cli.next(cli.report(step))
    said = cli.text("step", "replay", "--session-id", cli.session_id)
    assert "is completed.\nAll achievable deliverables have passed.\n" in said


def test_a_pause_says_why_and_how_to_go_on(cli: Cli) -> None:
    cli.start()
    cli.ok("step", "heartbeat", "--context-usage-pct", "90")
    said = cli.text("step", "next")
    assert "paused (context_limit)" in said
    assert "90%" in said
    assert f"Next: runner session resume --session-id {cli.session_id}" in said


def test_a_receipt_with_a_failed_command_is_no_success(cli: Cli) -> None:
    cli.start()
    step = cli.until("execute_verification")
    report: dict[str, Any] = cli.report(step, verification_receipt=receipt(step, exit_code=2))
    assert cli.refused("step", "next", "--result", json.dumps(report)) == (
        "VERIFICATION_RECEIPT_INVALID"
    )
