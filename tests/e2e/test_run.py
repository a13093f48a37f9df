"""`runner run` as a user sees it: the real agent, a scripted model."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.harness import SPEC, Project, project
from tests.e2e.scripts import PASS_BOUND, PLAN_TWO, TALK_ONLY, failing

pytestmark = pytest.mark.e2e


@dataclass(frozen=True)
class Run:
    """A run that came to its end, and the project that it left."""

    ours: Project
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run in which everything passed; the tests that share it only look at it."""
    with project(tmp_path_factory.mktemp("good"), PLAN_TWO + PASS_BOUND) as ours:
        yield Run(ours, ours.run())


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The same as a stream of JSON, where the environment holds what might be a secret."""
    with project(tmp_path_factory.mktemp("streamed"), PLAN_TWO + PASS_BOUND) as ours:
        ours.environment["MY_TOKEN"] = "hello-is-not-a-secret"
        yield Run(ours, ours.run("--output-format", "stream-json"))


def test_a_spec_runs_to_all_passed_and_exits_with_0(good: Run) -> None:
    assert (good.done.returncode, good.ours.passed()) == (0, ["CLI-001", "CLI-002"])


def test_the_output_of_a_good_run_ends_with_the_overall_line(good: Run) -> None:
    lines = good.done.stdout.splitlines()
    assert "[PASS] CLI-001 greet.py prints hello" in lines
    assert lines[-3].startswith("Overall: 4 session(s), 2/2 deliverables passed, cost=$")
    assert lines[-2] == "All achievable deliverables passed"
    assert "closed by review alone" in lines[-1]


def test_a_pipe_gets_no_control_characters(good: Run) -> None:
    text = good.done.stdout + good.done.stderr
    assert text
    assert not [c for c in text if c < " " and c != "\n"]


def test_a_run_after_success_asks_the_model_nothing(good: Run) -> None:
    before = len(good.ours.model.requests)
    again = good.ours.run()
    assert (again.returncode, len(good.ours.model.requests)) == (0, before)


def test_a_model_that_passes_nothing_ends_at_the_iteration_limit(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + TALK_ONLY) as ours:
        done = ours.run("-n", "2", "--output-format", "json")
        result = json.loads(done.stdout)
    assert (done.returncode, result["exit_reason"], result["iterations"]) == (
        4,
        "max_iterations",
        2,
    )


def test_a_refused_key_ends_the_run_at_once_and_says_so(tmp_path: Path) -> None:
    with project(tmp_path, failing(401, "authentication_error")) as ours:
        done = ours.run(timeout=30)
        assert done.returncode == 1
        assert "refused the key" in done.stderr
        assert len(ours.model.requests) <= 2


def test_a_failing_api_is_tried_again_and_then_given_up(tmp_path: Path) -> None:
    with project(tmp_path, failing(500, "api_error")) as ours:
        ours.environment["CLAUDE_CODE_MAX_RETRIES"] = "1"
        done = ours.run("--max-retries", "1", "--output-format", "json")
        result = json.loads(done.stdout)
    assert (done.returncode, result["exit_reason"]) == (1, "max_retries_exceeded")
    assert result["agent_sessions"] == 2


BOTH_AT_ONCE = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
tools = [
  { name = "mcp__runner__set_status", input = { deliverableId = "CLI-001", status = "passed" } },
  { name = "mcp__runner__set_status", input = { deliverableId = "CLI-002", status = "passed" } },
]

[[session.turn]]
text = "Marked both."
"""


def test_a_session_can_not_pass_another_deliverable_than_its_own(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + BOTH_AT_ONCE) as ours:
        ours.run("-n", "2")
        assert ours.passed() == ["CLI-001"]


def test_stream_json_is_one_object_per_line_and_ends_with_the_result(streamed: Run) -> None:
    objects = [json.loads(line) for line in streamed.done.stdout.splitlines()]
    assert objects[-1]["type"] == "result"
    assert objects[-1]["exit_reason"] == "all_passed"


def test_the_log_that_the_startup_display_names_ends_with_the_result(streamed: Run) -> None:
    events = [json.loads(line) for line in streamed.done.stdout.splitlines()]
    path = streamed.ours.path / dict(events[0]["facts"])["Log"]
    logged = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [event["type"] for event in logged] == [event["type"] for event in events]
    assert logged[-1]["exit_reason"] == "all_passed"


def test_status_json_has_the_form_of_the_contract(good: Run) -> None:
    status = good.ours.status
    assert status["specId"] == "project"
    assert status["deliverables"][0] == {
        "id": "CLI-001",
        "description": "greet.py prints hello",
        "acceptanceCriteria": ["python3 greet.py prints hello"],
        "passed": True,
        "blocked": False,
    }


def _usage_error(ours: Project, *arguments: str) -> str:
    done = ours.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0"], "Max iterations must be positive, got 0"),
        (["--max-retries", "-1"], "Max retries must be non-negative, got -1"),
        (["--thinking", "1023"], "Thinking budget must be at least 1024 tokens, got 1023"),
        (["-p", "nowhere"], "Project directory not found"),
        (["--max-cost", "0"], "Max cost must be a positive amount"),
        (["--replay", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_wrong_option_is_refused_with_the_reason(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    with project(tmp_path, PLAN_TWO) as ours:
        assert message in _usage_error(ours, *arguments)


def test_a_missing_spec_is_named_with_its_folder(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO) as ours:
        (ours.path / "SPEC.md").unlink()
        assert f"SPEC.md not found in {ours.path}" in _usage_error(ours)


def test_a_damaged_status_file_ends_the_run_and_stays_as_it_is(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + PASS_BOUND, spec=SPEC) as ours:
        file = ours.path / ".runner" / "status.json"
        file.parent.mkdir()
        file.write_text('{"deliverables": [', encoding="utf-8")
        done = ours.run()
        assert (done.returncode, str(file) in done.stderr) == (2, True)
        assert file.read_text(encoding="utf-8") == '{"deliverables": ['
        assert ours.model.requests == []


@pytest.mark.parametrize("arguments", [["-p", "nowhere"], ["--bogus"], ["-n", "0"]])
def test_what_never_began_is_a_json_result_too(tmp_path: Path, arguments: list[str]) -> None:
    with project(tmp_path, PLAN_TWO) as ours:
        done = ours.run("--output-format", "json", *arguments)
    result = json.loads(done.stdout)
    assert (result["exit_reason"], result["exit_code"]) == ("error", 2)


def test_a_wrong_override_is_found_before_anything_is_paid_for(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + PASS_BOUND) as ours:
        (ours.path / ".runner").mkdir()
        (ours.path / ".runner" / "coding.md").write_text("", encoding="utf-8")
        assert "coding.md is empty" in _usage_error(ours)
        assert ours.model.requests == []


BREAK_STATE = """
[[session]]
instruction = "coding"

[[session.turn]]
tools = [{ name = "Bash", input = { command = "sleep 2" } }]

[[session.turn]]
text = "Slept."
"""


def test_an_error_in_mid_run_keeps_what_was_done_and_spent(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_TWO + BREAK_STATE) as ours:
        running = ours.start("--output-format", "stream-json")
        assert running.stdout is not None
        for line in running.stdout:
            if "session_started" in line and "coding" in line:
                (ours.path / ".runner" / "status.json").write_text("{", encoding="utf-8")
                break
        rest, _ = running.communicate(timeout=60)
        results = [text for text in rest.splitlines() if text.startswith('{"type": "result"')]
        result = json.loads(results[-1])
    assert (result["exit_reason"], result["iterations"]) == ("error", 2)
    assert result["total_cost_usd"] > 0


def test_a_conversation_that_left_its_script_is_told_with_the_place(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(PLAN_TWO + PASS_BOUND.replace("repeat = true", ""), "utf-8")
    with project(tmp_path, PLAN_TWO) as ours:
        done = ours.run("--replay", str(script), "-n", "3")
    assert done.returncode == 4
    assert "left the script 1 time; first:" in done.stderr
    assert "CLI-002" in done.stderr
