"""`.runner/agent.json`: language profiles, extra commands, permissions, MCP servers.

Fields and meaning are those of seed 001 §4.4. A mistake is an error, never a silent default:
what the user meant to restrict must not be wide open.
"""

import json
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.errors import ConfigError
from runner.security.settings import PolicySettings

AGENT_FILE = "agent.json"

Profile = Literal["base", "node", "bun", "python", "ruby", "go", "rust", "php"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TieredCommands(_Part):
    """Additional shell commands by where they are allowed."""

    base: tuple[str, ...] = Field(default=(), strict=False)
    run: tuple[str, ...] = Field(default=(), strict=False)
    sync: tuple[str, ...] = Field(default=(), strict=False)


class Permissions(_Part):
    """Additional permission rules of the SDK."""

    allow: tuple[str, ...] = Field(default=(), strict=False)


class AgentFile(_Part):
    """The whole file. Everything is optional."""

    profile: Profile | list[Profile] | None = None
    allowCommands: list[str] | TieredCommands | None = None  # noqa: N815 - the file's own name
    allowPkillTargets: tuple[str, ...] = Field(default=(), strict=False)  # noqa: N815 - as above
    permissions: Permissions = Permissions()
    allowedTools: tuple[str, ...] = Field(default=(), strict=False)  # noqa: N815 - as above
    mcpServers: dict[str, dict[str, Any]] = {}  # noqa: N815 - as above; pydantic copies it

    def policy(self, *, allow_destructive: bool) -> PolicySettings:
        """Return what the policy needs of it."""
        fields = self.model_dump(include={"profile", "allowCommands", "allowPkillTargets"})
        return PolicySettings.from_agent_config(fields, allow_destructive=allow_destructive)


def load_agent_file(project_dir: Path) -> AgentFile:
    """Read `.runner/agent.json`; a missing file is an empty one.

    Raises:
        ConfigError: it can't be read or is wrong; names the file, the key, and the nearest
            valid key.
    """
    path = project_dir / ".runner" / AGENT_FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return AgentFile()
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}.",
            hint="Correct it, or remove the file to use the defaults.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}.") from error
    try:
        return AgentFile.model_validate(document)
    except ValidationError as error:
        raise _explained(path, error) from error


def _explained(path: Path, error: ValidationError) -> ConfigError:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"] if not _is_union_branch(part))
    if problem["type"] == "extra_forbidden":
        key = str(problem["loc"][-1])
        known = [*AgentFile.model_fields, *TieredCommands.model_fields, *Permissions.model_fields]
        near = get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
        return ConfigError(f"{path}: there is no key {place}.", hint=hint)
    where = f"{place}: " if place else ""
    return ConfigError(
        f"{path}: {where}{problem['msg']}.", hint="README.md and docs/ describe the file."
    )


def _is_union_branch(part: int | str) -> bool:
    """Pydantic names the branch of a union in the location; users never wrote it."""
    return isinstance(part, str) and ("[" in part or part in {"TieredCommands", "literal"})
