"""Surroundings in which a scripted model answers instead of a paid one."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.errors import DivergenceError
from runner.replay.script import Script, load_script
from runner.replay.server import ScriptedModel


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
