"""The project's own verification commands, looked at before a run begins."""

from pathlib import Path

from runner.agent.verifying import verification_problem
from runner.config.runner_file import load_runner_file
from runner.errors import ConfigError
from runner.security.settings import PolicySettings
from runner.security.vacuous import vacuous


def command_problem(command: str, project: Path, policy: PolicySettings) -> str | None:
    """Return why a planned verification command can't be taken, None when it can.

    It would not be run, or it could not fail and so would prove nothing.
    """
    return verification_problem(command, project, policy) or vacuous(command)


def require_runnable_verification(project: Path, policy: PolicySettings) -> None:
    """Refuse `[verification]` commands that the policy denies: no agent could mend that.

    Raises:
        ConfigError: one of them would not be run, or runner.toml is wrong.
    """
    for command in load_runner_file(project).verification.commands:
        problem = verification_problem(command, project, policy)
        if problem is not None:
            raise ConfigError(
                f"The command `{command}` of [verification] in .runner/runner.toml would not be "
                f"run: {problem}",
                hint="Replace it, or allow it in .runner/agent.json; "
                "`runner check` says what the policy decides about a command.",
            )
