"""What a run must not believe: a plan, a block, and that what was once verified still is."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import REVIEW_PASS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def planning(*ids: str) -> str:
    """Return a planning session; ids that end in 1 belong to phase one, others to phase two."""
    deliverables = "".join(
        f"""
[[session.turn.tools.input.deliverables]]
id = "{name}"
description = "a file {name}.txt that says hello"
acceptanceCriteria = ["{name}.txt says hello"]
phase = "{"one" if name.endswith("1") else "two"}"
verification = ["grep -q hello {name}.txt"]
"""
        for name in ids
    )
    return f"""
[[session]]
instruction = "initializer"

[[session.turn]]

[[session.turn.tools]]
name = "mcp__runner__create"
{deliverables}
[[session.turn]]
text = "Planned."
"""


def coding(task: str, *files: tuple[str, str], blocked: bool = False) -> str:
    """Return a coding session that writes files, and passes or blocks its deliverable."""
    written = ", ".join(
        f'{{ name = "Bash", input = {{ command = "echo {text} > {name}" }} }}'
        for name, text in files
    )
    work = f"[[session.turn]]\ntools = [{written}]\n" if files else ""
    status = (
        'status = "blocked", reason = "There is no printer in this machine."'
        if blocked
        else 'status = "passed"'
    )
    return f"""
[[session]]
instruction = "coding"
task = "{task}"

{work}
[[session.turn]]
tools = [{{ name = "mcp__runner__set_status", input = {{ deliverableId = "{task}", {status} }} }}]

[[session.turn]]
text = "That is {task}."
"""


def reviewing(keys: str, title: str, about: str = "") -> str:
    """Return a review that fails with one finding."""
    named = f', deliverableId = "{about}"' if about else ""
    return f"""
[[session]]
instruction = "review"
{keys}

[[session.turn]]
tools = [{{ name = "mcp__runner__submit_review", input = {{ verdict = "fail", summary = "No.", findings = [{{ severity = "critical", title = "{title}", detail = "See SPEC.md."{named} }}] }} }}]

[[session.turn]]
text = "Reviewed."
"""


def mending(name: str) -> str:
    return f"""
[[session]]
instruction = "remediate"

[[session.turn]]
tools = [{{ name = "Bash", input = {{ command = "echo hello > {name}" }} }}]

[[session.turn]]
text = "Mended."
"""


PLAN_PASS = """
[[session]]
instruction = "review"
scope = "plan"

[[session.turn]]
tools = [{ name = "mcp__runner__submit_review", input = { verdict = "pass", summary = "Complete now; SPEC.md must stay without that word, so CLI-002 may pass already.", findings = [] } }]

[[session.turn]]
text = "Reviewed."
"""

# It passes whatever is built, and no list of programs knows that.
ALWAYS_GREEN = "! grep -q goodbye SPEC.md"

STORY = (
    planning("CLI-001", "CLI-002").replace("grep -q hello CLI-002.txt", ALWAYS_GREEN)
    + reviewing('scope = "plan"', "The third file is left out")
    + planning("CLI-003")
    + PLAN_PASS
    + coding("CLI-001", ("CLI-001.txt", "hello"))
    + coding("CLI-002", ("CLI-002.txt", "hello"), ("CLI-001.txt", "broken"))
    + coding("CLI-003", blocked=True)
    + reviewing('phase = "two"', "No printer is needed for a file", "CLI-003")
    + coding("CLI-003", ("CLI-003.txt", "hello"))
    + mending("CLI-001.txt")
    + REVIEW_PASS
)


def run(ours: Project, *arguments: str) -> dict[str, Any]:
    """Run with plans reviewed, as users do."""
    del ours.environment["AUTORUNNER_PLAN_REVIEW"]
    return ours.result(*arguments)


def markers(ours: Project) -> list[str]:
    """Return what each agent session was for."""
    found: dict[str, None] = {}
    for request in ours.model.requests:
        for line in str(request.messages).split("<!-- runner: ")[1:2]:
            found.setdefault(line.split(" -->")[0])
    return list(found)


class Told:
    """What a run did, kept for several tests."""

    def __init__(self, folder: Path) -> None:
        with project(folder, STORY) as ours:
            self.result = run(ours)
            self.markers = markers(ours)
            self.passed = ours.passed()
            self.prompts = [str(request.messages) for request in ours.model.requests]
            folders = (ours.path / ".runner/autonomy/receipts/baseline").glob("*/commands.json")
            self.tried = [sorted(json.loads(f.read_text())) for f in sorted(folders)]
            self.broken = (ours.path / "CLI-001.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("trusted"))


def test_a_plan_that_leaves_something_out_is_corrected_before_work_begins(told: Told) -> None:
    kinds = [marker.split()[0].partition("=")[2] for marker in told.markers[:5]]
    assert kinds == ["initializer", "review", "initializer", "review", "coding"]
    assert "The third file is left out" in "".join(told.prompts)


def test_the_reviewer_of_the_plan_learns_which_commands_pass_before_any_work(told: Told) -> None:
    request = next(p for p in told.prompts if "scope=plan" in p)
    assert "- CLI-001: command 1 of 1 fails, as it should" in request
    assert "- CLI-002: EVERY command passes without the work" in request


def test_the_reviewer_of_the_work_and_the_user_learn_what_is_not_proved(told: Told) -> None:
    request = next(p for p in told.prompts if "scope=spec" in p)
    assert "- CLI-002: EVERY command passes without the work" in request
    assert "of CLI-002 passed before the work began" in told.result["hint"]


def test_commands_are_run_once_before_any_work_and_those_of_a_correction_after_it(
    told: Told,
) -> None:
    assert told.tried == [
        [ALWAYS_GREEN, "grep -q hello CLI-001.txt"],
        ["grep -q hello CLI-003.txt"],
    ]


def test_an_unfounded_block_is_worked_on(told: Told) -> None:
    assert sum("task=CLI-003" in marker for marker in told.markers) == 2
    assert "There is no printer in this machine." in "".join(told.prompts)


def test_a_phase_that_later_work_broke_is_mended_before_the_run_passes(told: Told) -> None:
    assert told.broken == "hello\n"
    assert any("instruction=remediate" in m and "phase=one" in m for m in told.markers)


def test_a_run_passes_only_then(told: Told) -> None:
    assert (told.result["exit_reason"], told.result["exit_code"]) == ("all_passed", 0), told.result
    assert told.passed == ["CLI-001", "CLI-002", "CLI-003"]


def test_the_last_review_is_about_the_whole_specification(told: Told) -> None:
    scopes = [m.rpartition("scope=")[2] for m in told.markers if "instruction=review" in m]
    assert scopes == ["plan", "plan", "phase", "spec", "spec", "spec"]


@pytest.mark.storm
def test_a_plan_that_is_never_accepted_is_not_worked_on(tmp_path: Path) -> None:
    script = planning("CLI-001") + reviewing('scope = "plan"\nrepeat = true', "It is left out")
    with project(tmp_path, script + planning("CLI-002")) as ours:
        result = run(ours)
        seen = markers(ours)
    assert (result["exit_reason"], result["exit_code"]) == ("paused", 3)
    assert not [marker for marker in seen if "instruction=coding" in marker]
    commands = [action["command"] for action in result["recommended_actions"]]
    assert "runner run --no-plan-review" in commands


@pytest.mark.storm
def test_the_hard_deliverable_alone_in_its_phase_and_blocked_is_no_success(tmp_path: Path) -> None:
    script = (
        planning("CLI-001", "CLI-002")
        + coding("CLI-001", ("CLI-001.txt", "hello"))
        + coding("CLI-002", blocked=True)
        + REVIEW_PASS
    )
    with project(tmp_path, script) as ours:
        result = run(ours)
        reviews = [m for m in markers(ours) if "instruction=review" in m and "phase=two" in m]
    assert (result["exit_reason"], result["exit_code"]) == ("partly_passed", 3)
    assert "There is no printer" in result["message"]
    assert len(reviews) == 1


@pytest.mark.storm
def test_a_command_that_cannot_fail_is_not_planned(tmp_path: Path) -> None:
    script = planning("CLI-001").replace("grep -q hello CLI-001.txt", "python3 -m unittest || true")
    with project(tmp_path, script) as ours:
        result = run(ours, "--max-retries", "0")
        said = "".join(str(request.messages) for request in ours.model.requests)
    assert result["exit_code"] == 1
    assert "hides every failure before it" in said
