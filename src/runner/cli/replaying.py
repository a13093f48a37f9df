"""Surroundings in which a scripted model answers instead of a paid one."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.cli.assembly import Command, Job
from runner.config.run_options import RunOptions
from runner.errors import DivergenceError
from runner.replay.script import Script, load_script
from runner.replay.server import ScriptedModel


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
        DivergenceError: afterwards, when the conversation left the script.
    """
    if replay is None:
        yield Job(project_dir, options, message, command=command)
        return
    with scripted_environment(replay, project_dir) as environment:
        facts = (("Model answers", f"scripted, from {replay}"),)
        yield Job(project_dir, options, message, environment, facts, command=command)


@contextmanager
def scripted_environment(script: Script | Path, project_dir: Path) -> Iterator[dict[str, str]]:
    """Serve `script` on loopback; give the agent's environment while it is served.

    The agent's own state goes to a temporary folder, so that nothing of a real login is used.

    Args:
        script: a loaded script, or the path of its file.
        project_dir: what `{{project}}` in the script stands for.

    Raises:
        ScriptError: the file is wrong.
        DivergenceError: afterwards, when the conversation left the script.
    """
    loaded = load_script(script) if isinstance(script, Path) else script
    with (
        tempfile.TemporaryDirectory(prefix="runner-replay-", ignore_cleanup_errors=True) as state,
        ScriptedModel(loaded, project=project_dir) as model,
    ):
        # A proxy that the user has set must not come between the agent and loopback.
        direct = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        yield {**model.agent_environment(), **direct, "CLAUDE_CONFIG_DIR": state}
        divergences = model.divergences
    if divergences:
        first = divergences[0]
        raise DivergenceError(
            f"The conversation left the script {len(divergences)} time(s); first: {first}",
            hint="docs/scripted-model.md explains how sessions and turns are matched.",
        )
