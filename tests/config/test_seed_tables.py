"""Rows of seed 001 about options, projects and tools: §7.1, §7.1.1, §7.2.2, §8.2."""

from pathlib import Path

import pytest

from runner.agent.claude.tool_policy import judge_tool
from runner.agent.claude.tools import BUILT_IN_TOOLS, TOOLS_BY_INSTRUCTION
from runner.config.kinds import DEFAULT_THINKING_TOKENS
from runner.config.options import OPTIONS
from runner.config.project import resolve_project
from runner.errors import PrerequisiteError
from runner.marker import Instruction
from runner.shell_policy import judge_command

RUN = (Instruction.INITIALIZER, Instruction.CODING)
SYNC = (Instruction.SYNC, Instruction.VERIFY)


@pytest.mark.parametrize(
    ("name", "short", "default"),
    [
        ("project-dir", "-p", None),
        ("max-iterations", "-n", None),
        ("max-retries", "", 3),
        ("model", "-m", "sonnet"),
        ("plan-model", "-P", "opus"),  # the contract's letter; the seed's -pm is none
        ("debug", "-d", False),
        ("wait-for-quota", "", False),
        ("thinking", "", None),
    ],
)
def test_a_common_option_has_the_letter_and_default_of_the_seed(
    name: str, short: str, default: object
) -> None:
    found = OPTIONS[name.replace("-", "_")]
    assert found.commands == {"run", "sync"}
    assert (found.short, found.default) == (short, default)


@pytest.mark.parametrize(("name", "short"), [("no-sandbox", ""), ("allow-destructive", "-D")])
def test_an_option_of_run_alone_is_off_and_not_one_of_sync(name: str, short: str) -> None:
    found = OPTIONS[name.replace("-", "_")]
    assert (found.short, found.default) == (short, False)
    assert found.commands == {"run"}


def test_thinking_without_a_number_has_the_budget_of_the_seed() -> None:
    assert DEFAULT_THINKING_TOKENS == 8192


@pytest.mark.parametrize(
    ("instruction", "planning"),
    [
        (Instruction.INITIALIZER, True),
        (Instruction.SYNC, True),
        (Instruction.CODING, False),
        (Instruction.VERIFY, False),
    ],
)
def test_planning_instructions_run_on_the_plan_model(
    instruction: Instruction, planning: bool
) -> None:
    assert instruction.is_planning is planning


def test_no_project_dir_is_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_project(None) == tmp_path.resolve()


def test_an_absolute_project_dir_is_used_as_it_is(tmp_path: Path) -> None:
    assert resolve_project(tmp_path.resolve()) == tmp_path.resolve()


def test_a_relative_project_dir_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_project(Path("app")) == tmp_path.resolve() / "app"


@pytest.mark.parametrize("absolute", [True, False])
def test_a_project_dir_that_does_not_exist_is_an_error(
    absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PrerequisiteError, match="not found"):
        resolve_project(tmp_path / "none" if absolute else Path("none"))


def _may(project: Path, instruction: Instruction, name: str, path: str) -> bool:
    given = {"file_path": path, "content": "", "old_string": "a", "new_string": "b"}
    offered = frozenset(BUILT_IN_TOOLS[instruction])
    return judge_tool(
        name, given, instruction=instruction, project_dir=project, offered=offered
    ).allowed


@pytest.mark.parametrize("instruction", [*RUN, *SYNC])
def test_files_are_read_in_both_commands(instruction: Instruction, tmp_path: Path) -> None:
    assert _may(tmp_path, instruction, "Read", "src/app.py")


@pytest.mark.parametrize("tool", ["Write", "Edit"])
@pytest.mark.parametrize(
    ("instruction", "path", "allowed"),
    [
        (Instruction.CODING, "src/app.py", True),
        (Instruction.CODING, ".runner-note.md", True),
        (Instruction.SYNC, "src/app.py", False),
        (Instruction.SYNC, ".runner-note.md", True),
        (Instruction.VERIFY, "src/app.py", False),
        (Instruction.VERIFY, ".runner-note.md", True),
    ],
)
def test_files_are_written_in_run_and_the_note_alone_in_sync(
    tool: str, instruction: Instruction, path: str, allowed: bool, tmp_path: Path
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("a", encoding="utf-8")
    assert _may(tmp_path, instruction, tool, path) is allowed


@pytest.mark.parametrize(
    ("command", "in_run", "in_sync"),
    [
        ("ls -la", True, True),
        ("git status", True, True),
        ("pytest -q", True, True),
        ("mkdir -p src/new", True, False),
        ("cp a.txt b.txt", True, False),
        ("rm a.txt", False, False),
    ],
)
def test_programs_are_those_of_the_command(
    command: str, in_run: bool, in_sync: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    assert (
        judge_command(command, command="run", project_dir=tmp_path).allowed,
        judge_command(command, command="sync", project_dir=tmp_path).allowed,
    ) == (in_run, in_sync)


@pytest.mark.parametrize(
    ("instruction", "tools"),
    [
        (Instruction.INITIALIZER, {"create"}),
        (Instruction.CODING, {"set_status", "list"}),
        (Instruction.SYNC, {"create", "deprecate", "list"}),
        (Instruction.VERIFY, {"set_status", "verify", "list"}),
    ],
)
def test_each_instruction_has_the_runner_tools_of_the_seed(
    instruction: Instruction, tools: set[str]
) -> None:
    assert set(TOOLS_BY_INSTRUCTION[instruction]) == tools
