"""Tool calls, judged by instruction; default deny."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.agent.claude.tool_policy import judge_tool
from runner.marker import Instruction
from runner.shell_policy.decision import Decision

ALL = frozenset({"Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "mcp__runner__list",
                 "Monitor"})  # fmt: skip
WRITING = (Instruction.CODING, Instruction.REMEDIATE, Instruction.INITIALIZER)
READING = (Instruction.SYNC, Instruction.VERIFY, Instruction.REVIEW)


def _judge(project: Path, name: str, given: Any, instruction: Instruction) -> Decision:
    return judge_tool(name, given, instruction=instruction, project_dir=project, offered=ALL)


@pytest.mark.parametrize("instruction", WRITING)
def test_implementing_sessions_write_in_the_project(
    project: Path, instruction: Instruction
) -> None:
    given = {"file_path": str(project / "src/a.py"), "content": ""}
    assert _judge(project, "Write", given, instruction).allowed


@pytest.mark.parametrize("instruction", READING)
def test_read_only_sessions_do_not(project: Path, instruction: Instruction) -> None:
    given = {"file_path": str(project / "src/a.py"), "content": ""}
    assert not _judge(project, "Write", given, instruction).allowed


@pytest.mark.parametrize(
    ("instruction", "allowed"),
    [(Instruction.SYNC, True), (Instruction.VERIFY, True), (Instruction.REVIEW, False)],
)
def test_the_note_is_for_sync_and_verify(
    project: Path, instruction: Instruction, allowed: bool
) -> None:
    given = {"file_path": str(project / ".runner-note.md"), "content": ""}
    assert _judge(project, "Write", given, instruction).allowed is allowed


@pytest.mark.parametrize("instruction", list(Instruction))
@pytest.mark.parametrize(
    "path", ["/etc/x", ".runner/status.json", ".git/hooks/x", "src/out/x", "~/.bashrc"]
)
def test_protected_files_are_never_written(
    project: Path, instruction: Instruction, path: str
) -> None:
    assert not _judge(project, "Edit", {"file_path": path}, instruction).allowed


def test_a_review_does_not_write_the_note_by_shell(project: Path) -> None:
    given = {"command": "echo x > .runner-note.md"}
    answers = [_judge(project, "Bash", given, i).allowed for i in READING]
    assert answers == [True, True, False]


@pytest.mark.parametrize("name", ["Read", "Grep", "Glob"])
def test_searching_stays_away_from_credentials(project: Path, name: str) -> None:
    given = {"file_path": "~/.ssh/id_rsa", "path": "~/.ssh", "pattern": "x"}
    assert not _judge(project, name, given, Instruction.CODING).allowed


def test_a_glob_pattern_is_a_path_too(project: Path) -> None:
    assert not _judge(project, "Glob", {"pattern": "/root/**"}, Instruction.CODING).allowed


def test_what_is_not_offered_is_refused(project: Path) -> None:
    decision = judge_tool(
        "Read", {"file_path": "a"}, instruction=Instruction.CODING, project_dir=project,
        offered=frozenset({"Bash"}),
    )  # fmt: skip
    assert decision.rule == "tool:not-offered"


def test_an_offered_tool_that_is_not_known_is_refused(project: Path) -> None:
    assert not _judge(project, "Monitor", {"command": "ls"}, Instruction.CODING).allowed


def test_mcp_tools_that_are_offered_are_allowed(project: Path) -> None:
    assert _judge(project, "mcp__runner__list", {}, Instruction.REVIEW).allowed


@pytest.mark.parametrize(
    "given", [None, [], {}, {"command": 1}, {"command": ""}, {"command": "a\0b"}]
)
def test_malformed_input_is_denied(project: Path, given: Any) -> None:
    assert not _judge(project, "Bash", given, Instruction.CODING).allowed


def test_leaving_the_sandbox_is_denied(project: Path) -> None:
    given = {"command": "ls", "dangerouslyDisableSandbox": True}
    assert not _judge(project, "Bash", given, Instruction.CODING).allowed


@pytest.mark.process
def test_importing_the_package_is_cheap() -> None:
    code = "import sys, runner.shell_policy; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "path", [".g\u200cit/config", "\u202e.git/config", ".git /config", ".git./config"]
)
def test_guarded_folders_are_known_in_every_spelling(project: Path, path: str) -> None:
    decision = judge_tool(
        "Write",
        {"file_path": path},
        instruction=Instruction.CODING,
        project_dir=project,
        offered=frozenset({"Write"}),
    )
    assert not decision.allowed


@pytest.mark.parametrize("pattern", ["{/etc/shadow,x}", "/{etc,x}/shadow", "{a,../../*}"])
def test_brace_patterns_do_not_lead_out(project: Path, pattern: str) -> None:
    decision = judge_tool(
        "Glob",
        {"pattern": pattern},
        instruction=Instruction.CODING,
        project_dir=project,
        offered=frozenset({"Glob"}),
    )
    assert not decision.allowed
