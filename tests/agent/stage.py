"""One agent session with the real SDK, the real binary and a scripted model."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from tests.agent.processes import MARK

from runner.agent.claude.factory import ClaudeAgentFactory, InstructionJudge
from runner.agent.claude.options import AgentSettings
from runner.agent.claude.session import ClaudeSession
from runner.deliverables.repository import StatusRepository
from runner.deliverables.tools import DeliverableTools
from runner.deliverables.workspace import status_path
from runner.events import (
    SessionResult,
    StreamEvent,
    StreamToolDenied,
    StreamToolInvocation,
    StreamToolResponse,
)
from runner.marker import Instruction, PromptMarker
from runner.ports import SessionPlan
from runner.replay import ScriptedModel
from runner.replay.ask import Ask
from runner.replay.script import ModelScript, ScriptSession, ScriptTurn, ToolCall
from runner.replay.wire import text_blocks
from runner.sandbox.process import bundled_agent
from runner.shell_policy.decision import Decision

PROMPT = PromptMarker(Instruction.CODING, 1, task="UI-001").render()
During = Callable[[ClaudeSession], Coroutine[Any, Any, None]]


def allow_all(*_: object) -> Decision:
    """Judge as a policy with a hole would."""
    return Decision.allow("test")


def allow_offered(
    _instruction: Instruction, offered: frozenset[str], name: str, _input: dict[str, Any]
) -> Decision:
    """Judge by the tool's name alone."""
    return Decision.allow("test") if name in offered else Decision.deny("test", "not offered")


def script(*turns: ScriptTurn) -> ModelScript:
    """Return a script that answers any prompt with these turns."""
    return ModelScript(session=(ScriptSession(fallback=True, repeat=True, turn=turns),))


def calls(*given: tuple[str, dict[str, Any]]) -> ScriptTurn:
    """Return a turn that calls tools, in parallel when there are several."""
    return ScriptTurn(
        tools=tuple(ToolCall(name=name, input=given_input) for name, given_input in given)
    )


@dataclass
class Played:
    """What came of a session."""

    result: SessionResult
    events: list[StreamEvent]
    requests: list[Ask]

    def denied(self) -> list[str]:
        """Return the names of the tools that the hook refused."""
        return [event.name for event in self.events if isinstance(event, StreamToolDenied)]

    def responses(self) -> list[tuple[str, StreamToolResponse]]:
        """Return what each call was answered, with the tool's name, in order of the calls."""
        answers = {e.tool_use_id: e for e in self.events if isinstance(e, StreamToolResponse)}
        asked = [event for event in self.events if isinstance(event, StreamToolInvocation)]
        return [
            (call.name, answers[call.tool_use_id]) for call in asked if call.tool_use_id in answers
        ]

    def told(self) -> str:
        """Return everything that the model was told at first, as text."""
        first = self.requests[0]
        return "\n".join(
            [first.system, *(text for m in first.messages for text in text_blocks(m["content"]))]
        )


@dataclass
class Stage:
    """A project folder and surroundings in which nothing of a real login is found."""

    folder: Path
    mark: str

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True)
        self.home.mkdir()

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def repository(self) -> StatusRepository:
        return StatusRepository(status_path(self.project))

    def factory(
        self,
        model_environment: dict[str, str],
        judge: InstructionJudge = allow_offered,
        *,
        agent: Path | None = None,
    ) -> ClaudeAgentFactory:
        """Return a factory whose agents can reach nothing but the scripted model."""
        environment = {
            **model_environment,
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / "config"),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            MARK: self.mark,
        }
        return ClaudeAgentFactory(
            AgentSettings(self.project, agent or bundled_agent(), environment),
            judge=judge,
            make_tools=lambda _: DeliverableTools(self.repository),
        )

    def play(
        self,
        turns: Sequence[ScriptTurn],
        *,
        judge: InstructionJudge = allow_offered,
        instruction: Instruction = Instruction.CODING,
        prompt: str = PROMPT,
        sink: Callable[[StreamEvent], None] | None = None,
        during: During | None = None,
        max_cost_usd: float | None = None,
    ) -> Played:
        """Run one session to its end and close it; `during` runs beside it."""
        events: list[StreamEvent] = []

        def note(event: StreamEvent) -> None:
            events.append(event)
            if sink is not None:
                sink(event)

        async def perform() -> SessionResult:
            plan = SessionPlan(instruction, "sonnet", max_cost_usd=max_cost_usd)
            session = await self.factory(model.agent_environment(), judge).connect(plan)
            try:
                async with anyio.create_task_group() as tasks:
                    if during is not None:
                        tasks.start_soon(during, session)
                    result = await session.run(prompt, task_id="UI-001", sink=note)
                    tasks.cancel_scope.cancel()
            finally:
                await session.close()
            return result

        with ScriptedModel(script(*turns), project=self.project) as model:
            result = anyio.run(perform)
            return Played(result, events, model.requests)
