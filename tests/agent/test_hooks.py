"""The PreToolUse hook: default deny, failing closed. test_real_agent.py holds the real effect."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from runner.agent.claude.factory import (
    HOOK_TIMEOUT_SECONDS,
    ClaudeAgentFactory,
    Starts,
    deny_by_default,
    judge_call,
)
from runner.errors import AgentStartError
from runner.events import StreamToolDenied
from runner.marker import Instruction
from runner.ports import SessionPlan
from runner.shell_policy.decision import Decision

PROJECT = Path("/project")
CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/project"}


def _allow(_name: str, _input: dict[str, Any]) -> Decision:
    return Decision.allow("test")


def _deny(_name: str, _input: dict[str, Any]) -> Decision:
    return Decision.deny("test", "Not here.")


def _ignore(_: StreamToolDenied) -> None:
    pass


def _refusal(answer: dict[str, Any]) -> str:
    specific = answer["hookSpecificOutput"]
    assert specific["hookEventName"] == "PreToolUse"
    assert specific["permissionDecision"] == "deny"
    return str(specific["permissionDecisionReason"])


def test_an_allowed_call_gets_no_decision_at_all() -> None:
    assert judge_call(CALL, _allow, _ignore, PROJECT) == {}


def test_a_denied_call_is_told_why() -> None:
    assert _refusal(judge_call(CALL, _deny, _ignore, PROJECT)) == "Not here."


def test_the_judge_sees_the_name_and_the_input() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    def judge(name: str, tool_input: dict[str, Any]) -> Decision:
        seen.append((name, tool_input))
        return Decision.allow("test")

    judge_call(CALL, judge, _ignore, PROJECT)
    assert seen == [("Bash", {"command": "ls"})]


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"tool_name": "Bash"},
        {"tool_input": {}},
        {"tool_name": None, "tool_input": {}},
        {"tool_name": 7, "tool_input": {}},
        {"tool_name": "Bash", "tool_input": "ls"},
        {"tool_name": "Bash", "tool_input": ["ls"]},
        {"tool_name": "Bash", "tool_input": None},
    ],
)
def test_a_malformed_call_is_refused_without_asking(call: dict[str, Any]) -> None:
    assert "could not be read" in _refusal(judge_call(call, _allow, _ignore, PROJECT))


@pytest.mark.parametrize("cwd", ["/", "/project/sub", "/projects", None])
def test_a_shell_that_starts_elsewhere_is_refused(cwd: str | None) -> None:
    assert "left the project" in _refusal(
        judge_call({**CALL, "cwd": cwd}, _allow, _ignore, PROJECT)
    )


def test_a_judge_that_raises_refuses() -> None:
    def broken(_name: str, _input: dict[str, Any]) -> Decision:
        raise RecursionError("too deep")

    assert "RecursionError: too deep" in _refusal(judge_call(CALL, broken, _ignore, PROJECT))


def test_every_refusal_is_reported() -> None:
    denied: list[StreamToolDenied] = []
    judge_call(CALL, _deny, denied.append, PROJECT)
    judge_call({"tool_name": "Bash", "tool_input": 1}, _allow, denied.append, PROJECT)
    assert [(event.name, event.input) for event in denied] == [
        ("Bash", {"command": "ls"}),
        ("Bash", {}),
    ]
    assert denied[0].reason == "Not here."


def test_the_hook_is_for_every_tool_and_blocks_when_it_fails_or_hangs() -> None:
    (matcher,) = deny_by_default(_allow, _ignore, PROJECT)
    assert (matcher.matcher, matcher.on_failure) == (None, "block")
    assert matcher.timeout == HOOK_TIMEOUT_SECONDS


def test_the_registered_hook_judges() -> None:
    (matcher,) = deny_by_default(_deny, _ignore, PROJECT)
    (hook,) = matcher.hooks
    call: Any = CALL
    context: Any = {"signal": None}

    async def ask() -> Any:
        return await hook(call, "t1", context)

    assert _refusal(anyio.run(ask)) == "Not here."


@pytest.mark.anyio
async def test_no_tool_call_goes_on_while_another_agent_is_being_started() -> None:
    """Its mounts are made by path: a command could replace a folder by a link meanwhile."""
    starts, answers = Starts(), []
    (matcher,) = deny_by_default(_allow, _ignore, PROJECT, starts)
    call: Any = CALL
    context: Any = {"signal": None}

    async def ask() -> None:
        answers.append(await matcher.hooks[0](call, "t1", context))

    async with anyio.create_task_group() as tasks:
        with starts.one(), starts.one():
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
    assert answers == [{}]


@pytest.mark.anyio
async def test_an_agent_that_does_not_start_ends_the_waiting() -> None:
    starts = Starts()
    with starts.one():
        assert not await starts.are_over(within_seconds=0)
    assert await starts.are_over(within_seconds=0)


@pytest.mark.anyio
async def test_calls_wait_for_what_the_factory_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = None
    factory = ClaudeAgentFactory(nothing, judge=nothing, make_tools=nothing)
    seen = []

    def look() -> None:
        seen.append(anyio.from_thread.run(factory.starts.are_over, 0))
        raise AgentStartError("Not here.")

    monkeypatch.setattr("runner.agent.claude.factory._import_sdk", look)
    with pytest.raises(AgentStartError):
        await factory.connect(SessionPlan(Instruction.CODING, "sonnet"))
    assert (seen, await factory.starts.are_over(0)) == ([False], True)
