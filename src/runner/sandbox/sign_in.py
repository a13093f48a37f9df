"""The variables and folders that Claude Code signs in with."""

from collections.abc import Mapping
from dataclasses import dataclass

_OFF = frozenset({"", "0", "false", "no", "off"})
_OWN = ("ANTHROPIC_", "CLAUDE")


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud that Claude Code can use instead of Anthropic's own API.

    Attributes:
        switch: the variable that chooses it.
        prefixes: of the variables that it signs in with.
        folder: in the home folder, where its credentials are.
    """

    switch: str
    prefixes: tuple[str, ...]
    folder: str


_VERTEX = ("GOOGLE_", "GCLOUD_", "CLOUD_ML_", "CLOUDSDK_", "VERTEX_")
CLOUDS = (
    Cloud("CLAUDE_CODE_USE_BEDROCK", ("AWS_",), ".aws"),
    Cloud("CLAUDE_CODE_USE_VERTEX", _VERTEX, ".config/gcloud"),
    Cloud("CLAUDE_CODE_USE_FOUNDRY", ("AZURE_",), ".azure"),
)


def clouds_in_use(environ: Mapping[str, str]) -> tuple[Cloud, ...]:
    """Return the clouds that the environment switches on; none for Anthropic's own API."""
    return tuple(
        cloud for cloud in CLOUDS if environ.get(cloud.switch, "").strip().lower() not in _OFF
    )


def is_sign_in(name: str, environ: Mapping[str, str]) -> bool:
    """Whether a variable is the agent's own: one of its settings, or what it signs in with."""
    clouds = clouds_in_use(environ)
    return name.startswith(_OWN) or any(name.startswith(cloud.prefixes) for cloud in clouds)
