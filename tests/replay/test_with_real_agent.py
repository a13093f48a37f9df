"""The scripted model against the real SDK and the agent binary that its wheel carries."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)

from runner.marker import Instruction, PromptMarker
from runner.replay import ModelScript, ScriptedModel, parse_script
from runner.replay.demo import demo_script, demo_spec_text

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

BUILT_IN = ["Bash", "Read", "Write", "Edit", "Glob", "Grep"]
MARKER = PromptMarker(Instruction.CODING, 1, task="T-1")
SCRIPT = """
[[session]]
instruction = "coding"
task = "T-1"
[[session.turn]]
thinking = "A file first."
text = "Writing and counting."
tools = [
  { name = "Write", input = { file_path = "{{project}}/a.txt", content = '''
one
two
''' } },
  { name = "Bash", input = { command = "printf done" } },
]
[[session.turn]]
expect_error = false
tools = [{ name = "Bash", input = { command = "exit 3" } }]
[[session.turn]]
expect_error = true
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "passed" } }]
[[session.turn]]
expect_error = false
text = "Finished {{task}}."
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    before = _children()
    yield
    assert _children() <= before


def _children() -> set[str]:
    """Return the ids of this process's children, where the system tells (Linux)."""
    lists = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {child for path in lists for child in path.read_text().split()}


@dataclass
class Tools:
    """Stands in for the injected tools; remembers what they were given."""

    created: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)

    def server(self) -> Any:
        @tool("create", "Create deliverables", {"deliverables": list})
        async def create(given: dict[str, Any]) -> dict[str, Any]:
            self.created += [item["id"] for item in given["deliverables"]]
            return {"content": [{"type": "text", "text": "created"}]}

        @tool("set_status", "Set the status", {"deliverableId": str, "status": str})
        async def set_status(given: dict[str, Any]) -> dict[str, Any]:
            self.passed.append(given["deliverableId"])
            return {"content": [{"type": "text", "text": "set"}]}

        @tool("submit_review", "Submit a review", {"verdict": str, "findings": list})
        async def submit_review(given: dict[str, Any]) -> dict[str, Any]:
            self.verdicts.append(given["verdict"])
            return {"content": [{"type": "text", "text": "submitted"}]}

        return create_sdk_mcp_server("runner", tools=[create, set_status, submit_review])


@asynccontextmanager
async def _agent(
    model: ScriptedModel, project: Path, tools: Tools, **environment: str
) -> AsyncIterator[ClaudeSDKClient]:
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    private = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / "config"),
        # The agent would ask a proxy for 127.0.0.1 too, where one is set.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    options = ClaudeAgentOptions(
        cwd=project,
        env={**model.agent_environment(), **private, **environment},
        tools=BUILT_IN,
        allowed_tools=[*BUILT_IN, "mcp__runner"],
        permission_mode="acceptEdits",
        setting_sources=[],
        strict_mcp_config=True,
        mcp_servers={"runner": tools.server()},
    )
    async with ClaudeSDKClient(options) as client:
        yield client


async def _say(client: ClaudeSDKClient, marker: PromptMarker) -> list[Message]:
    await client.query(f"{marker.render()}\nDo what is to be done.")
    return [message async for message in client.receive_response()]


async def _run(
    script: ModelScript, project: Path, tools: Tools | None = None, **environment: str
) -> tuple[ScriptedModel, list[Message]]:
    with ScriptedModel(script, project=project) as model:
        async with _agent(model, project, tools or Tools(), **environment) as client:
            messages = await _say(client, MARKER)
    return model, messages


def _result(messages: list[Message]) -> ResultMessage:
    last = messages[-1]
    assert isinstance(last, ResultMessage)
    return last


def _blocks(messages: list[Message], kind: type) -> list[Any]:
    spoken = [m for m in messages if isinstance(m, AssistantMessage | UserMessage)]
    return [b for m in spoken for b in m.content if isinstance(b, kind)]


async def test_a_session_is_played_to_its_end(project: Path) -> None:
    tools = Tools()
    model, messages = await _run(parse_script(SCRIPT, name="test"), project, tools)
    assert model.divergences == []
    assert (_result(messages).is_error, _result(messages).result) == (False, "Finished T-1.")
    assert (project / "a.txt").read_text() == "one\ntwo\n"
    assert tools.passed == ["T-1"]


async def test_what_the_model_says_reaches_the_sdk_in_order(project: Path) -> None:
    _, messages = await _run(parse_script(SCRIPT, name="test"), project)
    assert [b.thinking for b in _blocks(messages, ThinkingBlock)] == ["A file first."]
    texts = [b.text for b in _blocks(messages, TextBlock)]
    assert texts == ["Writing and counting.", "Finished T-1."]
    failed = [bool(b.is_error) for b in _blocks(messages, ToolResultBlock)]
    assert failed == [False, False, True, False]


async def test_requests_are_recorded_with_the_tools_that_were_offered(project: Path) -> None:
    model, _ = await _run(parse_script(SCRIPT, name="test"), project)
    assert [asked.turn for asked in model.requests] == [0, 1, 2, 3]
    offered = {*BUILT_IN, "mcp__runner__create", "mcp__runner__set_status"}
    assert all(offered <= set(asked.tool_names) for asked in model.requests)


async def test_after_one_failure_the_session_goes_on(project: Path) -> None:
    once = "error = {status = 500, times = 1}\n[[session.turn]]\nexpect_error = false\ntools"
    script = SCRIPT.replace("expect_error = false\ntools", once, 1)
    model, messages = await _run(parse_script(script, name="test"), project)
    retries = [m for m in messages if isinstance(m, SystemMessage) and m.subtype == "api_retry"]
    assert [retry.data["error_status"] for retry in retries] == [500]
    assert [asked.turn for asked in model.requests] == [0, 1, 1, 2, 3]
    assert (_result(messages).result, model.divergences) == ("Finished T-1.", [])


async def test_a_refused_key_ends_the_session(project: Path) -> None:
    script = """
    [[session]]
    instruction = "coding"
    [[session.turn]]
    error = { status = 401, message = "invalid x-api-key" }
    """
    model, messages = await _run(
        parse_script(script, name="test"), project, CLAUDE_CODE_MAX_RETRIES="1"
    )
    result = _result(messages)
    assert (result.is_error, result.api_error_status) == (True, 401)
    assert model.divergences == []


async def test_the_same_prompt_in_a_new_agent_takes_the_next_session(project: Path) -> None:
    one = '[[session]]\ninstruction = "coding"\n[[session.turn]]\ntext = "one"\n'
    script = parse_script(one + one.replace("one", "two"), name="test")
    said = []
    with ScriptedModel(script, project=project) as model:
        for _ in range(2):
            async with _agent(model, project, Tools()) as client:
                said.append(_result(await _say(client, MARKER)).result)
    assert said == ["one", "two"]


async def test_the_next_prompt_in_the_same_agent_takes_its_own_session(project: Path) -> None:
    other = PromptMarker(Instruction.CODING, 2, task="T-2")
    script = SCRIPT + SCRIPT.replace("T-1", "T-2").replace("a.txt", "b.txt")
    tools = Tools()
    with ScriptedModel(parse_script(script, name="test"), project=project) as model:
        async with _agent(model, project, tools) as client:
            results = [_result(await _say(client, marker)) for marker in (MARKER, other)]
    assert [result.result for result in results] == ["Finished T-1.", "Finished T-2."]
    assert (tools.passed, model.divergences) == (["T-1", "T-2"], [])


async def test_the_context_usage_can_be_asked_for(project: Path) -> None:
    with ScriptedModel(parse_script(SCRIPT, name="test"), project=project) as model:
        async with _agent(model, project, Tools()) as client:
            await _say(client, MARKER)
            usage = await client.get_context_usage()
    assert usage["totalTokens"] > 0


async def test_the_demo_builds_a_program_that_works(project: Path) -> None:
    (project / "SPEC.md").write_text(demo_spec_text())
    _make_repository(project)
    tools = Tools()
    with ScriptedModel(demo_script(), project=project) as model:
        for iteration, session in enumerate(demo_script().session, start=1):
            assert session.instruction is not None
            marker = PromptMarker(
                session.instruction, iteration, session.phase, session.task, scope=session.scope
            )
            async with _agent(model, project, tools) as client:
                await _say(client, marker)
    assert model.divergences == []
    assert tools.created == tools.passed == ["MEASURE-001", "MEASURE-002", "MEASURE-003"]
    assert tools.verdicts == ["pass", "pass", "pass"]
    assert _git(project, "status", "--porcelain") == ""
    assert len(_git(project, "log", "--oneline").splitlines()) == 4
    marathon = _output(project, "python3", "-m", "measure", "26.2", "mi", "km")
    assert marathon == "26.2 mi = 42.1648 km\n"


def _make_repository(project: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    _git(project, "init", "-q")
    _git(project, "config", "user.name", "Demo")
    _git(project, "config", "user.email", "demo@example.invalid")
    _git(project, "add", "-A")
    _git(project, "commit", "-qm", "Add the spec")


def _git(project: Path, *arguments: str) -> str:
    return _output(project, "git", *arguments)


def _output(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout
