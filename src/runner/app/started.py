"""What `run`, `sync` and `review` have in common: start, and run the loop to its end."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from runner import __version__
from runner.agent.claude.credentials import require_credentials
from runner.agent.claude.factory import ClaudeAgentFactory
from runner.agent.claude.options import AgentSettings
from runner.agent.claude.tool_policy import judge_tool
from runner.app.job import Job, environment_rules, startup_facts
from runner.app.signals import check_signals, ignore_signals, stop_on_signal
from runner.app.subscribers import Subscribers
from runner.app.unfinished import InterruptResult
from runner.app.verification import command_problem, require_runnable_verification
from runner.autonomy.models import SessionLimits as ControlPlaneLimits
from runner.autonomy.store.layout import user_state_directory
from runner.autonomy.store.trust import Trust
from runner.config.instructions import NAMES, has_instruction
from runner.deliverables.tools import DeliverableTools
from runner.errors import RunnerError
from runner.events import Notice, RunResult, RunStarted
from runner.installation import isolate
from runner.loop.planning import idle_commands
from runner.loop.run import Flow, Run
from runner.loop.settings import RunSettings, SessionDependencies
from runner.loop.termination import RunLimits
from runner.marker import Instruction
from runner.ports import Deliverables, SessionGuard
from runner.programs import find_program
from runner.quota.waiting import WaitPolicy
from runner.records.agent_sessions import HistoryKeeper
from runner.records.run_lock import run_lock
from runner.records.spending import SpendBook, Spending, spec_budget
from runner.sandbox.probe import ContainmentRequest, contained, is_boxed
from runner.sandbox.process import bundled_agent, sweep_launchers
from runner.sandbox.status import Caution, Containment
from runner.shell_policy.decision import Decision, PolicySettings

CONTEXT_THRESHOLD_PCT = ControlPlaneLimits().context_threshold_pct
"""Where a session's context counts as full, for the control plane and for --reuse-session."""

MakeTools = Callable[[Instruction], DeliverableTools]
"""Returns fresh tools for one session."""


@contextmanager
def started(job: Job, events: Subscribers) -> Iterator["StartedRun"]:
    """Start a job: check what would end it anyway, lock the project, contain the agent.

    Yields:
        what runs the loop, while the lock and the sandbox are held.

    Raises:
        PrerequisiteError: there is no agent binary, another run is at work in the project, no
            sandbox works here, or there are no credentials.
        ConfigError: agent.json or an instruction override is wrong.
        StateCorruptError: status.json is damaged.
        StateWriteError: the project can't be written.
        InterruptedEarly: it was asked to stop while it started.
    """
    check_signals()
    directory = job.project.directory
    agent = bundled_agent(directory)
    request = ContainmentRequest(
        project=directory,
        agent=agent,
        environ={**os.environ, **job.agent_environment},
        rules=environment_rules(job.project),
        wanted=job.options.sandbox,
        required=job.sandbox_required,
        network=job.options.sandbox_network,
        read_only=isolate(directory, boxed=is_boxed(wanted=job.options.sandbox), used=[agent]),
    )
    sweep_launchers()
    _check_before_spending(job)

    def warn(caution: Caution) -> None:
        events(Notice("warning", caution.text, caution.hint))

    with run_lock(directory), contained(request, warn) as containment:
        facts = (*startup_facts(job), ("Sandbox", containment.summary))
        events(RunStarted(__version__, job.message, facts))
        for caution in containment.cautions:
            warn(caution)
        if job.command == "run":
            for warning in idle_commands(
                job.project.plan(), job.project.file.verification.commands
            ):
                events(Notice("warning", warning))
        interrupt_result = InterruptResult(directory, job.command, events)
        events.put_first(
            interrupt_result,
            Spending(SpendBook(directory), events, budgeted=job.options.budget_usd is not None),
            HistoryKeeper(directory, job.command, events, clean=job.redactor.value),
        )
        policy = job.project.agent_file.policy(allow_destructive=job.options.allow_destructive)
        yield StartedRun(
            job,
            events,
            agent,
            containment,
            replace(policy, shares_processes=containment.shares_processes),
            interrupt_result,
        )


def _check_before_spending(job: Job) -> None:
    """Find what would end the run anyway, before anything is paid for."""
    project = job.project
    find_program("git", project.directory)  # refused now, where it is an agent's to write
    policy = project.agent_file.policy(allow_destructive=job.options.allow_destructive)
    if job.command == "run":
        require_runnable_verification(project, policy)
    for instruction in NAMES:
        if has_instruction(instruction):
            project.instruction_text(instruction)
    plan = project.plan()
    SpendBook(project.directory).load()
    Trust(user_state_directory()).require_usable(project.directory)
    # A run with nothing to work on may need no agent; a scripted model brings a key of its own.
    is_idle = job.command == "run" and plan is not None and plan.next_runnable is None
    if not is_idle and "ANTHROPIC_API_KEY" not in job.agent_environment:
        require_credentials(os.environ)


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A job that has started.

    Attributes:
        events: the sink for its events.
        agent: the agent's binary.
        policy: for the commands of agents and of verification.
    """

    job: Job
    events: Subscribers
    agent: Path
    containment: Containment
    policy: PolicySettings
    interrupt_result: InterruptResult

    def command_problem(self, command: str) -> str | None:
        """Return why a planned verification command can't be taken, None when it can."""
        return command_problem(command, self.job.project, self.policy)

    def execute(
        self,
        flow: Flow,
        deliverables: Deliverables,
        make_tools: MakeTools,
        guards: Sequence[SessionGuard],
    ) -> RunResult:
        """Run agent sessions as the flow decides, until it ends or a signal comes.

        What goes wrong from here on is the result, with exit reason ERROR.
        """
        failures: list[RunnerError] = []
        dependencies = SessionDependencies(
            deliverables=deliverables,
            factory=self._agents(make_tools, failures.append),
            instruction_text=self.job.project.instruction_text,
            sink=self.events,
            guards=(*guards, ToolFailures(failures)),
        )
        run = Run(_settings(self.job), dependencies, flow)
        return self.job.redactor.record(anyio.run(self._until_signal, run))

    async def _until_signal(self, run: Run) -> RunResult:
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_on_signal, run.stop, self.interrupt_result.publish)
            result = await run.execute()
            tasks.cancel_scope.cancel()
        ignore_signals()
        return result

    def _agents(
        self, make_tools: MakeTools, on_failure: Callable[[RunnerError], None]
    ) -> ClaudeAgentFactory:
        job, containment = self.job, self.containment
        project, config = job.project, job.project.agent_file

        def judge(
            instruction: Instruction, offered: frozenset[str], name: str, tool_input: dict[str, Any]
        ) -> Decision:
            return judge_tool(
                name,
                tool_input,
                instruction=instruction,
                project_dir=project.directory,
                settings=self.policy,
                offered=offered,
            )

        return ClaudeAgentFactory(
            AgentSettings(
                project.directory,
                self.agent,
                job.variables_for_agents,
                permission_rules=config.permission_rules,
                mcp_servers=containment.start_servers(config.mcpServers),
                extra_tools=config.extra_tools,
                sandbox=containment.sdk_settings,
                rules=environment_rules(project),
            ),
            judge=judge,
            make_tools=make_tools,
            wrap=containment.wrap,
            redactor=job.redactor,
            start=containment.start,
            on_failure=on_failure,
        )


class ToolFailures:
    """Ends a run whose injected tools could not do their work. Implements `SessionGuard`.

    Further sessions would be paid for and their work not recorded.

    Args:
        failures: what went wrong so far; others add to it.
    """

    def __init__(self, failures: Sequence[RunnerError]) -> None:
        self._failures = failures

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        if self._failures:
            raise self._failures[0]


def _settings(job: Job) -> RunSettings:
    options = job.options
    return RunSettings(
        project_dir=job.project.directory,
        spec_id=job.project.spec_id(),
        # A server may run code of the project at any time, also while a sandbox is being made.
        connects_ahead=not job.project.agent_file.mcpServers,
        model=options.model,
        plan_model=options.plan_model,
        review_model=options.review_model,
        limits=RunLimits(
            options.max_iterations,
            options.max_retries,
            options.max_cost_usd,
            spec_budget(job.project.directory, options.budget_usd),
        ),
        thinking_tokens=options.thinking_tokens,
        max_session_cost_usd=options.max_session_cost_usd,
        session_timeout_seconds=options.session_timeout_minutes * 60,
        reuse_below_pct=CONTEXT_THRESHOLD_PCT if options.reuse_session else None,
        quota=WaitPolicy(options.wait_for_quota, options.max_wait_hours * 3600),
    )
