"""What the words of refusals are on the command line; every code has its row in test_codes.py."""

from pathlib import Path

import pytest
from tests.cli.control.kit import Cli
from tests.cli.control.refusals import VARIANTS, Scene

from runner.autonomy.codes import ErrorCode


@pytest.mark.parametrize(("scene", "code"), VARIANTS)
def test_there_are_more_ways_to_a_code(cli: Cli, scene: Scene, code: ErrorCode) -> None:
    assert cli.refused(*scene(cli)) == code


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


def test_a_report_in_a_file_that_is_not_there_is_a_validation_error(
    cli: Cli, tmp_path: Path
) -> None:
    assert cli.refused("step", "next", "--result", f"@{tmp_path}/report.json") == "VALIDATION_ERROR"


def test_a_wrong_option_is_named_as_it_was_given(cli: Cli) -> None:
    done = cli.people("step", "heartbeat", "--context-usage-pct", "full")
    assert done.err.startswith("Error: --context-usage-pct must be ")


def test_a_report_is_named_as_it_was_given(cli: Cli) -> None:
    done = cli.people("step", "next", "--result", "{}")
    assert done.err.startswith("Error: --result.step_id is missing")


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
