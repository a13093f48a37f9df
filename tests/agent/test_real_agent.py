"""The adapter with the real SDK and the agent binary that its wheel carries."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions, query
from tests.agent.processes import LINUX_REASON, ON_LINUX, command_line, marked
from tests.agent.stage import PROMPT, Played, Stage, allow_all, calls, script

from runner.agent.claude.session import ClaudeSession
from runner.agent.claude.tools import offered_tools
from runner.deliverables.model import Status
from runner.errors import AgentStartError
from runner.events import (
    SessionOutcome,
    StreamEnd,
    StreamEvent,
    StreamText,
    StreamToolDenied,
)
from runner.loop.prompts import build_prompt
from runner.marker import Instruction, PromptMarker
from runner.ports import SessionPlan
from runner.replay import ScriptedModel
from runner.replay.script import Failure, ScriptTurn
from runner.sandbox.process import bundled_agent
from runner.shell_policy.decision import Decision

pytestmark = pytest.mark.e2e

on_linux = pytest.mark.skipif(not ON_LINUX, reason=LINUX_REASON)

# The agent's own stand-in while it could load tools later; it has no implementation.
PLACEHOLDER = "DeferredToolPlaceholder"
BYE = ScriptTurn(text="Bye.")
DELIVERABLE = {"id": "UI-001", "description": "A thing", "acceptanceCriteria": ["It is there"]}
NEAR_PROTECTED = (".gitignore", ".github/workflows/test.yml", ".runner-note.md")
CANARY_NAMES = ("hook", "local-hook", "user-hook", "server")


# --- One long session whose policy has a hole: everything is allowed by the hook. ---


@pytest.fixture(scope="module")
def outside() -> Iterator[Path]:
    """Give a folder outside of the project and of /tmp."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder, "secret.txt").write_text("secret")
        yield Path(folder)


@pytest.fixture(scope="module")
def tour_stage(tmp_path_factory: pytest.TempPathFactory, outside: Path) -> Stage:
    stage = Stage(tmp_path_factory.mktemp("tour") / "stage", f"{os.getpid()}-tour")
    (stage.project / "link").symlink_to(outside)
    (stage.project / "data.txt").write_text("data")
    (stage.project / ".git").mkdir()
    (stage.project / "alias").symlink_to(".git")
    _set_canaries(stage)
    return stage


def _set_canaries(stage: Stage) -> None:
    """Put settings into the project and the home that would run something if they were read."""

    def settings(name: str) -> str:
        command = {"type": "command", "command": f"touch '{stage.folder}/{name}'"}
        hooks = [{"hooks": [command]}]
        return json.dumps(
            {"hooks": {"UserPromptSubmit": hooks}, "permissions": {"allow": ["Read(//var/**)"]}}
        )

    server = {"command": "touch", "args": [f"{stage.folder}/server"]}
    config = stage.home / "config"
    for path, text in (
        (stage.project / ".claude" / "settings.json", settings("hook")),
        (stage.project / ".claude" / "settings.local.json", settings("local-hook")),
        (config / "settings.json", settings("user-hook")),
        (stage.project / ".mcp.json", json.dumps({"mcpServers": {"canary": server}})),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def _write(path: Path) -> tuple[str, dict[str, Any]]:
    return "Write", {"file_path": str(path), "content": "written\n"}


@pytest.fixture(scope="module")
def tour(no_login: None, tour_stage: Stage, outside: Path) -> Played:
    project = tour_stage.project
    touch = f"touch '{tour_stage.folder}/background'"
    agent = {"prompt": touch, "description": "d", "subagent_type": "general-purpose"}
    turns = (
        calls(*(_write(project / f"parallel-{number}.txt") for number in range(4))),
        calls(
            _write(outside / "new.txt"),
            _write(project / "link" / "new.txt"),
            _write(project.joinpath(*[".."] * (len(project.parts) - 1), "var/tmp/new-by-dots.txt")),
            ("Read", {"file_path": "/etc/hostname"}),
            ("Read", {"file_path": str(outside / "secret.txt")}),
            ("Read", {"file_path": str(project / "link" / "secret.txt")}),
            ("Glob", {"pattern": "*", "path": str(outside)}),
            ("Grep", {"pattern": "secret", "path": str(outside)}),
        ),
        calls(
            _write(project / ".runner" / "status.json"),
            _write(project / ".git" / "config"),
            _write(project / ".claude" / "settings.json"),
            _write(project / "alias" / "config"),
            ("Bash", {"command": "echo x > .runner/status.json"}),
        ),
        calls(
            ("Monitor", {"command": touch, "description": "d"}),
            ("Agent", agent),
            ("Task", agent),
            ("Workflow", {"script": touch}),
            ("CronCreate", {"cron": "* * * * *", "prompt": touch}),
            ("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "x"}),
            ("WebSearch", {"query": "x"}),
            ("EnterWorktree", {}),
            ("Skill", {"skill": "x"}),
            ("ToolSearch", {"query": "select:Monitor"}),
            ("mcp__runner__create", {"deliverables": [DELIVERABLE]}),
            ("mcp__runner__verify", {"deliverableId": "UI-001"}),
            (PLACEHOLDER, {}),
        ),
        calls(
            ("Read", {"file_path": str(project / "data.txt")}),
            ("Bash", {"command": "cat data.txt"}),
            ("Glob", {"pattern": "data.*"}),
            ("Grep", {"pattern": "data", "path": str(project / "data.txt")}),
        ),
        calls(*(_write(project / name) for name in NEAR_PROTECTED)),
        calls(("mcp__runner__set_status", {"deliverableId": "UI-002", "status": "passed"})),
        BYE,
    )
    return tour_stage.play(turns, judge=allow_all)


def _answers(tour: Played, turn: int) -> list[tuple[str, bool, str]]:
    """Return the answers to the calls of a turn, counted from 0: name, is_error, text."""
    sizes = [4, 8, 5, 13, 4, 3, 1]
    start = sum(sizes[:turn])
    found = tour.responses()[start : start + sizes[turn]]
    return [(name, answer.is_error, answer.content) for name, answer in found]


def test_a_session_runs_to_its_result(tour: Played) -> None:
    result = tour.result
    assert (result.outcome, result.text, result.error) == (SessionOutcome.COMPLETED, "Bye.", None)
    assert result.cost_usd > 0
    assert result.turns > 0
    assert result.duration_seconds > 0


def test_the_stream_ends_with_the_last_words_and_the_end(tour: Played) -> None:
    assert tour.events[-2:] == [StreamText("Bye."), StreamEnd()]


def test_parallel_calls_are_all_done(tour: Played, tour_stage: Stage) -> None:
    assert [failed for _, failed, _ in _answers(tour, 0)] == [False] * 4
    written = sorted(path.name for path in tour_stage.project.glob("parallel-*"))
    assert written == [f"parallel-{number}.txt" for number in range(4)]


def test_nothing_outside_the_project_is_written_or_read_whatever_the_hook_says(
    tour: Played, outside: Path
) -> None:
    answers = _answers(tour, 1)
    assert len(answers) == 8
    assert [name for name, failed, _ in answers if not failed] == []
    assert not any("secret" in text.replace("secret.txt", "") for *_, text in answers)
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert not Path("/var/tmp/new-by-dots.txt").exists()


def test_protected_folders_are_not_written_whatever_the_hook_says(
    tour: Played, tour_stage: Stage
) -> None:
    assert [failed for _, failed, _ in _answers(tour, 2)] == [True] * 5
    assert not (tour_stage.project / ".runner" / "status.json").exists()
    assert not (tour_stage.project / ".git" / "config").exists()
    assert "touch" in (tour_stage.project / ".claude" / "settings.json").read_text()


def test_files_that_only_look_protected_are_written(tour: Played, tour_stage: Stage) -> None:
    assert [failed for _, failed, _ in _answers(tour, 5)] == [False] * 3
    written = [(tour_stage.project / name).read_text() for name in NEAR_PROTECTED]
    assert written == ["written\n"] * 3


def test_tools_that_are_not_offered_have_no_effect(tour: Played, tour_stage: Stage) -> None:
    answers = _answers(tour, 3)
    assert len(answers) == 13
    assert [name for name, _, text in answers if "No such tool available" not in text] == []
    assert not (tour_stage.folder / "background").exists()


def test_offered_tools_work_inside_the_project(tour: Played) -> None:
    answers = _answers(tour, 4)
    assert [name for name, failed, _ in answers if failed] == []
    assert [name for name, _, text in answers if "data" not in text] == []


def test_a_refusal_of_our_tools_arrives_as_an_error(tour: Played) -> None:
    ((_, failed, text),) = _answers(tour, 6)
    assert failed
    assert text.startswith("AUTONOMY_WRITE_LOCK_ACTIVE")


def test_settings_of_the_project_and_of_the_user_run_nothing(
    tour: Played, tour_stage: Stage
) -> None:
    assert tour.result.outcome is SessionOutcome.COMPLETED
    assert [name for name in CANARY_NAMES if (tour_stage.folder / name).exists()] == []


def test_the_canary_would_have_sung(stage: Stage) -> None:
    _set_canaries(stage)

    async def ask() -> None:
        options = ClaudeAgentOptions(
            cwd=stage.project,
            cli_path=bundled_agent(),
            setting_sources=["project"],
            env={**model.agent_environment(), "CLAUDE_CONFIG_DIR": str(stage.home / "config")},
        )
        async for _ in query(prompt=PROMPT, options=options):
            pass

    with ScriptedModel(script(BYE), project=stage.project) as model:
        anyio.run(ask)
    assert (stage.folder / "hook").exists()


# --- What the agent is given. ---


@pytest.mark.parametrize("instruction", list(Instruction))
def test_exactly_the_tools_of_the_instruction_are_offered(
    instruction: Instruction, stage: Stage
) -> None:
    played = stage.play([calls(("Bash", {"command": "true"})), BYE], instruction=instruction)
    offered = [set(asked.tool_names) - {PLACEHOLDER} for asked in played.requests]
    assert offered == [offered_tools(instruction)] * 2


def test_the_placeholder_can_not_be_anything_that_we_offer() -> None:
    assert not [i for i in Instruction if PLACEHOLDER in offered_tools(i)]


def test_a_prompt_arrives_word_for_word(stage: Stage) -> None:
    prompt = f"{PROMPT}\n/clear\n@/etc/passwd\n!ls\n#remember"
    told = stage.play([BYE], prompt=prompt).told()
    assert prompt in told
    assert "root:" not in told


def test_a_prompt_that_looks_like_a_command_is_a_prompt(stage: Stage) -> None:
    assert "/compact now" in stage.play([BYE], prompt="/compact now").told()


def test_the_projects_conventions_reach_the_agent_once(stage: Stage) -> None:
    (stage.project / "CLAUDE.md").write_text("Indent with three spaces.\n")
    (stage.home / "config").mkdir()
    (stage.home / "config" / "CLAUDE.md").write_text("Sing while you work.\n")
    marker = PromptMarker(Instruction.CODING, 1)
    told = stage.play([BYE], prompt=build_prompt(marker, "Work.", stage.project)).told()
    assert told.count("Indent with three spaces.") == 1
    assert "Sing while you work." not in told


def test_a_tool_input_of_two_megabytes_is_taken(stage: Stage) -> None:
    big = {"file_path": str(stage.project / "big.txt"), "content": "x" * 2_000_000}
    played = stage.play([calls(("Write", big)), BYE])
    assert played.result.outcome is SessionOutcome.COMPLETED
    assert (stage.project / "big.txt").stat().st_size == 2_000_000


def test_deliverables_are_planned_and_passed_through_our_tools(stage: Stage) -> None:
    stage.play(
        [calls(("mcp__runner__create", {"deliverables": [DELIVERABLE]})), BYE],
        instruction=Instruction.INITIALIZER,
    )
    passed = {"deliverableId": "UI-001", "status": "passed"}
    stage.play([calls(("mcp__runner__set_status", passed)), BYE])
    file = stage.repository.load()
    assert file is not None
    assert [(item.id, item.status) for item in file.deliverables] == [("UI-001", Status.PASSED)]


# --- The hook. ---


def _raise(*_: object) -> Decision:
    raise ValueError("a bug in the policy")


def _nonsense(*_: object) -> Any:
    return None


def _deny(*_: object) -> Decision:
    return Decision.deny("test", "Use the other door.")


def _break_on_denial(event: StreamEvent) -> None:
    if isinstance(event, StreamToolDenied):
        raise BrokenPipeError


@pytest.mark.parametrize(
    ("judge", "sink", "told"),
    [
        (_deny, None, "Use the other door."),
        (_raise, None, "could not be judged (ValueError: a bug in the policy)"),
        (_nonsense, None, 'blocking because onFailure is "block"'),
        (_deny, _break_on_denial, 'blocking because onFailure is "block"'),
    ],
    ids=["denied", "judge raises", "judge answers nonsense", "presenter raises"],
)
def test_a_tool_does_not_run_unless_the_policy_said_yes(
    judge: Any, sink: Any, told: str, stage: Stage
) -> None:
    made = stage.project / "made"
    turn = calls(("Bash", {"command": f"touch '{made}'"}), _write(made))
    played = stage.play([turn, BYE], judge=judge, sink=sink)
    assert not made.exists()
    answers = [answer for _, answer in played.responses()]
    assert [answer.is_error and told in answer.content for answer in answers] == [True, True]


# --- Failures. ---


@pytest.mark.parametrize(("status", "requests"), [(401, 2), (403, 2), (404, 2)])
def test_what_can_not_be_mended_by_trying_again_ends_at_once(
    status: int, requests: int, stage: Stage
) -> None:
    played = stage.play([ScriptTurn(error=Failure(status=status))])
    assert played.result.outcome is SessionOutcome.EXECUTION_ERROR
    assert (played.result.http_status, played.result.fatal) == (status, True)
    assert len(played.requests) <= requests


def test_a_key_that_is_refused_is_called_so(stage: Stage) -> None:
    result = stage.play([ScriptTurn(error=Failure(status=401))]).result
    assert result.error is not None
    assert result.error.startswith("The API refused the key (HTTP 401)")


def test_a_busy_service_is_no_quota(stage: Stage) -> None:
    busy = Failure(
        status=429,
        message="Server is temporarily limiting requests (not your usage limit)",
        headers={"x-should-retry": "false"},
    )
    result = stage.play([ScriptTurn(error=busy)]).result
    assert (result.outcome, result.fatal) == (SessionOutcome.EXECUTION_ERROR, False)
    assert "(not your usage limit)" in str(result.error)


def test_the_spending_limit_of_a_session_is_reported_as_such(stage: Stage) -> None:
    turns = [calls(("Bash", {"command": "true"})), BYE]
    played = stage.play(turns, max_cost_usd=0.000001)
    assert played.result.outcome is SessionOutcome.BUDGET_EXCEEDED
    assert played.result.cost_usd > 0


def test_an_error_of_the_presenter_is_not_taken_for_one_of_the_agent(stage: Stage) -> None:
    def broken(event: StreamEvent) -> None:
        if isinstance(event, StreamText):
            raise BrokenPipeError

    with pytest.raises(ExceptionGroup) as raised:
        stage.play([BYE], sink=broken)
    assert raised.group_contains(BrokenPipeError)


# --- Ends. ---


def _long_work(stage: Stage) -> ScriptTurn:
    """Return a call that says when it runs, resists SIGTERM, and has detached a process."""
    started = stage.project / "started"
    command = f"trap '' TERM; setsid sleep 301 & touch '{started}'; sleep 302; sleep 303"
    return calls(("Bash", {"command": command}))


async def _until_started(stage: Stage) -> None:
    while not (stage.project / "started").exists():  # noqa: ASYNC110 - a file tells nobody
        await anyio.sleep(0.01)


@on_linux
def test_an_interrupt_in_mid_turn_leaves_nothing(stage: Stage) -> None:
    async def interrupt(session: ClaudeSession) -> None:
        await _until_started(stage)
        await session.interrupt()

    played = stage.play([_long_work(stage), BYE], during=interrupt)
    assert played.result.outcome is SessionOutcome.INTERRUPTED
    assert not played.result.fatal
    assert marked(stage.mark) == []


@pytest.mark.parametrize(
    "turn",
    [ScriptTurn(text="late", delay_ms=600_000), ScriptTurn(error=Failure(status=500))],
    ids=["the server never answers", "between two attempts"],
)
def test_an_interrupt_ends_the_wait_for_the_service(turn: ScriptTurn, stage: Stage) -> None:
    async def interrupt(session: ClaudeSession) -> None:
        await anyio.sleep(0.5)
        await session.interrupt()

    played = stage.play([turn], during=interrupt)
    assert played.result.outcome is SessionOutcome.INTERRUPTED


@on_linux
def test_closing_in_mid_turn_leaves_nothing(stage: Stage) -> None:
    async def close(session: ClaudeSession) -> None:
        await _until_started(stage)
        await session.close()

    played = stage.play([_long_work(stage), BYE], during=close)
    assert played.result.outcome is not SessionOutcome.COMPLETED
    assert marked(stage.mark) == []


@on_linux
def test_a_session_leaves_no_background_work(stage: Stage) -> None:
    later = ("Bash", {"command": "sleep 304", "run_in_background": True})
    detached = ("Bash", {"command": "setsid sleep 305 > /dev/null 2>&1 & echo"})
    played = stage.play([calls(later, detached), BYE])
    assert played.result.outcome is SessionOutcome.COMPLETED
    assert marked(stage.mark) == []


def _agent(mark: str) -> int:
    """Return the process of the agent binary itself."""
    binary = str(bundled_agent())
    (pid,) = [p for p in marked(mark) if command_line(p).startswith(binary)]
    return pid


def _guard(mark: str) -> int:
    """Return the outer guard: the first to be started."""
    return min(p for p in marked(mark) if "guard.py" in command_line(p))


@on_linux
@pytest.mark.parametrize("victim", [_agent, _guard])
def test_a_killed_agent_has_crashed_and_leaves_nothing(victim: Any, stage: Stage) -> None:
    async def kill(_: ClaudeSession) -> None:
        await _until_started(stage)
        os.kill(victim(stage.mark), signal.SIGKILL)

    played = stage.play([_long_work(stage), BYE], during=kill)
    assert played.result.outcome is SessionOutcome.CRASHED
    assert str(played.result.error).startswith("The agent process")


# --- Starts. ---


def _fake_agent(stage: Stage, text: str) -> Path:
    path = stage.folder / "claude"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_an_agent_that_can_not_start_is_explained_in_its_own_words(stage: Stage) -> None:
    agent = _fake_agent(stage, "echo 'this machine is too old' >&2; exit 3")
    factory = stage.factory({}, agent=agent)
    with pytest.raises(AgentStartError, match="this machine is too old"):
        anyio.run(factory.connect, SessionPlan(Instruction.CODING, "sonnet"))


def test_a_start_that_is_given_up_leaves_nothing(stage: Stage) -> None:
    factory = stage.factory({}, agent=_fake_agent(stage, "sleep 306 & exec cat > /dev/null"))

    async def give_up() -> bool:
        with anyio.move_on_after(0.3) as scope:
            await factory.connect(SessionPlan(Instruction.CODING, "sonnet"))
        return scope.cancelled_caught

    assert anyio.run(give_up)


def test_a_start_that_fails_is_told_as_itself(stage: Stage) -> None:
    factory = stage.factory({}, agent=_fake_agent(stage, "exit 3"))
    with pytest.raises(AgentStartError) as raised:
        anyio.run(factory.connect, SessionPlan(Instruction.CODING, "sonnet"))
    assert "TaskGroup" not in str(raised.value)
