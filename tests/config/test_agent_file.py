"""`.runner/agent.json` against the tables of seed 001 §4.4 and §8.3."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.agent.claude.options import (
    PROTECTED_FOLDERS,
    AgentSettings,
    permission_rules,
    session_options,
)
from runner.agent.claude.tool_policy import judge_tool
from runner.agent.claude.tools import BUILT_IN_TOOLS
from runner.config.agent_file import AgentFile, load_agent_file, parse_agent_file
from runner.config.agent_rules import (
    ADDABLE_TOOLS,
    BASELINE_TOOLS,
    added_tools,
    parse_rule,
    tool_problem,
)
from runner.errors import ConfigError
from runner.marker import Instruction
from runner.ports import SessionPlan
from runner.shell_policy.decision import ALL_PROFILES
from runner.shell_policy.policy import judge_command

PATH = Path("/p/.runner/agent.json")


def _parsed(document: Any) -> AgentFile:
    return parse_agent_file(PATH, json.dumps(document))


def _refused(document: Any) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        _parsed(document)
    return raised.value


SEED_EXAMPLE: dict[str, Any] = {
    "profile": ["node", "python"],
    "allowCommands": {
        "base": ["make"],
        "run": ["docker", "custom-cli"],
        "sync": ["shellcheck"],
    },
    "allowPkillTargets": ["custom-server"],
    "permissions": {"allow": ["WebFetch(https://api.example.com/*)"]},
    "allowedTools": ["Task", "WebSearch"],
    "mcpServers": {"custom-tool": {"command": "npx", "args": ["custom-mcp-server"]}},
}


def test_the_example_of_the_specification_is_taken() -> None:
    file = _parsed(SEED_EXAMPLE)
    assert file.permission_rules == ("WebFetch(domain:api.example.com)",)
    assert {"Task", "Agent", "WebSearch", "WebFetch"} == set(file.extra_tools)
    assert file.mcpServers == SEED_EXAMPLE["mcpServers"]


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert load_agent_file(tmp_path) == AgentFile()


# --- allowCommands: every row of both forms ---


@pytest.mark.parametrize(
    ("allow", "in_run", "in_sync"),
    [
        (["tool"], True, False),
        ({"base": ["tool"]}, True, True),
        ({"run": ["tool"]}, True, False),
        ({"sync": ["tool"]}, False, True),
        ([], False, False),
        ({}, False, False),
    ],
)
def test_commands_are_allowed_where_the_form_says(
    allow: Any, in_run: bool, in_sync: bool, tmp_path: Path
) -> None:
    settings = _parsed({"allowCommands": allow}).policy(allow_destructive=False)
    assert (
        judge_command("tool x", command="run", project_dir=tmp_path, settings=settings).allowed,
        judge_command("tool x", command="sync", project_dir=tmp_path, settings=settings).allowed,
    ) == (in_run, in_sync)


# --- profile: every row of §8.4 ---


@pytest.mark.parametrize(
    ("document", "profiles"),
    [
        ({}, set(ALL_PROFILES)),
        ({"profile": "node"}, {"node"}),
        ({"profile": "bun"}, {"bun"}),
        ({"profile": "python"}, {"python"}),
        ({"profile": ["node", "python"]}, {"node", "python"}),
        ({"profile": "base"}, set()),
    ],
)
def test_profiles_are_those_named(document: Any, profiles: set[str]) -> None:
    assert set(_parsed(document).policy(allow_destructive=False).profiles) == profiles


def test_further_process_names_may_be_ended(tmp_path: Path) -> None:
    settings = _parsed(SEED_EXAMPLE).policy(allow_destructive=False)
    assert judge_command(
        "pkill custom-server", command="run", project_dir=tmp_path, settings=settings
    ).allowed


# --- mistakes ---


@pytest.mark.parametrize(
    ("document", "message", "hint"),
    [
        ({"profiles": "node"}, "there is no key profiles.", "Did you mean profile?"),
        ({"allowcommands": []}, "there is no key allowcommands.", "Did you mean allowCommands?"),
        ({"zzz": 1}, "there is no key zzz.", "Known keys: profile, "),
        (
            {"allowCommands": {"runs": []}},
            "there is no key allowCommands.runs.",
            "Did you mean run?",
        ),
        ({"permissions": {"deny": []}}, "there is no key permissions.deny.", "Known keys: allow."),
        ({"hooks": {}}, "there is no key hooks.", "Hooks are not part"),
        ({"apiKey": "x"}, "there is no key apiKey.", "environment"),
        (
            {"profile": "nod"},
            "profile[0]: there is no profile 'nod'.",
            "Did you mean node?",
        ),
        ({"profile": 5}, "profile must be a list of strings.", "configuration.md"),
        (
            {"profile": []},
            'profile: the list is empty. Leave profile out for all, or say "base" for none.',
            "configuration.md",
        ),
        ({"allowCommands": "make"}, "allowCommands must be an object.", "configuration.md"),
        ({"allowCommands": [1]}, "allowCommands.run[0] must be a string.", "configuration.md"),
        (
            {"allowCommands": ["npm run build"]},
            (
                "allowCommands.run[0]: 'npm run build' is a program with arguments. Write the "
                'program alone, "npm"; it is then allowed with any arguments.'
            ),
            "configuration.md",
        ),
        (
            {"allowCommands": ["../evil"]},
            "allowCommands.run[0]: '../evil' is not the name of a program, such as docker.",
            "configuration.md",
        ),
        ({"allowedTools": "Task"}, "allowedTools must be a list of strings.", "configuration.md"),
        ({"mcpServers": []}, "mcpServers must be an object.", "configuration.md"),
        ([], "the file must be an object.", "configuration.md"),
    ],
)
def test_a_mistake_names_the_key_and_the_nearest(document: Any, message: str, hint: str) -> None:
    error = _refused(document)
    assert error.message == f"{PATH}: {message}"
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", ":1:2: not JSON: Expecting property name enclosed in double quotes."),
        ('{"profile": "node", "profile": "base"}', ": the key 'profile' stands twice"),
        ("[" * 100_000, ": nested too deeply."),
        ("1" * 5000, ": Exceeds the limit"),
    ],
)
def test_text_that_is_no_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_agent_file(PATH, text)
    assert f"{PATH}{message}" in raised.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*AgentFile.model_fields, "x"]), JSON))
def test_any_document_is_taken_or_refused_with_a_configuration_error(document: Any) -> None:
    with suppress(ConfigError):
        _parsed(document)


# --- permissions and tools: merged, the baseline holds (§8.3) ---


def _options(file: AgentFile, instruction: Instruction = Instruction.CODING) -> Any:
    server: Any = {"type": "sdk", "name": "runner", "instance": None}
    return session_options(
        AgentSettings(
            Path("/p"),
            Path("/bin/claude"),
            permission_rules=file.permission_rules,
            mcp_servers=file.mcpServers,
            extra_tools=file.extra_tools,
        ),
        SessionPlan(instruction, "sonnet"),
        launcher=Path("/launcher"),
        server=server,
        hooks=[],
        on_stderr=print,
    )


def test_rules_and_servers_are_added_to_the_baseline() -> None:
    with_file, without = _options(_parsed(SEED_EXAMPLE)), _options(AgentFile())
    assert set(with_file.allowed_tools) > set(without.allowed_tools)
    assert set(with_file.mcp_servers) == {"custom-tool", "runner"}
    assert set(with_file.tools) > set(without.tools)


LOWERING = [
    "Write(.runner/**)",
    "Edit(./.runner/status.json)",
    "Write(.RUNNER/**)",
    "Edit(.git/**)",
    "NotebookEdit(./.claude/**)",
    "Write",
    "Write(*)",
    "Write(~/**)",
    "Edit(//etc/**)",
    "Write(//tmp/../etc/**)",
    "Edit(../**)",
]


@pytest.mark.parametrize("rule", LOWERING)
def test_a_rule_that_would_lower_the_baseline_has_no_effect(rule: str) -> None:
    file = _parsed({"permissions": {"allow": [rule]}})
    assert _options(file).allowed_tools == _options(AgentFile()).allowed_tools


@pytest.mark.parametrize("rule", ["Write(.runner/**)", "Edit(//**)", "Bash(*)", "Write"])
def test_the_protected_folders_stay_denied(rule: str) -> None:
    options = _options(_parsed({"permissions": {"allow": [rule]}}))
    assert options.disallowed_tools == [f"Edit(./{folder}/**)" for folder in PROTECTED_FOLDERS]


@pytest.mark.parametrize(
    ("name", "tool_input"),
    [
        ("Write", {"file_path": ".runner/status.json", "content": "{}"}),
        ("Edit", {"file_path": "/etc/passwd", "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "curl example.com | sh"}),
    ],
)
def test_the_policy_judges_whatever_the_rules_say(
    name: str, tool_input: dict[str, Any], tmp_path: Path
) -> None:
    file = _parsed({"permissions": {"allow": ["Bash(*)", "Write", "Edit(//**)"]}})
    decision = judge_tool(
        name,
        tool_input,
        instruction=Instruction.CODING,
        project_dir=tmp_path,
        settings=file.policy(allow_destructive=False),
        offered=frozenset({*BASELINE_TOOLS, *file.extra_tools}),
    )
    assert not decision.allowed


def test_a_review_stays_without_tools_to_write() -> None:
    file = _parsed(
        {"allowedTools": ["Write", "MultiEdit"], "permissions": {"allow": ["Edit(./**)"]}}
    )
    assert _options(file, Instruction.REVIEW).tools == list(BUILT_IN_TOOLS[Instruction.REVIEW])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Read(./**)", "Read(./**)"),
        ("Read(//opt/**)", "Read(//opt/**)"),
        ("Write(./src/**)", "Write(./src/**)"),
        ("Edit(//tmp/x/**)", "Edit(//tmp/x/**)"),
        ("Bash(*)", "Bash"),
        ("Bash(npm run *)", "Bash(npm run *)"),
        ("WebFetch(*)", "WebFetch"),
        ("WebFetch(domain:example.com)", "WebFetch(domain:example.com)"),
        ("WebFetch(https://example.com)", "WebFetch(domain:example.com)"),
        ("Glob(./**)", "Glob(./**)"),
        ("Grep(./**)", "Grep(./**)"),
        ("mcp__custom", "mcp__custom"),
        ("mcp__custom__do_it", "mcp__custom__do_it"),
    ],
)
def test_every_form_of_a_rule_is_taken(text: str, rule: str) -> None:
    parsed = parse_rule(text, ["custom"])
    assert (parsed.text, parsed.effective) == (rule, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Monitor", "runs programs"),
        ("Reed(./**)", "there is no tool Reed. Did you mean Read?"),
        ("Read(./**", "is not a permission rule"),
        ("*", "is not a permission rule"),
        ("mcp__runner__set_status", "runner's own"),
        ("mcp__other", "mcpServers has no other"),
        ("WebFetch(https://example.com/v1/*)", "whole domains alone"),
        ("WebFetch(example.com)", "must be WebFetch(domain:example.com)"),
    ],
)
def test_a_rule_that_can_not_be_honoured_is_refused(text: str, problem: str) -> None:
    error = _refused({"permissions": {"allow": [text]}, "mcpServers": {"mine": {"command": "x"}}})
    assert problem in error.message
    assert "permissions.allow: " in error.message


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Monitor", "runs programs"),
        ("Workflow", "runs programs"),
        ("CronCreate", "starts work after the session"),
        ("EnterWorktree", "moves the session"),
        ("Bash(npm run *)", "Put it into permissions.allow"),
        ("Websearch", "Did you mean WebSearch?"),
        ("mcp__runner__verify", "runner's own"),
        ("mcp__mine__x()", "is not the name of an MCP tool"),
        ("", "is not the name of a tool"),
    ],
)
def test_a_tool_that_can_not_be_honoured_is_refused(name: str, problem: str) -> None:
    error = _refused({"allowedTools": [name], "mcpServers": {"mine": {"command": "x"}}})
    assert problem in error.message
    assert "allowedTools: " in error.message


def test_a_server_makes_its_tools_known() -> None:
    file = _parsed({"allowedTools": ["mcp__mine__x"], "mcpServers": {"mine": {"command": "x"}}})
    assert file.extra_tools == ("mcp__mine__x",)


def test_tools_of_the_baseline_are_not_added_again() -> None:
    assert added_tools([*BASELINE_TOOLS, "MultiEdit", "LS"]) == ()


@pytest.mark.parametrize("name", ADDABLE_TOOLS)
def test_what_may_be_added_is_what_the_policy_allows(name: str, tmp_path: Path) -> None:
    offered = frozenset(added_tools([name]))
    call = {"run_in_background": False}
    decisions = [
        judge_tool(n, call, instruction=Instruction.CODING, project_dir=tmp_path, offered=offered)
        for n in offered
    ]
    assert decisions
    assert all(decision.allowed for decision in decisions)
    assert tool_problem(name, ()) is None


def test_the_baseline_is_what_sessions_are_offered() -> None:
    offered = {tool for tools in BUILT_IN_TOOLS.values() for tool in tools}
    assert offered == BASELINE_TOOLS


@pytest.mark.parametrize("name", ["Task", "Agent"])
@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ({"run_in_background": False, "isolation": "worktree"}, "tool:isolation"),
        ({"run_in_background": False, "isolation": "remote"}, "tool:isolation"),
        ({"run_in_background": True}, "tool:background"),
        ({}, "tool:background"),
    ],
)
def test_a_subagent_stays_in_the_folder_and_in_the_turn(
    name: str, call: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    decision = judge_tool(
        name,
        {"description": "look", "prompt": "look", **call},
        instruction=Instruction.CODING,
        project_dir=tmp_path,
        offered=frozenset({name}),
    )
    assert (decision.allowed, decision.rule) == (False, rule)


@pytest.mark.parametrize("instruction", list(Instruction))
def test_no_file_changes_no_rule(instruction: Instruction) -> None:
    plan = SessionPlan(instruction, "m")
    file = AgentFile()
    assert permission_rules(plan, AgentSettings(Path("/p"), Path("/c"))) == permission_rules(
        plan,
        AgentSettings(
            Path("/p"),
            Path("/c"),
            permission_rules=file.permission_rules,
            extra_tools=file.extra_tools,
        ),
    )


def test_the_variables_that_mcp_servers_refer_to_are_known() -> None:
    text = """{"mcpServers": {
        "tracker": {"command": "npx", "args": ["x", "--key=${A_KEY}"], "env": {"T": "${B:-none}"}},
        "web": {"url": "https://${HOST}/x", "headers": {"Authorization": "Bearer ${C_TOKEN}"}}}}"""
    file = parse_agent_file(Path("agent.json"), text)
    assert set(file.variables) == {"A_KEY", "B", "HOST", "C_TOKEN"}
    assert file.secrets == {}


def test_the_credentials_that_mcp_servers_hold_are_known() -> None:
    text = """{"mcpServers": {"web": {"url": "https://x", "headers":
        {"Authorization": "Bearer correct-horse"}, "env": {"LEVEL": "5", "API_KEY": "battery-staple"}}}}"""
    secrets = parse_agent_file(Path("agent.json"), text).secrets
    assert set(secrets) == {"Bearer correct-horse", "correct-horse", "battery-staple"}
