"""The demo is what people see first, so its files are put together here and really run."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.marker import Instruction
from runner.replay.demo import demo_script, demo_spec_text
from runner.replay.script import ScriptSession, ToolCall

TESTS = ("-m", "unittest", "discover", "-s", "tests", "-v")


def _calls(session: ScriptSession, project: Path) -> list[tuple[str, dict[str, Any]]]:
    values = {"project": str(project), "task": session.task or ""}
    calls: list[ToolCall] = [call for turn in session.turn for call in turn.tools]
    return [(call.name, call.rendered(values)) for call in calls]


def _sessions(instruction: Instruction) -> list[ScriptSession]:
    return [session for session in demo_script().session if session.instruction is instruction]


def _write(session: ScriptSession, project: Path) -> None:
    """Do what the session's Write and Edit calls do, as strictly as the agent's tools."""
    for name, given in _calls(session, project):
        if name == "Write":
            path = Path(given["file_path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(given["content"])
        if name == "Edit":
            path = Path(given["file_path"])
            text = path.read_text()
            assert text.count(given["old_string"]) == 1
            path.write_text(text.replace(given["old_string"], given["new_string"]))


def _run(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("demo")
    (project / "SPEC.md").write_text(demo_spec_text())
    for session in demo_script().session:
        _write(session, project)
    return project


@pytest.mark.process
def test_the_tests_of_the_program_pass(built: Path) -> None:
    done = _run(built, *TESTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.process
def test_every_deliverable_leaves_tests_that_pass(tmp_path: Path) -> None:
    codes = []
    for session in demo_script().session:
        _write(session, tmp_path)
        if session.instruction is Instruction.CODING:
            codes.append(_run(tmp_path, *TESTS).returncode)
    assert codes == [0, 0, 0]


@pytest.mark.process
def test_the_example_in_the_spec_is_true(built: Path) -> None:
    command, expected = re.findall(r"^\$ python3 (.*)\n(.*)$", demo_spec_text(), re.MULTILINE)[0]
    assert _run(built, *command.split()).stdout == f"{expected}\n"


@pytest.mark.process
def test_every_example_in_the_readme_is_true(built: Path) -> None:
    readme = (built / "README.md").read_text()
    block = re.findall(r"```console\n(.*?)```", readme, re.DOTALL)[0]
    examples = re.findall(r"\$ python3 (.*)\n((?:[^$].*\n)*)", block)
    said = [(run.stdout + run.stderr) for c, _ in examples for run in (_run(built, *c.split()),)]
    assert said == [expected for _, expected in examples]


def test_what_is_planned_is_what_the_spec_names_and_the_sessions_build() -> None:
    planning, coding = demo_script().session[0], _sessions(Instruction.CODING)
    (plan,) = [given for name, given in _calls(planning, Path("/p")) if name.endswith("create")]
    planned = [deliverable["id"] for deliverable in plan["deliverables"]]
    assert planned == re.findall(r"^### (\S+):", demo_spec_text(), re.MULTILINE)
    assert planned == [session.task for session in coding]


def test_every_planned_deliverable_has_criteria() -> None:
    (plan,) = [
        given
        for name, given in _calls(demo_script().session[0], Path("/p"))
        if name.endswith("create")
    ]
    assert all(len(item["acceptanceCriteria"]) >= 3 for item in plan["deliverables"])


def test_every_coding_session_runs_the_tests_before_it_says_passed() -> None:
    for session in _sessions(Instruction.CODING):
        calls = _calls(session, Path("/p"))
        tested = [
            i for i, (_, given) in enumerate(calls) if "unittest" in str(given.get("command"))
        ]
        (passed,) = [i for i, (name, _) in enumerate(calls) if name.endswith("set_status")]
        assert calls[passed][1] == {"deliverableId": session.task, "status": "passed"}
        assert tested[-1] < passed


def test_existing_files_are_read_before_they_are_changed(built: Path) -> None:
    """The agent's tools refuse to change what was not read in the same session."""
    existing = {"SPEC.md"}
    for session in demo_script().session:
        seen = set()
        for name, given in _calls(session, built):
            if name in ("Read", "Write", "Edit"):
                file = str(Path(given["file_path"]).relative_to(built))
                assert name == "Read" or file in seen or file not in existing
                seen.add(file)
        existing |= seen


def test_a_session_ends_with_words() -> None:
    assert all(s.turn[-1].text and not s.turn[-1].tools for s in demo_script().session)


def test_a_commit_that_fails_does_no_harm() -> None:
    """There may be no repository, no git, or nobody for git to name as the author."""
    after = [
        following.expect_error
        for session in demo_script().session
        for turn, following in zip(session.turn, session.turn[1:], strict=False)
        if any("git commit" in str(call.input) for call in turn.tools)
    ]
    assert after == [None, None, None]


def test_every_phase_is_reviewed_once_after_the_tests_were_run() -> None:
    plan = _calls(demo_script().session[0], Path("/p"))
    (planned,) = [given["deliverables"] for name, given in plan if name.endswith("create")]
    reviews = [review for review in _sessions(Instruction.REVIEW) if review.scope != "plan"]
    assert [review.phase for review in reviews] == list(dict.fromkeys(d["phase"] for d in planned))
    for review in reviews:
        names = [name for name, _ in _calls(review, Path("/p"))]
        assert names.index("Bash") < names.index("mcp__runner__submit_review")
