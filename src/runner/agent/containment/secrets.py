"""What the agent has no business with: credential files and variables."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.agent.containment.ci import CI_VARIABLES, ci_secrets, ci_variables
from runner.autonomy.store.layout import user_state_directory

_IN_HOME = (
    ".ssh", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".gnupg", ".password-store",
    ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".pgpass",
    ".my.cnf", ".boto", ".s3cfg", ".vault-token", ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json",
    ".config/gh", ".config/glab-cli", ".config/hub", ".config/git/credentials", ".config/op",
    ".config/rclone", ".config/doctl", ".config/heroku", ".config/containers/auth.json",
    ".config/github-copilot", ".config/pypoetry/auth.toml", ".local/share/keyrings",
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".bash_history", ".zsh_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".Xauthority", ".ICEauthority",
)  # fmt: skip

# Claude Code signs in with these folders when it is told to use another cloud.
_NEEDED_WITH = {
    ".aws": "CLAUDE_CODE_USE_BEDROCK",
    ".config/gcloud": "CLAUDE_CODE_USE_VERTEX",
    ".azure": "CLAUDE_CODE_USE_FOUNDRY",
}

HIDDEN_VARIABLES = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR", "XAUTHORITY", "DOCKER_HOST", "DOCKER_AUTH_CONFIG", "CONTAINER_HOST",
    "NPM_TOKEN", "NODE_AUTH_TOKEN", "TWINE_PASSWORD", "UV_PUBLISH_TOKEN", "UV_PUBLISH_PASSWORD",
    "PYPI_TOKEN", "POETRY_PYPI_TOKEN_PYPI", "CARGO_REGISTRY_TOKEN", "VAULT_TOKEN",
    *CI_VARIABLES,
)  # fmt: skip
"""Taken out of the agent's environment: sockets of agents, and tokens that publish."""

_AGENTS_OWN = ("ANTHROPIC_", "CLAUDE")
_AGENTS_CLOUD = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "GCLOUD_", "CLOUD_ML_", "CLOUDSDK_"),
    "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_",),
}
_BEARER = "AWS_BEARER_TOKEN_BEDROCK"


def hidden_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the names of all variables that a sandbox takes out of this environment."""
    return list(dict.fromkeys((*HIDDEN_VARIABLES, *ci_variables(environ))))


def without_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what the agent signs in with.

    For programs that runner starts by itself: they need no model, and run the agent's code.
    """
    prefixes = list(_AGENTS_OWN)
    for switch, names in _AGENTS_CLOUD.items():
        if environ.get(switch):
            prefixes += names
    return {
        name: value
        for name, value in environ.items()
        if name != _BEARER and not name.startswith(tuple(prefixes))
    }


def secret_paths(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the credential files and folders that exist, in `home` and of CI, links resolved.

    What Claude Code itself signs in with (Bedrock, Vertex, Foundry) is left out. Among them is
    our own folder with the secret that seals sessions: whoever reads it can forge a gate.
    """
    own = user_state_directory()
    # A folder that is made later would be seen: what is hidden is decided at the start.
    with contextlib.suppress(OSError):
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
    yield from _existing(own)
    for name in _IN_HOME:
        switch = _NEEDED_WITH.get(name)
        if switch is None or not environ.get(switch):
            yield from _existing(home / name)
    try:
        dotenv = sorted(home.glob(".env*"))
    except OSError:
        dotenv = []
    for path in (*dotenv, *ci_secrets(environ)):
        yield from _existing(path)


def _existing(path: Path) -> Iterator[Path]:
    try:
        if path.exists():
            yield path.resolve()
    except OSError:
        return
