"""What the SDK is told about a session."""

from pathlib import Path
from typing import Any

import pytest

from runner.agent.claude.options import AgentSettings, permission_rules, session_options
from runner.agent.claude.tools import BUILT_IN_TOOLS
from runner.marker import Instruction
from runner.ports import SessionPlan

PROJECT = Path("/somewhere/project")


def _options(plan: SessionPlan | None = None, **settings: Any) -> Any:
    server: Any = {"type": "sdk", "name": "runner", "instance": None}
    return session_options(
        AgentSettings(PROJECT, Path("/bin/claude"), **settings),
        plan or SessionPlan(Instruction.CODING, "sonnet"),
        launcher=Path("/somewhere/launcher"),
        server=server,
        hooks=[],
        on_stderr=print,
    )


@pytest.mark.parametrize("instruction", list(Instruction))
def test_no_rule_opens_files_everywhere(instruction: Instruction) -> None:
    rules = permission_rules(SessionPlan(instruction, "m"), AgentSettings(PROJECT, Path("/c")))
    assert not {"Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit"} & set(rules)
    scoped = [rule for rule in rules if rule.startswith(("Read", "Write", "Edit"))]
    assert scoped
    assert all(rule.endswith(("(./**)", "(//tmp/**)")) for rule in scoped)


def test_a_review_gets_no_rule_to_write() -> None:
    plan = SessionPlan(Instruction.REVIEW, "m")
    rules = permission_rules(plan, AgentSettings(PROJECT, Path("/c")))
    assert not [rule for rule in rules if rule.startswith(("Write", "Edit"))]


def test_the_users_own_rules_come_last_and_once() -> None:
    settings = AgentSettings(PROJECT, Path("/c"), permission_rules=("Bash", "Read(//opt/**)"))
    rules = permission_rules(SessionPlan(Instruction.CODING, "m"), settings)
    assert rules[-1] == "Read(//opt/**)"
    assert rules.count("Bash") == 1


def test_a_tool_with_a_scoped_rule_is_allowed_in_that_scope_alone() -> None:
    rule = "WebFetch(domain:example.com)"
    settings = AgentSettings(
        PROJECT, Path("/c"), permission_rules=(rule,), extra_tools=("WebFetch", "WebSearch")
    )
    rules = permission_rules(SessionPlan(Instruction.CODING, "m"), settings)
    assert [r for r in rules if r.startswith("Web")] == ["WebSearch", rule]


def test_our_server_can_not_be_replaced_by_one_of_the_users() -> None:
    options = _options(mcp_servers={"runner": {"command": "evil"}, "theirs": {"command": "x"}})
    assert options.mcp_servers["runner"]["type"] == "sdk"
    assert options.mcp_servers["theirs"] == {"command": "x"}


def test_tools_are_named_one_by_one() -> None:
    assert _options().tools == list(BUILT_IN_TOOLS[Instruction.CODING])


def test_model_and_spending_limit_are_those_of_the_plan() -> None:
    options = _options(SessionPlan(Instruction.CODING, "haiku", max_cost_usd=1.5))
    assert (options.model, options.max_budget_usd) == ("haiku", 1.5)


def test_the_policys_shell_holds_whatever_the_user_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    monkeypatch.setenv("PAGER", "less")
    given = _options().env
    assert (given["SHELL"], given["PAGER"]) == ("/bin/bash", "cat")


def test_the_user_may_choose_how_often_the_api_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "9")
    assert _options().env["CLAUDE_CODE_MAX_RETRIES"] == "9"


def test_the_settings_environment_wins() -> None:
    assert _options(environment={"SHELL": "/bin/sh", "X": "1"}).env.items() >= {
        ("SHELL", "/bin/sh"),
        ("X", "1"),
    }


_BLOCKS = ("GIT_INSTRUCTIONS", "AUTO_MEMORY", "CLAUDE_MDS")


@pytest.mark.parametrize("instruction", [Instruction.REVIEW, Instruction.VERIFY])
def test_a_judge_gets_no_block_of_the_agents_own_whatever_the_user_sets(
    instruction: Instruction,
) -> None:
    theirs = {f"CLAUDE_CODE_DISABLE_{name}": "0" for name in _BLOCKS}
    options = _options(SessionPlan(instruction, "m"), environment=theirs)
    assert {options.env[f"CLAUDE_CODE_DISABLE_{name}"] for name in _BLOCKS} == {"1"}


def test_a_writer_keeps_what_the_user_sets() -> None:
    assert not {f"CLAUDE_CODE_DISABLE_{name}" for name in _BLOCKS} & set(_options().env)


@pytest.mark.parametrize(
    ("tokens", "sent"),
    [(None, {"type": "disabled"}), (2048, {"type": "enabled", "budget_tokens": 2048})],
)
def test_thinking_is_switched_off_in_so_many_words(
    tokens: int | None, sent: dict[str, object]
) -> None:
    plan = SessionPlan(Instruction.CODING, "claude-sonnet-4-5", thinking_tokens=tokens)
    assert _options(plan).thinking == sent
