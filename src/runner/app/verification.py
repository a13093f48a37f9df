"""The project's own verification commands, looked at before a run begins."""

import os

from runner.config.dependencies import Tree, setup_commands
from runner.errors import ConfigError
from runner.project import Project
from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.vacuous import vacuous
from runner.verification.verifier import in_place_reason, verification_problem

IN_PLACE_HINT = (
    "Files that git ignores, and caches that agents can write, then decide what passes. Where a "
    "clean room works, take `in_place` out of .runner/runner.toml."
)


def command_problem(command: str, project: Project, policy: PolicySettings) -> str | None:
    """Return why a planned verification command can't be taken, None when it can.

    It would not be run, or it could not fail and so would prove nothing.
    """
    return verification_problem(command, project.directory, policy) or vacuous(command)


def place_of_verification(project: Project) -> tuple[str, bool]:
    """Return in a few words where verification commands run, and whether that is a clean room."""
    table, directory = project.file.verification, project.directory.resolve()
    path = project.environ.get("PATH", os.defpath)
    why_in_place = in_place_reason(table, directory, path)
    if why_in_place is not None:
        return f"in place, in the project's own folder: {why_in_place}", False
    found = setup_commands(table.setup, Tree(directory, directory, project.environ))
    setup = "; ".join(f"`{one.command}` ({one.origin})" for one in found)
    return f"in a clean room, {f'after {setup}' if setup else 'without setup commands'}", True


def require_runnable_verification(project: Project, policy: PolicySettings) -> None:
    """Refuse `[verification]` commands that the policy denies: no agent could fix that.

    Raises:
        ConfigError: one of them would not be run, or runner.toml is wrong.
    """
    table = project.file.verification
    for command in (*table.commands, *(table.setup or ())):
        problem = verification_problem(command, project.directory, policy)
        if problem is not None:
            raise ConfigError(
                f"The command `{command}` of [verification] in .runner/runner.toml would not be "
                f"run: {problem}",
                hint="Replace it, or allow it in .runner/agent.json; "
                "`runner check` says what the policy decides about a command.",
            )
