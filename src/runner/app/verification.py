"""The project's own verification commands, looked at before a run begins."""

import os
from collections.abc import Mapping
from pathlib import Path

from runner.config.dependencies import Tree, setup_commands
from runner.config.runner_file import VerificationTable, load_runner_file
from runner.errors import ConfigError
from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.vacuous import vacuous
from runner.verification.verifier import in_place_reason, verification_problem


def command_problem(command: str, project: Path, policy: PolicySettings) -> str | None:
    """Return why a planned verification command can't be taken, None when it can.

    It would not be run, or it could not fail and so would prove nothing.
    """
    return verification_problem(command, project, policy) or vacuous(command)


IN_PLACE_HINT = (
    "Files that git ignores, and caches that agents can write, then decide what passes. Where a "
    "clean room works, take `in_place` out of .runner/runner.toml."
)


def place_of_verification(
    project: Path, verification: VerificationTable, environ: Mapping[str, str] | None = None
) -> tuple[str, bool]:
    """Return in a few words where verification commands run, and whether that is a clean room."""
    environ = os.environ if environ is None else environ
    why_in_place = in_place_reason(verification, project.resolve(), environ.get("PATH", os.defpath))
    if why_in_place is not None:
        return f"in place, in the project's own folder: {why_in_place}", False
    project = project.resolve()
    found = setup_commands(verification.setup, Tree(project, project, environ))
    setup = "; ".join(f"`{one.command}` ({one.origin})" for one in found)
    return f"in a clean room, {f'after {setup}' if setup else 'without setup commands'}", True


def require_runnable_verification(project: Path, policy: PolicySettings) -> None:
    """Refuse `[verification]` commands that the policy denies: no agent could mend that.

    Raises:
        ConfigError: one of them would not be run, or runner.toml is wrong.
    """
    table = load_runner_file(project).verification
    for command in (*table.commands, *(table.setup or ())):
        problem = verification_problem(command, project, policy)
        if problem is not None:
            raise ConfigError(
                f"The command `{command}` of [verification] in .runner/runner.toml would not be "
                f"run: {problem}",
                hint="Replace it, or allow it in .runner/agent.json; "
                "`runner check` says what the policy decides about a command.",
            )
