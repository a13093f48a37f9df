"""Put a run together: the one place that knows loop, agent, policy and state at once."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio

from runner import __version__
from runner.agent.claude.credentials import require_credentials
from runner.agent.claude.factory import ClaudeAgentFactory
from runner.agent.claude.options import AgentSettings
from runner.agent.claude.tool_policy import judge_tool
from runner.app.box_environment import environment_rules, redactor_of
from runner.app.interrupt_result import LastWords
from runner.app.parts import PartsOf, ToolFailures, parts_of_run, parts_of_sync, spec_id_of
from runner.app.signals import stop_on_signal
from runner.app.starting_signals import heed_signals
from runner.app.verification import (
    IN_PLACE_HINT,
    place_of_verification,
    require_runnable_verification,
)
from runner.autonomy.models import SessionLimits as ControlPlaneLimits
from runner.autonomy.store.layout import user_state_directory
from runner.autonomy.store.trust import Trust
from runner.config.agent_file import load_agent_file
from runner.config.instructions import NAMES, has_instruction, instruction_text
from runner.config.resolve import RunOptions
from runner.config.runner_file import VerificationTable, load_runner_file
from runner.config.thinking import thinking_summary
from runner.credentials import Redactor
from runner.deliverables.model import StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import status_path
from runner.events import Notice, RunEvent, RunResult, RunStarted
from runner.installation import isolate
from runner.loop.planning import idle_commands
from runner.loop.run import Run
from runner.loop.settings import RunSettings, SessionDependencies
from runner.loop.termination import RunLimits
from runner.marker import Instruction
from runner.ports import RunSink
from runner.programs import find_program
from runner.quota.waiting import WaitPolicy
from runner.records.agent_sessions import HistoryKeeper
from runner.records.phases import Summary
from runner.records.run_lock import run_lock
from runner.records.spending import SpendBook, Spending, spec_budget
from runner.sandbox.probe import ContainmentRequest, contained, is_boxed
from runner.sandbox.process import bundled_agent, sweep_launchers
from runner.sandbox.status import Caution, Containment
from runner.sandbox.watch import read_only_environment
from runner.shell_policy.decision import Decision
from runner.text.messages import format_cost

if TYPE_CHECKING:
    from runner.errors import RunnerError

CONTEXT_THRESHOLD_PCT = ControlPlaneLimits().context_threshold_pct
"""Where a session's context counts as full, for the control plane and for --reuse-session."""

Command = Literal["run", "sync", "review"]


_PARTS: Mapping[str, PartsOf] = {"run": parts_of_run, "sync": parts_of_sync}


@dataclass(frozen=True, slots=True)
class Job:
    """What to run, where, and in which surroundings.

    Attributes:
        project_dir: absolute path of the project.
        message: the line under the version in the startup display.
        agent_environment: variables set for the agent over the inherited ones.
        facts: further label/value lines of the startup display.
        command: `run`; `sync` and `review` have read-only sessions.
        sandbox_required: whether to refuse where no sandbox can start.
        divergences: where the conversation left the script of a scripted model, in words.
    """

    project_dir: Path
    options: RunOptions
    message: str
    agent_environment: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[tuple[str, str], ...] = ()
    command: Command = "run"
    sandbox_required: bool = True
    divergences: Callable[[], Sequence[str]] = tuple


def perform(job: Job, sink: RunSink, parts_of: PartsOf | None = None) -> RunResult:
    """Run the loop to its end, with signals handled.

    Args:
        parts_of: what the run is put together from; those of the job's command where None.

    What goes wrong once the run has begun is its result, with exit reason ERROR.

    Raises:
        PrerequisiteError: there is no agent binary, another run is at work in the project, no
            sandbox works here, or there are no credentials.
        ConfigError: agent.json or an instruction override is wrong.
        StateCorruptError: status.json is damaged.
        StateWriteError: the project can't be written.
        InterruptedEarly: it was asked to stop while it started.
    """
    heed_signals()
    agent = bundled_agent(job.project_dir)
    request = _containment_request(job, agent)
    sweep_launchers()
    _check_before_spending(job)
    redactor = _redactor(job)

    def tell(event: RunEvent) -> None:
        # Not all texts come by an agent's session: a file may have a credential as its name.
        sink(redactor.record(event))

    def warn(caution: Caution) -> None:
        tell(Notice("warning", caution.text, caution.hint))

    with (
        run_lock(job.project_dir),
        contained(request, warn) as containment,
    ):
        facts = (*startup_facts(job), ("Sandbox", containment.summary))
        tell(RunStarted(__version__, job.message, facts))
        for caution in containment.cautions:
            warn(caution)
        if job.command == "run":
            common = load_runner_file(job.project_dir).verification.commands
            for said in idle_commands(_plan_of(job), common):
                sink(Notice("warning", said))
        budgeted = job.options.budget_usd is not None
        summary = Summary(job.project_dir, tell)
        history = HistoryKeeper(job.project_dir, job.command, summary, clean=redactor.value)
        spending = Spending(SpendBook(job.project_dir), history, budgeted=budgeted)
        parts_of = parts_of or _PARTS[job.command]
        return redactor.record(anyio.run(_run, job, spending, agent, containment, parts_of))


def _verification_cautions(job: Job) -> Iterator[Caution]:
    if job.command == "run":
        place, clean = place_of_verification(*_verification(job))
        if not clean:
            yield Caution(f"Verification commands run {place}", IN_PLACE_HINT)


def _verification(job: Job) -> tuple[Path, VerificationTable]:
    return job.project_dir, load_runner_file(job.project_dir).verification


def _plan_of(job: Job) -> StatusFile | None:
    return StatusRepository(status_path(job.project_dir)).load()


def _check_before_spending(job: Job) -> None:
    """Find what would end the run anyway, before anything is paid for."""
    find_program("git", job.project_dir)  # refused now, where it is an agent's to write
    policy = load_agent_file(job.project_dir).policy(
        allow_destructive=job.options.allow_destructive
    )
    if job.command == "run":
        require_runnable_verification(job.project_dir, policy)
    for instruction in NAMES:
        if has_instruction(instruction):
            instruction_text(job.project_dir, instruction)
    file = _plan_of(job)
    SpendBook(job.project_dir).load()
    Trust(user_state_directory()).require_usable(job.project_dir)
    # A run with nothing to work on may need no agent; a scripted model brings a key of its own.
    is_idle = job.command == "run" and file is not None and file.next_runnable is None
    if not is_idle and "ANTHROPIC_API_KEY" not in job.agent_environment:
        require_credentials(os.environ)


def _redactor(job: Job) -> Redactor:
    return redactor_of(job.project_dir, {**os.environ, **job.agent_environment})


def _containment_request(job: Job, agent: Path) -> ContainmentRequest:
    """Return what is to be contained. Raises PrerequisiteError where runner itself can't be kept."""
    return ContainmentRequest(
        project=job.project_dir,
        agent=agent,
        environ={**os.environ, **job.agent_environment},
        rules=environment_rules(job.project_dir),
        wanted=job.options.sandbox,
        required=job.sandbox_required,
        network=job.options.sandbox_network,
        read_only=isolate(
            job.project_dir, boxed=is_boxed(wanted=job.options.sandbox), used=[agent]
        ),
    )


async def _run(
    job: Job, sink: RunSink, agent: Path, containment: Containment, parts_of: PartsOf
) -> RunResult:
    told = LastWords(job.project_dir, job.command, sink)
    run = _assemble(job, told, agent, containment, parts_of)
    async with anyio.create_task_group() as tasks:
        await tasks.start(stop_on_signal, run.stop, told.tell)
        result = await run.execute()
        tasks.cancel_scope.cancel()
    # The result is out: what is left is tidying up, and no signal may change the exit code.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return result


def _assemble(
    job: Job, sink: RunSink, agent: Path, containment: Containment, parts_of: PartsOf
) -> Run:
    config = load_agent_file(job.project_dir)
    settings = replace(
        config.policy(allow_destructive=job.options.allow_destructive),
        shares_processes=containment.shares_processes,
    )
    failures: list[RunnerError] = []
    parts = parts_of(job.project_dir, job.options, containment, settings, sink)

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

    factory = ClaudeAgentFactory(
        AgentSettings(
            job.project_dir,
            agent,
            _agent_environment(job),
            permission_rules=config.permission_rules,
            mcp_servers=containment.start_servers(config.mcpServers),
            extra_tools=config.extra_tools,
            sandbox=containment.sdk_settings,
            rules=environment_rules(job.project_dir),
        ),
        judge=judge,
        make_tools=parts.make_tools,
        wrap=containment.wrap,
        redactor=_redactor(job),
        start=containment.start,
        on_failure=failures.append,
    )
    around = SessionDependencies(
        deliverables=parts.deliverables,
        factory=factory,
        instruction_text=lambda instruction: instruction_text(job.project_dir, instruction),
        sink=sink,
        guards=(*parts.guards, ToolFailures(failures)),
    )
    # A server may run code of the project at any time, also while a sandbox is being made.
    run_settings = replace(_run_settings(job), connects_ahead=not config.mcpServers)
    return Run(run_settings, around, parts.flow)


def _agent_environment(job: Job) -> dict[str, str]:
    if job.command == "run":
        return dict(job.agent_environment)
    return {**read_only_environment(os.environ.get("PYTEST_ADDOPTS")), **job.agent_environment}


def _run_settings(job: Job) -> RunSettings:
    options = job.options
    return RunSettings(
        project_dir=job.project_dir,
        spec_id=spec_id_of(job.project_dir, StatusRepository(status_path(job.project_dir))),
        model=options.model,
        plan_model=options.plan_model,
        review_model=options.review_model,
        limits=RunLimits(
            options.max_iterations,
            options.max_retries,
            options.max_cost_usd,
            spec_budget(job.project_dir, options.budget_usd),
        ),
        thinking_tokens=options.thinking_tokens,
        max_session_cost_usd=options.max_session_cost_usd,
        session_timeout_seconds=options.session_timeout_minutes * 60,
        reuse_below_pct=CONTEXT_THRESHOLD_PCT if options.reuse_session else None,
        quota=WaitPolicy(options.wait_for_quota, options.max_wait_hours * 3600),
    )


def startup_facts(job: Job) -> tuple[tuple[str, str], ...]:
    """Return the lines of the startup display (seed 001 §3.5)."""
    options = job.options
    facts = [("Working directory", str(job.project_dir))]
    if options.max_iterations is not None:
        facts.append(("Max iterations", str(options.max_iterations)))
    facts += [("Plan model", options.plan_model), ("Model", options.model)]
    if options.review_model not in (None, options.plan_model):
        facts.append(("Review model", str(options.review_model)))
    if not options.gates:
        facts.append(("Gates", "off; phases are not reviewed"))
    elif options.gate_policy is not None:
        facts.append(("Gate policy", options.gate_policy))
    models = (options.plan_model, options.model, options.review_model or options.plan_model)
    facts.append(("Thinking", thinking_summary(models, options.thinking_tokens)))
    if not options.plan_review:
        facts.append(("Plan review", "off; plans are not compared with SPEC.md"))
    if options.thinking_tokens is not None:
        facts.append(("Thinking", f"{options.thinking_tokens} tokens"))
    if options.max_cost_usd is not None:
        facts.append(("Max cost", format_cost(options.max_cost_usd)))
    if budget := spec_budget(job.project_dir, options.budget_usd):
        spent = f"{format_cost(budget.spent_before_usd)} of {format_cost(budget.total_usd)} spent"
        facts.append(("Budget of the spec", spent))
    if job.command == "run":
        facts.append(("VerificationTable", place_of_verification(*_verification(job))[0]))
    if options.wait_for_quota:
        facts.append(("Wait for quota", f"up to {options.max_wait_hours:g} h"))
    return (*facts, *job.facts)
