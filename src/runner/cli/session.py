"""Put a run together: the one place that knows loop, agent, policy and state at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from runner import __version__
from runner.agent.factory import ClaudeAgentFactory
from runner.agent.options import AgentSettings
from runner.agent.process import bundled_agent
from runner.cli.signals import stop_on_signal
from runner.config.agent_file import load_agent_file
from runner.config.instructions import instruction_text
from runner.config.run_options import RunOptions
from runner.deliverables.model import Counts
from runner.deliverables.repository import StatusRepository
from runner.deliverables.tools import DeliverableTools, StatusChange
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.errors import RunnerError
from runner.loop.events import (
    DeliverablesPlanned,
    ExitReason,
    RunEnded,
    RunResult,
    RunStarted,
    StatusChanged,
)
from runner.loop.ports import RunSink
from runner.loop.run import Run, RunSettings
from runner.loop.run_lock import run_lock
from runner.loop.termination import Limits
from runner.marker import Instruction
from runner.security.decision import Decision
from runner.security.tools import judge_tool


@dataclass(frozen=True, slots=True)
class Job:
    """What to run, where, and in which surroundings.

    Attributes:
        project_dir: absolute path of the project.
        message: the line under the version in the startup display.
        agent_environment: variables set for the agent over the inherited ones.
        facts: further label/value lines of the startup display.
    """

    project_dir: Path
    options: RunOptions
    message: str
    agent_environment: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[tuple[str, str], ...] = ()


def perform(job: Job, sink: RunSink) -> RunResult:
    """Run the loop to its end, with signals handled.

    What goes wrong once the run has begun is its result, with exit reason ERROR.

    Raises:
        AgentStartError: there is no agent binary.
        PrerequisiteError: another run is at work in the project.
        StateWriteError: the project can't be written.
    """
    agent = bundled_agent()
    with run_lock(job.project_dir):
        sink(RunStarted(__version__, job.message, startup_facts(job)))
        try:
            result = anyio.run(_run, job, sink, agent)
        except* RunnerError as group:
            # Task groups wrap what is raised in them; people are told the error itself.
            result = _failed(job, _first(group), sink)
        return result


def _first(group: ExceptionGroup[RunnerError]) -> RunnerError:
    first: RunnerError | ExceptionGroup[RunnerError] = group
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first


def _failed(job: Job, error: RunnerError, sink: RunSink) -> RunResult:
    result = RunResult(
        command="run",
        exit_reason=ExitReason.ERROR,
        message=error.message,
        hint=error.hint,
        spec_id=derive_spec_id(job.project_dir),
        counts=Counts(),
    )
    sink(RunEnded(result))
    return result


async def _run(job: Job, sink: RunSink, agent: Path) -> RunResult:
    run = _assemble(job, sink, agent)
    async with anyio.create_task_group() as tasks:
        await tasks.start(stop_on_signal, run.stop)
        result = await run.execute()
        tasks.cancel_scope.cancel()
    return result


def _assemble(job: Job, sink: RunSink, agent: Path) -> Run:
    repository = StatusRepository(status_path(job.project_dir))
    config = load_agent_file(job.project_dir)
    settings = config.policy(allow_destructive=job.options.allow_destructive)

    def judge(
        instruction: Instruction, offered: frozenset[str], name: str, tool_input: dict[str, Any]
    ) -> Decision:
        return judge_tool(
            name,
            tool_input,
            instruction=instruction,
            project_dir=job.project_dir,
            settings=settings,
            offered=offered,
        )

    def make_tools(_instruction: Instruction) -> DeliverableTools:
        return DeliverableTools(
            repository,
            on_change=lambda change: sink(_status_changed(change)),
            on_create=lambda ids: sink(DeliverablesPlanned(ids)),
        )

    return Run(
        _run_settings(job),
        deliverables=repository,
        factory=ClaudeAgentFactory(
            AgentSettings(
                job.project_dir,
                agent,
                job.agent_environment,
                permission_rules=config.permission_rules,
                mcp_servers=config.mcpServers,
                extra_tools=config.extra_tools,
            ),
            judge=judge,
            make_tools=make_tools,
        ),
        instruction_text=lambda instruction: instruction_text(job.project_dir, instruction),
        sink=sink,
    )


def _run_settings(job: Job) -> RunSettings:
    options = job.options
    return RunSettings(
        project_dir=job.project_dir,
        spec_id=derive_spec_id(job.project_dir),
        model=options.model,
        plan_model=options.plan_model,
        limits=Limits(options.max_iterations, options.max_retries, options.max_cost_usd),
        thinking_tokens=options.thinking_tokens,
        max_session_cost_usd=options.max_session_cost_usd,
        session_timeout_seconds=options.session_timeout_minutes * 60,
    )


def startup_facts(job: Job) -> tuple[tuple[str, str], ...]:
    """Return the lines of the startup display (seed 001 §3.5)."""
    options = job.options
    facts = [("Working directory", str(job.project_dir))]
    if options.max_iterations is not None:
        facts.append(("Max iterations", str(options.max_iterations)))
    facts += [("Plan model", options.plan_model), ("Model", options.model)]
    if options.thinking_tokens is not None:
        facts.append(("Thinking", f"{options.thinking_tokens} tokens"))
    if options.max_cost_usd is not None:
        facts.append(("Max cost", f"${options.max_cost_usd:.2f}"))
    return (*facts, *job.facts)


def _status_changed(change: StatusChange) -> StatusChanged:
    return StatusChanged(change.deliverable_id, change.new.value, change.description)
