"""The steps of the GitHub Action, run by bash as GitHub would, with stand-ins for the programs."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.dist.steps import ROOT, Ran, load, run_script, step_named, stub

ACTION = load(ROOT / "action.yml")
STEPS = ACTION["runs"]["steps"]
FAILING = ACTION["inputs"]["fail-on"]["default"]
INPUTS = {"COMMAND": "run", "MAX_ITERATIONS": "", "MAX_COST": "", "ARGUMENTS": "", "STATE": "",
          "FAIL_ON": FAILING}  # fmt: skip


class Step(NamedTuple):
    """How the step «Run» ended, with what arguments it called the program, and its outputs."""

    code: int
    arguments: list[str]
    outputs: str


def program(folder: Path, script: str) -> None:
    """Put a program where the action installs runner."""
    (folder / "program").mkdir(exist_ok=True)
    stub(folder / "program/bin", "runner", script)


def run_step(folder: Path, program_exits_with: int, **inputs: str) -> Step:
    """Run the step with a program that writes its arguments down and prints a result."""
    program(
        folder,
        f'printf "%s\\n" "$@" > {folder}/arguments\n'
        f"echo '{{\"exit_code\": {program_exits_with}}}'\nexit {program_exits_with}",
    )
    given = {**INPUTS, "PLACE": str(folder), **inputs}
    ran = run_script(step_named(STEPS, "Run"), folder, given)
    arguments = (folder / "arguments").read_text().splitlines()
    return Step(ran.code, arguments, (folder / "github-output").read_text())


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


def test_the_log_has_what_the_program_says_and_no_more(tmp_path: Path) -> None:
    program(tmp_path, "echo progress >&2")
    ran = run_script(step_named(STEPS, "Run"), tmp_path, {**INPUTS, "PLACE": str(tmp_path)})
    assert ran.said == "progress\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_job_lets_the_program_end_in_order(tmp_path: Path, number: int) -> None:
    os.mkfifo(tmp_path / "ready")
    program(
        tmp_path,
        f"trap 'echo \"{{}}\"; exit 143' TERM\necho > {tmp_path}/ready\n"
        "while :; do sleep 0.05; done",
    )
    outputs = tmp_path / "outputs"
    step = subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step_named(STEPS, "Run")["run"]],
        env={**INPUTS, "PATH": os.environ["PATH"], "PLACE": str(tmp_path),
             "GITHUB_OUTPUT": str(outputs)},
        cwd=tmp_path,
    )  # fmt: skip
    (tmp_path / "ready").read_text()
    step.send_signal(number)
    assert step.wait(30) == 143
    assert outputs.read_text().startswith("code=143\n")


@pytest.mark.parametrize(("state", "told"), [("/some/where", "/some/where"), ("", "none")])
def test_the_state_of_a_job_is_kept_apart_from_the_machines(
    tmp_path: Path, state: str, told: str
) -> None:
    program(tmp_path, 'echo "${XDG_STATE_HOME:-none}" > told')
    given = {**INPUTS, "PLACE": str(tmp_path), "STATE": state}
    run_script(step_named(STEPS, "Run"), tmp_path, given)
    assert (tmp_path / "told").read_text().strip() == told


@pytest.fixture
def temp(tmp_path: Path) -> Path:
    folder = tmp_path / "runner temp"  # a blank: who forgets to quote it fails
    folder.mkdir()
    return folder


def prepare(temp: Path, project: str = "project", **given: str) -> Ran:
    """Run the step «Prepare» in a folder beside `temp`."""
    folder = temp.parent / project
    folder.mkdir(exist_ok=True)
    usual = {
        "PYTHON": sys.executable, "MATRIX": "null", "INDEX": "0", "CACHE_KEY": "", "ARTIFACT": "runner",
        "RUNNER_TEMP": str(temp), "RUNNER_OS": "Linux", "GITHUB_REF": "refs/heads/main",
        "GITHUB_JOB": "implement", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
    }  # fmt: skip
    ran = run_script(step_named(STEPS, "Prepare"), folder, {**usual, **given})
    assert (ran.code, ran.said) == (0, "")
    return ran


def test_what_an_earlier_job_kept_is_found_by_the_next(temp: Path) -> None:
    assert prepare(temp).outputs["key"] == prepare(temp, GITHUB_RUN_ID="8").outputs["key"]


@pytest.mark.parametrize(
    "other",
    [
        {"GITHUB_REF": "refs/heads/other"},
        {"MATRIX": '{"spec": "b"}'},
        {"CACHE_KEY": "second"},
        {"project": "second"},
    ],
    ids=str,
)
def test_what_is_not_the_same_work_has_a_state_of_its_own(
    temp: Path, other: dict[str, str]
) -> None:
    one, two = prepare(temp).outputs, prepare(temp, **other).outputs
    assert one["key"] != two["key"]
    assert one["state"] != two["state"]


def test_no_key_begins_with_another(temp: Path) -> None:
    keys = [prepare(temp, GITHUB_REF=f"refs/heads/{n}").outputs["key"] for n in ("a", "a-b")]
    assert not keys[1].startswith(keys[0])


def test_two_uses_in_one_job_keep_what_they_know_both(temp: Path) -> None:
    assert prepare(temp).outputs["entry"] != prepare(temp).outputs["entry"]


@pytest.mark.parametrize("ref", ["a,b", "ü", "a b", "$(touch made)", "x" * 600, "a\nkey=b"])
def test_a_branch_of_any_name_gives_a_key_that_the_cache_takes(temp: Path, ref: str) -> None:
    outputs = prepare(temp, GITHUB_REF=f"refs/heads/{ref}").outputs
    key = outputs["key"] + outputs["entry"]
    assert key.isascii()
    assert "," not in key
    assert len(key) < 100


def test_the_seals_secret_stands_where_the_policy_lets_nobody_read(temp: Path) -> None:
    assert prepare(temp).outputs["state"].endswith("/.local/state")


def test_what_no_artifact_may_be_called_is_replaced_in_its_name(temp: Path) -> None:
    ran = prepare(temp, ARTIFACT="feature/a: b\nkey=forged")
    assert ran.outputs["artifact"] == "feature-a- b-key-forged-implement"


def test_artifacts_of_a_run_have_names_of_their_own(temp: Path) -> None:
    names = [
        prepare(temp).outputs["artifact"],
        prepare(temp).outputs["artifact"],
        prepare(temp, MATRIX='{"spec": "b"}', INDEX="1").outputs["artifact"],
        prepare(temp, GITHUB_RUN_ATTEMPT="2").outputs["artifact"],
        prepare(temp, GITHUB_JOB="second").outputs["artifact"],
    ]
    assert names == [
        "runner-implement",
        "runner-implement-use2",
        "runner-implement-1",
        "runner-implement-attempt2",
        "runner-second",
    ]


def test_the_program_is_removed_and_the_state_stays(temp: Path) -> None:
    outputs = prepare(temp).outputs
    Path(outputs["place"], "program").mkdir()
    Path(outputs["state"]).mkdir(parents=True)
    run_script(step_named(STEPS, "Clean up"), temp, {"PLACE": outputs["place"]})
    assert not Path(outputs["place"]).exists()
    assert Path(outputs["state"]).exists()


def test_nothing_is_kept_of_a_run_that_did_not_start() -> None:
    conditions = [
        str(step.get("if", ""))
        for step in STEPS
        if step.get("name", "").startswith(("Keep", "Report"))
    ]
    assert ["steps.run.outcome != 'skipped'" in text for text in conditions] == [True] * 3


def test_lost_logs_fail_no_job() -> None:
    step = step_named(STEPS, "Keep logs, reviews and receipts")
    assert step["continue-on-error"] is True


class Machine(NamedTuple):
    """What the step «Let the sandbox start» did on a machine: its end, and what it changed."""

    ran: Ran
    changed: str


def let_start(
    folder: Path, *, switch: str | None, sudo: bool, user: int = 1000, **given: str
) -> Machine:
    """Run the step on a machine whose kernel has the switch at a value (None: not at all)."""
    programs, changed = folder / "programs", folder / "changed"
    changed.touch()
    answer = "exit 255" if switch is None else f"echo {switch}"
    stub(programs, "sysctl", f'if [ "$1" = -n ]; then {answer}; else echo "$2" >> {changed}; fi')
    stub(programs, "sudo", f'echo sudo >> {changed}; shift; "$@"' if sudo else "exit 1")
    stub(programs, "id", f"echo {user}")
    usual = {"ALLOW": "hosted", "MACHINE": "github-hosted"}
    ran = run_script(
        step_named(STEPS, "Let the sandbox start"), folder, {**usual, **given}, programs
    )
    return Machine(ran, changed.read_text())


OFF = "kernel.apparmor_restrict_unprivileged_userns=0\n"


def test_the_sandbox_is_let_start_on_githubs_machines(tmp_path: Path) -> None:
    machine = let_start(tmp_path, switch="1", sudo=True)
    assert (machine.ran.code, machine.ran.said, machine.changed) == (0, "", f"sudo\n{OFF}")


def test_root_needs_no_sudo(tmp_path: Path) -> None:
    assert let_start(tmp_path, switch="1", sudo=False, user=0).changed == OFF


@pytest.mark.parametrize("switch", [None, "0"])
def test_nothing_is_changed_where_nothing_is_in_the_way(tmp_path: Path, switch: str | None) -> None:
    machine = let_start(tmp_path, switch=switch, sudo=False)
    assert (machine.ran.code, machine.ran.said, machine.changed) == (0, "", "")


def test_without_sudo_it_says_what_to_do_and_goes_on(tmp_path: Path) -> None:
    machine = let_start(tmp_path, switch="1", sudo=False)
    assert machine.ran.code == 0
    assert "::warning" in machine.ran.said
    assert "/etc/sysctl.d/" in machine.ran.said


def test_a_machine_that_stays_is_left_as_it_is(tmp_path: Path) -> None:
    machine = let_start(tmp_path, switch="1", sudo=True, MACHINE="self-hosted")
    assert (machine.ran.code, machine.changed) == (0, "")
    assert "/etc/sysctl.d/" in machine.ran.said


def test_whoever_owns_the_machine_may_say_otherwise(tmp_path: Path) -> None:
    machine = let_start(tmp_path, switch="1", sudo=True, MACHINE="self-hosted", ALLOW="always")
    assert machine.changed == f"sudo\n{OFF}"


def test_githubs_machine_is_left_as_it_is_when_told(tmp_path: Path) -> None:
    assert let_start(tmp_path, switch="1", sudo=True, ALLOW="never").changed == ""


def install(folder: Path, version: str) -> str:
    """Run the step «Install runner»; return what pip was called with."""
    stub(
        folder / "programs",
        "python",
        f'mkdir -p "$3/bin"; printf "#!/bin/sh\\nprintf \'%%s\\\\n\' \\"\\$@\\" > {folder}/pip\\n" '
        '> "$3/bin/pip"; chmod +x "$3/bin/pip"',
    )
    given = {"PYTHON": str(folder / "programs/python"), "PLACE": str(folder / "place"),
             "VERSION": version, "GITHUB_ACTION_PATH": "/the action"}  # fmt: skip
    assert run_script(step_named(STEPS, "Install runner"), folder, given).code == 0
    return (folder / "pip").read_text()


def test_a_version_is_one_word_for_pip(tmp_path: Path) -> None:
    said = install(tmp_path, "1.2.3 --index-url http://evil.invalid")
    assert said.splitlines()[-1] == "autonomous-runner==1.2.3 --index-url http://evil.invalid"


def test_without_a_version_the_actions_own_checkout_is_installed(tmp_path: Path) -> None:
    assert install(tmp_path, "").splitlines()[-2:] == ["/the action/constraints.txt", "/the action"]


def test_a_report_that_can_not_be_written_fails_no_job(tmp_path: Path) -> None:
    program(tmp_path, "exit 1")
    given = {"PLACE": str(tmp_path), "STATE": ""}
    assert run_script(step_named(STEPS, "Report"), tmp_path, given).code == 0
