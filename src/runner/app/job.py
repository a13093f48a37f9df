"""What a command works on, and what it says about that when it starts."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from runner.app.verification import place_of_verification
from runner.config.options import RunOptions
from runner.config.thinking import thinking_summary
from runner.credentials import Redactor
from runner.project import Project
from runner.records.spending import spec_budget
from runner.sandbox.environment import EnvironmentRules
from runner.sandbox.watch import read_only_environment
from runner.text.messages import format_cost

Command = Literal["run", "sync", "review"]


def environment_rules(project: Project) -> EnvironmentRules:
    """Return which variables enter the box in this project.

    Raises:
        ConfigError: runner.toml or agent.json is wrong.
    """
    return EnvironmentRules(
        passed=project.file.environment.passed,
        named=project.agent_file.variables,
        never=project.file.notify.variables,
    )


@dataclass(frozen=True)
class Job:
    """What to run, and where.

    Attributes:
        message: the line under the version in the startup display.
        agent_environment: variables set for the agent over the inherited ones.
        facts: further label/value lines of the startup display.
        command: `run`; `sync` and `review` have read-only sessions.
        sandbox_required: whether to refuse where no sandbox can start.
        divergences: where the conversation left the script of a scripted model, as sentences.
    """

    project: Project
    options: RunOptions
    message: str
    agent_environment: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[tuple[str, str], ...] = ()
    command: Command = "run"
    sandbox_required: bool = True
    divergences: Callable[[], Sequence[str]] = tuple

    @cached_property
    def redactor(self) -> Redactor:
        """Takes the credentials of the agent's environment and of agent.json out of texts.

        Raises:
            ConfigError: agent.json is wrong.
        """
        return self.project.redactor(self.agent_environment)

    @property
    def variables_for_agents(self) -> dict[str, str]:
        """What is set for agents over the inherited environment."""
        if self.command == "run":
            return dict(self.agent_environment)
        read_only = read_only_environment(os.environ.get("PYTEST_ADDOPTS"))
        return {**read_only, **self.agent_environment}


def startup_facts(job: Job) -> tuple[tuple[str, str], ...]:
    """Return the label/value lines of the startup display."""
    options, project = job.options, job.project
    facts = [("Working directory", str(project.directory))]
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
    if options.max_cost_usd is not None:
        facts.append(("Max cost", format_cost(options.max_cost_usd)))
    if budget := spec_budget(project.directory, options.budget_usd):
        spent = f"{format_cost(budget.spent_before_usd)} of {format_cost(budget.total_usd)} spent"
        facts.append(("Budget of the spec", spent))
    if job.command == "run":
        facts.append(("Verification", place_of_verification(project)[0]))
    if options.wait_for_quota:
        facts.append(("Wait for quota", f"up to {options.max_wait_hours:g} h"))
    return (*facts, *job.facts)
