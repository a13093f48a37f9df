"""`runner run` on the control plane, as a user sees it: gates, receipts, mending, resuming."""

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import PASS_ALL, PASS_BOUND, PLAN_ONE, PLAN_TWO, REVIEW_PASS, VERIFY

pytestmark = pytest.mark.e2e

PLAN = """
[[session]]
instruction = "initializer"

[[session.turn]]
text = "Planning."

[[session.turn.tools]]
name = "mcp__runner__create"

[[session.turn.tools.input.deliverables]]
id = "CLI-001"
description = "a first file"
acceptanceCriteria = ["CLI-001.txt exists"]
phase = "one"
verification = ["grep -q hello CLI-001.txt"]

[[session.turn.tools.input.deliverables]]
id = "CLI-002"
description = "needs a key that is not here"
acceptanceCriteria = ["it works"]
phase = "two"

[[session.turn.tools.input.deliverables]]
id = "CLI-003"
description = "a third file"
acceptanceCriteria = ["CLI-003.txt and mended.txt exist"]
phase = "two"
dependsOn = ["CLI-001"]
verification = ["grep -q hello CLI-003.txt && grep -q x mended.txt"]

[[session.turn.tools.input.deliverables]]
id = "CLI-004"
description = "a fourth file"
acceptanceCriteria = ["CLI-004.txt exists"]
phase = "three"
dependsOn = ["CLI-003"]

[[session.turn]]
text = "Planned."

[[session]]
instruction = "coding"
task = "CLI-002"
repeat = true

[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "CLI-002", status = "blocked", reason = "There is no API key here." } }]

[[session.turn]]
text = "There is no key here."
"""


def mend(file: str) -> str:
    """Return a mending session that writes a file."""
    return f"""
[[session]]
instruction = "remediate"

[[session.turn]]
tools = [{{ name = "Write", input = {{ file_path = "{{{{project}}}}/{file}", content = "x\\n" }} }}]

[[session.turn]]
text = "Mended."
"""


def review(phase: str, verdict: str) -> str:
    """Return a review session that finds one thing wrong."""
    return f"""
[[session]]
instruction = "review"
phase = "{phase}"

[[session.turn]]

[[session.turn.tools]]
name = "mcp__runner__submit_review"

[session.turn.tools.input]
verdict = "{verdict}"
summary = "Something is wrong."
findings = [{{ severity = "major", title = "Not good", detail = "Look again.", file = "a.txt" }}]

[[session.turn]]
text = "Reviewed."
"""


STORY = (
    PLAN
    + PASS_ALL
    + mend("mended.txt")
    + mend("better.txt")
    + mend("best.txt")
    + review("two", "fail")
    + review("three", "warn")
    + REVIEW_PASS
)


STEPS = [
    ("implement_task", "CLI-001", "success"),
    ("execute_verification", "one", "success"),
    ("run_fidelity_gate", "one", "success"),
    ("implement_task", "CLI-002", "skipped"),
    ("implement_task", "CLI-003", "success"),
    ("execute_verification", "two", "success"),
    ("run_fidelity_gate", "two", "success"),
    ("address_fidelity_feedback", "two", "success"),
    ("execute_verification", "two", "success"),
    ("run_fidelity_gate", "two", "success"),
    ("implement_task", "CLI-004", "success"),
    ("run_fidelity_gate", "three", "success"),
    ("address_fidelity_feedback", "three", "success"),
    ("run_fidelity_gate", "three", "success"),
    ("execute_verification", "one", "success"),
    ("execute_verification", "two", "success"),
]
"""What the journal of an undisturbed run says of each step."""


def _accepted(ours: Project) -> list[tuple[str, str, str]]:
    """Return each report that was accepted, in order, by the journals."""
    steps = []
    for journal in (ours.path / ".runner" / "autonomy" / "journal").glob("*.jsonl"):
        for line in journal.read_text(encoding="utf-8").splitlines():
            data = json.loads(line).get("data") or {}
            if "outcome" in data and "step_type" in data:
                subject = data.get("task_id") or data["phase_id"]
                steps.append((data["step_type"], subject, data["outcome"]))
    return steps


@pytest.mark.timeout(300)
def test_three_phases_with_blocked_failing_and_doubtful_work_end_well(tmp_path: Path) -> None:
    with project(tmp_path, STORY) as ours:
        result = ours.result()
        receipts = list((ours.path / ".runner" / "autonomy" / "receipts").rglob("receipt.json"))
        passed = ours.passed()
        steps = _accepted(ours)
    assert (result["exit_reason"], result["exit_code"]) == ("partly_passed", 3)
    assert passed == ["CLI-001", "CLI-003", "CLI-004"]
    assert result["blocked"] == [{"id": "CLI-002", "reason": "There is no API key here."}]
    assert steps == STEPS
    assert result["blocked_ids"] == ["CLI-002"]
    assert result["loop_signal"] == "spec_complete"
    assert result["gates"] == [
        {"phase_id": "one", "verdict": "pass", "cycles": 1},
        {"phase_id": "two", "verdict": "pass", "cycles": 2},
        {"phase_id": "three", "verdict": "pass", "cycles": 2},
    ]
    assert len(receipts) >= 4


def test_a_run_for_one_phase_says_so_and_exits_with_0(tmp_path: Path) -> None:
    with project(tmp_path, STORY) as ours:
        result = ours.result("--one-phase")
        passed = ours.passed()
    assert (result["exit_reason"], result["exit_code"]) == ("phase_complete", 0)
    assert (result["loop_signal"], passed) == ("phase_complete", ["CLI-001"])


def test_under_the_manual_policy_the_run_stops_with_the_command_to_go_on(tmp_path: Path) -> None:
    with project(tmp_path, STORY) as ours:
        result = ours.result("--gate-policy", "manual")
    assert (result["exit_reason"], result["exit_code"]) == ("paused", 3)
    assert result["pause_reason"] == "gate_review_required"
    commands = [action.get("command") or "" for action in result["recommended_actions"]]
    assert any("--acknowledge-gate-review" in command for command in commands)


SUBMIT_FROM_CODING = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
tools = [{ name = "mcp__runner__submit_review", input = { verdict = "pass", summary = "Mine is good.", findings = [] } }]

[[session.turn]]
text = "I have reviewed myself."
"""


def test_a_coding_session_can_not_submit_a_review(tmp_path: Path) -> None:
    with project(tmp_path, PLAN + SUBMIT_FROM_CODING) as ours:
        result = ours.result()
        passed = ours.passed()
    assert (result["exit_reason"], passed, result["gates"]) == ("stalled", [], [])


WRITE_STATE = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
tools = [{ name = "Write", input = { file_path = "{{project}}/.runner/status.json", content = "{}" } }]

[[session.turn]]
tools = [{ name = "Bash", input = { command = "echo x >> .runner/autonomy/journal.jsonl" } }]

[[session.turn]]
text = "I tried."
"""


def test_an_agent_that_writes_state_gets_nowhere(tmp_path: Path) -> None:
    with project(tmp_path, PLAN + WRITE_STATE) as ours:
        result = ours.result("--max-consecutive-errors", "1")
        passed = ours.passed()
    assert (result["exit_reason"], result["exit_code"], passed) == ("stalled", 3, [])


def _kill_group(ours: Project, line_with: str) -> None:
    """Start a run and kill all of it once a line is printed."""
    running = ours.start("--output-format", "stream-json")
    assert running.stdout is not None
    for line in running.stdout:
        if line_with in line:
            break
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)


@pytest.mark.timeout(300)
def test_a_run_that_was_killed_goes_on_and_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    with project(tmp_path, STORY) as ours:
        _kill_group(ours, "Verification of one")
        result = ours.result()
        passed = ours.passed()
    assert (result["exit_reason"], passed) == ("partly_passed", ["CLI-001", "CLI-003", "CLI-004"])


def test_without_gates_phases_are_verified_and_not_reviewed(tmp_path: Path) -> None:
    with project(tmp_path, STORY) as ours:
        result = ours.result("--no-gates", "--posture", "supervised")
        steps = _accepted(ours)
    assert (result["exit_reason"], result["gates"]) == ("partly_passed", [])
    assert {kind for kind, _, _ in steps} == {"implement_task", "execute_verification"}


def test_an_agent_is_reused_for_the_next_deliverable_with_its_context(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + PASS_BOUND) as ours:
        result = ours.result("--reuse-session")
        asked = [r.messages for r in ours.model.requests if "task=CLI-002" in str(r.messages)]
    assert result["exit_reason"] == "all_passed"
    assert "task=CLI-001" in str(asked[0])


def test_the_session_is_told_how_full_the_agents_context_is(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + PASS_BOUND) as ours:
        ours.result("--reuse-session", "-n", "2")
        told = json.loads(ours.run("status", "--json", command="session").stdout)["data"]
    assert told["last_heartbeat_at"] is not None
    assert 0 < told["context_usage_pct"] < 85


def test_commands_of_the_configuration_close_every_phase(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        (ours.path / ".runner").mkdir()
        (ours.path / ".runner" / "runner.toml").write_text(
            '[verification]\ncommands = ["grep -q hello CLI-001.txt"]\n', encoding="utf-8"
        )
        ours.result()
        receipts = (ours.path / ".runner" / "autonomy" / "receipts").rglob("receipt.json")
        (receipt,) = [json.loads(path.read_text(encoding="utf-8")) for path in receipts]
    (ran,) = receipt["results"]
    assert (ran["exit_code"], len(ran["output_digest"])) == (0, 64)


def _asked_about(ours: Project, task: str) -> int:
    """Return how often the model was asked in coding sessions of a deliverable."""
    firsts = [str(request.messages[0]) for request in ours.model.requests]
    return sum("instruction=coding" in text and f"task={task}" in text for text in firsts)


def test_what_was_passed_before_a_kill_is_reported_without_another_session(
    tmp_path: Path,
) -> None:
    hangs = PASS_ALL.replace("repeat = true\n", "").replace(
        'text = "Done', 'delay_ms = 60000\ntext = "Done'
    )
    with project(tmp_path, PLAN_TWO + hangs + PASS_BOUND) as ours:
        _kill_group(ours, "CLI-001 is now passed")
        ours.wait_until_gone(10)
        before = (ours.passed(), _asked_about(ours, "CLI-001"))
        result = ours.result()
        asked = _asked_about(ours, "CLI-001")
    assert (before, result["exit_reason"]) == (([], asked), "all_passed")


SYNC_NOTHING_NEW = """
[[session]]
instruction = "sync"

[[session.turn]]
text = "The plan covers it."
"""


def test_an_edited_spec_stops_the_run_until_a_sync_has_taken_it_over(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + PASS_BOUND + SYNC_NOTHING_NEW + VERIFY) as ours:
        ours.run("-n", "2")
        (ours.path / "SPEC.md").write_text("# greeter\n\nIt says hello twice.\n", encoding="utf-8")
        stopped = ours.run()
        synced = ours.run(command="sync")
        result = ours.result()
        steps = _accepted(ours)
    assert (stopped.returncode, synced.returncode) == (7, 0)
    assert "runner sync" in stopped.stdout
    assert result["exit_reason"] == "all_passed"
    assert [subject for kind, subject, _ in steps if kind == "implement_task"] == [
        "CLI-001",
        "CLI-002",
    ]


def test_what_a_person_acknowledges_is_gone_on_with_by_the_commands_that_are_named(
    tmp_path: Path,
) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        paused = ours.result("--gate-policy", "manual")
        (command,) = [
            action["command"]
            for action in paused["recommended_actions"]
            if action["action"] == "acknowledge"
        ]
        group, *words = shlex.split(command)[1:]
        acknowledged = ours.run(*words, command=group)
        result = ours.result()
    assert acknowledged.returncode == 0
    assert "Next: runner run\n" in acknowledged.stdout
    assert (result["exit_reason"], result["gates"][0]["verdict"]) == ("all_passed", "pass")


def test_work_that_was_rolled_back_after_its_review_is_judged_again(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        subprocess.run(["git", "init", "-q"], cwd=ours.path, check=True)
        ours.result()
        (ours.path / "CLI-001.txt").write_text("spoilt\n", encoding="utf-8")
        listed = json.loads(ours.run("--list", "--json", command="rollback").stdout)
        last = listed["checkpoints"][-1]["name"]
        rolled = ours.run("--to", last, "--yes", command="rollback")
        before = _reviews(ours)
        result = ours.result()
        after = _reviews(ours)
    assert rolled.returncode == 0, rolled.stderr
    assert (result["exit_reason"], after > before) == ("all_passed", True)


def _reviews(ours: Project) -> int:
    return sum("instruction=review" in str(r.messages[0]) for r in ours.model.requests)
