"""Runs that may not begin, or may not go on, and the commands that they name."""

import json
import shlex
import shutil
from pathlib import Path

import pytest
from tests.e2e.harness import project
from tests.e2e.scripts import PASS_ALL, REVIEW_PASS
from tests.e2e.test_gated_run import PLAN

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

DELIVERABLE = {
    "id": "CLI-001",
    "description": "a first file",
    "acceptanceCriteria": ["it exists"],
    "passed": True,
    "blocked": False,
}
SCRIPT = PLAN + PASS_ALL + REVIEW_PASS


@pytest.mark.parametrize("weaker", [("--no-gates",), ("--gate-policy", "lenient")])
def test_what_the_posture_refuses_is_refused_before_anything_is_paid_for(
    tmp_path: Path, weaker: tuple[str, ...]
) -> None:
    with project(tmp_path, SCRIPT) as ours:
        result = ours.result(*weaker)
        asked = len(ours.model.requests)
    assert (result["exit_code"], result["loop_signal"], asked) == (7, "blocked_runtime", 0)


def test_what_the_posture_refuses_names_the_option_with_which_it_goes(tmp_path: Path) -> None:
    with project(tmp_path, SCRIPT) as ours:
        refused = ours.run("--no-gates")
        posture = ("--posture", "supervised")
        mended = ours.run("--no-gates", "--one-phase", *posture)
    assert f"`runner run {' '.join(posture)}`" in " ".join(refused.stdout.split())
    assert mended.returncode == 0


def test_a_verification_command_that_is_denied_is_wrong_configuration(tmp_path: Path) -> None:
    with project(tmp_path, SCRIPT) as ours:
        (ours.path / ".runner").mkdir()
        (ours.path / ".runner" / "runner.toml").write_text(
            '[verification]\ncommands = ["sudo make"]\n', encoding="utf-8"
        )
        done = ours.run()
        asked = len(ours.model.requests)
    assert (done.returncode, asked) == (2, 0)
    assert "sudo make" in done.stderr


def test_a_session_whose_seal_is_gone_exits_with_7_and_a_command_that_works(
    tmp_path: Path,
) -> None:
    with project(tmp_path, SCRIPT) as ours:
        ours.result("--one-phase")
        shutil.rmtree(Path(ours.environment["HOME"]) / ".local")
        stopped = ours.result()
        (action,) = stopped["recommended_actions"]
        group, *words = shlex.split(action["command"])[1:]
        mended = ours.run(*words, command=group)
        after = ours.result("--one-phase")
    assert (stopped["exit_reason"], stopped["exit_code"]) == ("blocked_runtime", 7)
    assert mended.returncode == 0
    assert (after["exit_reason"], after["gates"][0]["verdict"]) == ("phase_complete", "pass")


def test_the_result_names_the_spec_as_the_plan_does(tmp_path: Path) -> None:
    with project(tmp_path, SCRIPT) as ours:
        (ours.path / ".runner").mkdir()
        plan = {"specId": "named-before", "createdAt": "2026-01-01", "deliverables": [DELIVERABLE]}
        (ours.path / ".runner" / "status.json").write_text(json.dumps(plan), encoding="utf-8")
        result = ours.result()
    assert (result["spec_id"], result["exit_code"]) == ("named-before", 0)


def test_a_session_without_gates_is_not_driven_on_unattended(tmp_path: Path) -> None:
    with project(tmp_path, SCRIPT) as ours:
        ours.result("--posture", "supervised", "--no-gates", "-n", "2")
        before = len(ours.model.requests)
        result = ours.result()
        asked = len(ours.model.requests) - before
    assert (result["exit_code"], result["loop_signal"], asked) == (7, "blocked_runtime", 0)
    assert "gates_required must be true" in result["message"]


def test_what_a_person_began_in_a_terminal_goes_on_unattended(tmp_path: Path) -> None:
    with project(tmp_path, SCRIPT) as ours:
        begun = ours.result("--posture", "supervised", "-n", "1")
        result = ours.result("--one-phase")
    assert (begun["exit_reason"], result["exit_reason"]) == ("max_iterations", "phase_complete")
    assert result["session_id"] == begun["session_id"] is not None
