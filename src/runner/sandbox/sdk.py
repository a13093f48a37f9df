"""The agent's own sandbox for its Bash tool: the layer on macOS, an inner one on Linux."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.sandbox.secrets import Needs, secret_paths

_STRICT = {
    "enabled": True,
    "failIfUnavailable": True,
    "allowUnsandboxedCommands": False,
    "autoAllowBashIfSandboxed": False,
}
_REPOSITORY = (".git/config", ".git/config.worktree", ".git/hooks", ".git/info", ".runner")


def nested_sandbox(writable: Sequence[Path]) -> dict[str, Any]:
    """Return the settings inside bubblewrap, which has seen to files: no network for Bash.

    Args:
        writable: folders to leave as writable as they are, besides the project.
    """
    return {
        **_STRICT,
        "enableWeakerNestedSandbox": True,
        "filesystem": {"allowWrite": [str(path) for path in writable]},
    }


def sdk_sandbox(
    project: Path,
    home: Path,
    environ: Mapping[str, str],
    *,
    read_only: bool,
    needs: Needs = lambda _: False,
) -> dict[str, Any]:
    """Return the sandbox settings for a session.

    Its Bash writes only the project and temporary files, and reaches no network. The keys that
    the SDK's types do not name were found by measurement; the agent ignores unknown ones, so
    tests look at the effect.

    Args:
        read_only: the project must not be written either.
        needs: files that these variables name can be read.
    """
    denied = [str(project)] if read_only else [str(project / name) for name in _REPOSITORY]
    return {
        **_STRICT,
        "filesystem": {
            "denyWrite": denied,
            "denyRead": sorted(
                {str(p) for p in secret_paths(home, environ, project=project, needs=needs)}
            ),
        },
    }
