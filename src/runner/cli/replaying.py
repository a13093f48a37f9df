"""Surroundings in which a scripted model answers instead of a paid one."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.cli.assembly import Command, Job
from runner.config.run_options import RunOptions
from runner.replay.script import Script, load_script
from runner.replay.server import ScriptedModel


@dataclass(frozen=True, slots=True)
class Scripted:
    """A scripted model that is being served.

    Attributes:
        environment: what an agent needs to talk to it.
        model: where the conversation left the script stands in its `divergences`.
    """

    environment: dict[str, str]
    model: ScriptedModel

    def divergences(self) -> Sequence[str]:
        """Return where the conversation left the script so far, in words."""
        return [str(divergence) for divergence in self.model.divergences]


@contextmanager
def answering(
    replay: Path | None,
    project_dir: Path,
    options: RunOptions,
    message: str,
    *,
    command: Command,
) -> Iterator[Job]:
    """Give the job of a command, with the model that answers it: scripted, or the real one.

    Raises:
        ScriptError: the script that `replay` names is wrong.
    """
    if replay is None:
        yield Job(project_dir, options, message, command=command)
        return
    with scripted(replay, project_dir) as answers:
        yield Job(
            project_dir,
            options,
            message,
            answers.environment,
            (("Model answers", f"scripted, from {replay}"),),
            command=command,
            divergences=answers.divergences,
        )


@contextmanager
def scripted(script: Script | Path, project_dir: Path) -> Iterator[Scripted]:
    """Serve `script` on loopback.

    The agent's own state goes to a temporary folder, so that nothing of a real login is used.

    Args:
        script: a loaded script, or the path of its file.
        project_dir: what `{{project}}` in the script stands for.

    Raises:
        ScriptError: the file is wrong.
    """
    loaded = load_script(script) if isinstance(script, Path) else script
    with (
        tempfile.TemporaryDirectory(prefix="runner-replay-", ignore_cleanup_errors=True) as state,
        ScriptedModel(loaded, project=project_dir) as model,
    ):
        # A proxy that the user has set must not come between the agent and loopback.
        direct = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        environment = {**model.agent_environment(), **direct, "CLAUDE_CONFIG_DIR": state}
        yield Scripted(environment, model)
