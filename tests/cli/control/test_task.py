"""`runner task`: views, and the changes that the write lock protects."""

import pytest
from tests.autonomy.plane import statuses
from tests.cli.control.kit import Cli


def test_list_shows_all_in_phase_order(cli: Cli) -> None:
    tasks = cli.ok("task", "list")["tasks"]
    assert [t["task_id"] for t in tasks] == ["A-001", "A-002", "B-001"]


def test_list_filters_and_is_bounded(cli: Cli) -> None:
    data = cli.ok("task", "list", "--status", "pending", "--phase-id", "p1", "--limit", "1")
    assert ([t["task_id"] for t in data["tasks"]], data["total_count"]) == (["A-001"], 2)


@pytest.mark.parametrize("words", [["A-001"], ["--task-id", "A-001"], ["A-001", "--task-id=A-001"]])
def test_prepare_takes_the_deliverable_with_or_without_its_name(cli: Cli, words: list[str]) -> None:
    assert cli.ok("task", "prepare", *words)["acceptance_criteria"] == ["it works"]


def test_two_different_deliverables_are_bad_usage(cli: Cli) -> None:
    code, envelope = cli.envelope("task", "prepare", "A-001", "--task-id", "A-002")
    assert (code, envelope["data"]["error_code"]) == (2, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["complete", "A-001"], "passed"),
        (["block", "A-001", "--reason", "no access"], "blocked"),
        (["update-status", "A-001", "--status", "passed"], "passed"),
        (["start", "A-001"], "pending"),
    ],
)
def test_without_a_session_a_deliverable_is_changed_freely(
    cli: Cli, words: list[str], status: str
) -> None:
    assert cli.ok("task", *words)["status"] == status
    assert statuses(cli.workspace)["A-001"] == status


def test_unblock_sets_a_blocked_deliverable_to_pending(cli: Cli) -> None:
    cli.ok("task", "block", "A-001")
    cli.ok("task", "unblock", "A-001")
    assert statuses(cli.workspace)["A-001"] == "pending"


@pytest.mark.parametrize("command", ["start", "complete", "block", "unblock"])
def test_a_live_session_wants_a_proof(cli: Cli, command: str) -> None:
    cli.start()
    cli.next()
    assert cli.refused("task", command, "A-001") == "STEP_PROOF_REQUIRED"


def test_the_proof_of_the_step_opens_the_lock_for_its_deliverable(cli: Cli) -> None:
    cli.start()
    token = cli.next()["step_proof_token"]
    words = ("A-001", "--autonomy-step-proof", token, "--session-id", cli.session_id)
    data = cli.ok("task", "complete", *words)
    assert (data["status"], data["session_id"]) == ("passed", cli.session_id)


def test_the_proof_can_stand_in_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.start()
    monkeypatch.setenv("AUTORUNNER_AUTONOMY_STEP_PROOF", cli.next()["step_proof_token"])
    assert cli.ok("task", "start", "A-001")["task_id"] == "A-001"


def test_the_instructions_of_a_step_work_literally(cli: Cli) -> None:
    cli.start()
    step = cli.next()
    for instruction in step["instructions"]:
        if instruction["tool"] != "task" or "command" in instruction:
            continue  # the report, which comes after them
        words = [instruction["tool"], instruction["action"], step["task_id"]]
        if instruction["action"] != "prepare":
            words += ["--autonomy-step-proof", step["step_proof_token"]]
        cli.ok(*words)
    assert cli.next(cli.report(step))["task_id"] == "A-002"


def test_list_for_people(cli: Cli) -> None:
    cli.ok("task", "block", "A-001")
    said = cli.text("task", "list", "--limit", "2")
    assert said.startswith(
        "STATUS     TASK   PHASE  TITLE\n"
        "[BLOCKED]  A-001  p1     Title of A-001\n"
        "[PENDING]  A-002  p1     Title of A-002\n"
        "1 more; --limit 3 shows all.\n"
        "\n"
        "Next: runner task prepare A-002"
    )


def test_prepare_for_people(cli: Cli) -> None:
    assert cli.text("task", "prepare", "A-001") == (
        "A-001: Title of A-001\n"
        "Status  pending\n"
        "Phase   p1: Phase p1\n"
        "\n"
        "Acceptance criteria\n"
        "  - it works\n"
    )
