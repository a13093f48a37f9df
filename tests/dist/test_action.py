"""The steps of the GitHub Action, run by bash as GitHub would, with a stand-in for the program."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
FAILING = ACTION["inputs"]["fail-on"]["default"]


class Step(NamedTuple):
    """How the step «Run» ended, with what arguments it called the program, and its outputs."""

    code: int
    arguments: list[str]
    outputs: str


def run_step(folder: Path, program_exits_with: int, **inputs: str) -> Step:
    """Run the step with a program that writes its arguments down and prints a result."""
    program = folder / "runner-program/bin/runner"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/arguments\n'
        f"echo '{{\"exit_code\": {program_exits_with}}}'\nexit {program_exits_with}\n"
    )
    program.chmod(0o755)
    (script,) = [step["run"] for step in ACTION["runs"]["steps"] if step.get("id") == "run"]
    given = {"COMMAND": "run", "MAX_ITERATIONS": "", "MAX_COST": "", "ARGUMENTS": "",
             "FAIL_ON": FAILING}  # fmt: skip
    places = {"RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(folder / "outputs")}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={"PATH": os.environ["PATH"], **given, **places, **inputs},
        cwd=folder,
        check=False,
    )
    arguments = (folder / "arguments").read_text().splitlines()
    return Step(done.returncode, arguments, (folder / "outputs").read_text())


@pytest.mark.parametrize("code", [1, 2, 6, 7, 130, 143])
def test_a_failure_of_the_program_fails_the_job(tmp_path: Path, code: int) -> None:
    assert run_step(tmp_path, code).code == code


@pytest.mark.parametrize("code", [0, 3, 4, 75])
def test_what_a_later_job_goes_on_from_fails_no_job(tmp_path: Path, code: int) -> None:
    step = run_step(tmp_path, code)
    assert (step.code, step.outputs.splitlines()[0]) == (0, f"code={code}")


def test_the_exit_codes_that_fail_can_be_chosen(tmp_path: Path) -> None:
    assert run_step(tmp_path, 3, FAIL_ON="1 3").code == 3


@pytest.mark.parametrize("code", [126, 137, 139])
def test_a_code_that_is_none_of_the_programs_fails_the_job(tmp_path: Path, code: int) -> None:
    assert run_step(tmp_path, code).code == code


def test_the_exit_codes_that_fail_may_stand_between_commas(tmp_path: Path) -> None:
    assert run_step(tmp_path, 3, FAIL_ON="1, 3, 4").code == 3


def test_options_on_several_lines_all_reach_the_program(tmp_path: Path) -> None:
    step = run_step(tmp_path, 0, ARGUMENTS="--one-phase\n--max-session-cost 1\n")
    assert step.arguments[-3:] == ["--one-phase", "--max-session-cost", "1"]


def test_limits_and_further_options_reach_the_program(tmp_path: Path) -> None:
    step = run_step(tmp_path, 0, MAX_ITERATIONS="8", MAX_COST="5", ARGUMENTS="--model opus")
    assert step.arguments == ["run", "--output-format", "json", "--model", "opus",
                              "--max-iterations", "8", "--max-cost", "5"]  # fmt: skip


def test_options_are_words_and_not_shell(tmp_path: Path) -> None:
    step = run_step(tmp_path, 0, ARGUMENTS="$(touch made) `touch made` ; touch made")
    assert "$(touch" in step.arguments
    assert not (tmp_path / "made").exists()


def test_the_result_is_an_output_between_marks_that_nobody_can_guess(tmp_path: Path) -> None:
    lines = run_step(tmp_path, 0).outputs.splitlines()
    mark = lines[1].removeprefix("result<<")
    assert (len(mark), lines[2], lines[-1]) == (len("result_") + 32, '{"exit_code": 0}', mark)
