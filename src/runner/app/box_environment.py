"""What the project's configuration says about the environment of agents and verification."""

from collections.abc import Mapping
from pathlib import Path

from runner.config.agent_file import load_agent_file
from runner.config.runner_file import load_runner_file
from runner.credentials import Redactor
from runner.sandbox.environment import EnvironmentRules


def environment_rules(project: Path) -> EnvironmentRules:
    """Return which variables enter the box in this project.

    Raises:
        ConfigError: runner.toml or agent.json is wrong.
    """
    file = load_runner_file(project)
    return EnvironmentRules(
        passed=file.environment.passed,
        named=load_agent_file(project).variables,
        never=file.notify.variables,
    )


def redactor_of(project: Path, environ: Mapping[str, str]) -> Redactor:
    """Return what takes credentials out of texts: those of the environment and of agent.json.

    Raises:
        ConfigError: agent.json is wrong.
    """
    return Redactor(environ, load_agent_file(project).secrets)
