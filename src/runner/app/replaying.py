"""Surroundings in which a scripted model answers instead of a paid one, or one is recorded."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.app.job import Command, Job
from runner.config.options import RunOptions
from runner.errors import UsageError
from runner.project import Project
from runner.replay.recording import Recorder
from runner.replay.script import ModelScript, load_script
from runner.replay.server import ScriptedModel
from runner.text.messages import plural
from runner.text.output import Output

Facts = tuple[tuple[str, str], ...]


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
        """Return where the conversation left the script, in words; to be asked at the end."""
        left = [str(divergence) for divergence in self.model.divergences]
        return [*left, *self.model.unplayed()]


@contextmanager
def answering(
    project: Project, options: RunOptions, message: str, *, command: Command
) -> Iterator[Job]:
    """Give the job of a command, with the model that answers it: scripted, or the real one.

    Raises:
        ScriptError: the script of --replay is wrong.
        UsageError: the file of --record can't be used, or both are given.
        ConfigError: the traffic can't be recorded.
    """
    replay, record = options.replay, options.record
    if replay is None:
        with recorded(record, project.directory) as (environment, facts):
            yield Job(project, options, message, environment, facts, command=command)
        return
    if record is not None:
        raise UsageError(
            "--record and --replay exclude each other: what a script says is written already.",
            hint="Leave out one of them.",
        )
    with scripted(replay, project.directory) as answers:
        yield Job(
            project,
            options,
            message,
            answers.environment,
            (("Model answers", f"scripted, from {replay}"),),
            command=command,
            divergences=answers.divergences,
        )


@contextmanager
def recorded(record: Path | None, directory: Path) -> Iterator[tuple[dict[str, str], Facts]]:
    """Record what the model says into a file, where one is named; say at the end how that went.

    Yields:
        what the agent needs in its environment, and lines for the startup display.

    Raises:
        UsageError: the file can't be used.
        ConfigError: the traffic can't be recorded.
    """
    if record is None:
        yield {}, ()
        return
    with Recorder(record, project=directory, environ=os.environ) as recorder:
        yield recorder.agent_environment(), (("Recording to", str(record)),)
    lines = [f"Warning: {warning}" for warning in recorder.warnings()]
    if recorder.recorded:
        count = plural(recorder.recorded, "agent session")
        lines.append(f"Recorded {count} in {record}. It holds texts of your project.")
    else:
        lines.append("Nothing was recorded: no agent session was answered.")
    Output(sys.stderr).write("".join(f"{line}\n" for line in lines))


@contextmanager
def scripted(script: ModelScript | Path, directory: Path) -> Iterator[Scripted]:
    """Serve `script` on loopback.

    The agent's own state goes to a temporary folder, so that nothing of a real login is used.

    Args:
        script: a loaded script, or the path of its file.
        directory: what `{{project}}` in the script stands for.

    Raises:
        ScriptError: the file is wrong.
    """
    loaded = load_script(script) if isinstance(script, Path) else script
    with (
        tempfile.TemporaryDirectory(prefix="runner-replay-", ignore_cleanup_errors=True) as state,
        ScriptedModel(loaded, project=directory) as model,
    ):
        # A proxy that the user has set must not come between the agent and loopback.
        direct = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        environment = {**model.agent_environment(), **direct, "CLAUDE_CONFIG_DIR": state}
        yield Scripted(environment, model)
