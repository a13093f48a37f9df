"""`.runner/agent.json`: language profiles, extra commands, permissions, MCP servers.

Fields and meaning are those of seed 001 §4.4. A mistake is an error, never a silent default:
what the user meant to restrict must not be wide open.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from runner.config.agent_rules import Rule, added_tools, parse_rule, tool_problem
from runner.config.names import looks_secret, suggestion
from runner.config.reading import read_text
from runner.errors import ConfigError
from runner.shell_policy.decision import PolicySettings
from runner.text import messages as wording

RESERVED = "runner"
HIDDEN = "(hidden)"

# The agent would rewrite other characters, and the hook would not know the tools again.
_NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_KINDS = ("stdio", "http", "sse")
_SECRET_VALUE = re.compile(r"\bsk-[\w-]{8,}|\bgh[pousr]_\w{8,}|\bBearer\s", re.IGNORECASE)


def check_server_name(name: str) -> str:
    """Return the name.

    Raises:
        ValueError: a server can't be called so.
    """
    if name.lower() == RESERVED:
        raise ValueError(f"the name {name} is taken by runner's own server; choose another.")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} can't name a server: use letters, digits, hyphens and single underscores."
        )
    return name


def check_server(server: dict[str, Any]) -> dict[str, Any]:
    """Return the server's description. Keys that are not known here are the agent's to judge.

    Raises:
        ValueError: it can't be started or reached as described.
    """
    kind = server.get("type", "http" if "url" in server else "stdio")
    if kind not in _KINDS:
        raise ValueError(f"type must be one of {', '.join(_KINDS)}.")
    needed = "command" if kind == "stdio" else "url"
    if not isinstance(server.get(needed), str) or not server[needed].strip():
        raise ValueError(f"a server of type {kind} needs a {needed}, as a string.")
    if not _is_text_list(server.get("args", [])):
        raise ValueError("args must be a list of strings.")
    for key in ("env", "headers"):
        if not _is_text_map(server.get(key, {})):
            raise ValueError(f"{key} must be an object of strings.")
    return server


def redacted(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the server's description with everything hidden that may be a credential."""
    return {key: _shown(key, value) for key, value in server.items()}


def _shown(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        hide = key in ("env", "headers")
        return {name: HIDDEN if hide else _shown(name, entry) for name, entry in value.items()}
    if isinstance(value, list):
        return _shown_arguments(value)
    if looks_secret(key):
        return HIDDEN
    return _shown_text(value) if isinstance(value, str) else value


def _shown_arguments(arguments: list[Any]) -> list[Any]:
    shown: list[Any] = []
    names_secret = False
    for argument in arguments:
        text = _shown_text(argument) if isinstance(argument, str) else _shown("", argument)
        shown.append(HIDDEN if names_secret else text)
        names_secret = isinstance(argument, str) and looks_secret(argument)
    return shown


def _shown_text(text: str) -> str:
    if _SECRET_VALUE.search(text):
        return HIDDEN
    if "://" in text:
        return _shown_address(text)
    name, equals, _ = text.partition("=")
    return f"{name}={HIDDEN}" if equals and looks_secret(name) else text


def _shown_address(text: str) -> str:
    """Return an address without user, password and query."""
    try:
        address = urlsplit(text)
        place = address.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    rest = f"?{HIDDEN}" if address.query else ""
    return f"{address.scheme}://{place}{address.path}{rest}"


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())


AGENT_FILE = "agent.json"

Profile = Literal["base", "node", "bun", "python", "ruby", "go", "rust", "php"]

_PROGRAM = re.compile(r"[A-Za-z0-9_][\w.+@-]*")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_TYPES = {"tuple_type": "must be a list of strings"}
_ELSEWHERE = {
    "sandbox": "The sandbox is not turned off in a file that comes with a repository.",
    "hooks": "Hooks are not part of agent.json; every tool call passes runner's own.",
}


def _program(name: str) -> str:
    first = name.split(maxsplit=1)[0] if name.strip() else ""
    if first != name and _PROGRAM.fullmatch(first):
        raise ValueError(
            f'{name!r} is a program with arguments. Write the program alone, "{first}"; it is then '
            "allowed with any arguments."
        )
    if not _PROGRAM.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a program, such as docker.")
    return name


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _some(profiles: tuple[Profile, ...]) -> tuple[Profile, ...]:
    if not profiles:
        raise ValueError('the list is empty. Leave profile out for all, or say "base" for none.')
    return profiles


def _tiered(value: object) -> object:
    return {"run": value} if isinstance(value, list) else value


Texts = Annotated[tuple[str, ...], Field(strict=False)]
Programs = Annotated[tuple[Annotated[str, AfterValidator(_program)], ...], Field(strict=False)]
Profiles = Annotated[
    tuple[Profile, ...], Field(strict=False), AfterValidator(_some), BeforeValidator(_listed)
]
ServerName = Annotated[str, AfterValidator(check_server_name)]
Server = Annotated[dict[str, Any], AfterValidator(check_server)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TieredCommands(_Part):
    """Additional shell commands by where they are allowed; the legacy list means `run`."""

    base: Programs = ()
    run: Programs = ()
    sync: Programs = ()


class Permissions(_Part):
    """Additional permission rules of the SDK, as written."""

    allow: Texts = ()


class AgentFile(_Part):
    """The whole file. Everything is optional."""

    profile: Profiles | None = None
    allowCommands: Annotated[TieredCommands, BeforeValidator(_tiered)] = TieredCommands()  # noqa: N815 - the file's own name
    allowPkillTargets: Programs = ()  # noqa: N815 - as above
    permissions: Permissions = Permissions()
    allowedTools: Texts = ()  # noqa: N815 - as above
    mcpServers: dict[ServerName, Server] = {}  # noqa: N815 - as above; pydantic copies it

    @model_validator(mode="after")
    def _can_be_honoured(self) -> Self:
        for name in self.allowedTools:
            problem = tool_problem(name, self.mcpServers)
            if problem is not None:
                raise ValueError(f"allowedTools: {problem}")
        for text in self.permissions.allow:
            try:
                parse_rule(text, self.mcpServers)
            except ValueError as error:
                raise ValueError(f"permissions.allow: {error}") from error
        return self

    def policy(self, *, allow_destructive: bool) -> PolicySettings:
        """Return what the policy needs of it."""
        fields = self.model_dump(include={"profile", "allowCommands", "allowPkillTargets"})
        return PolicySettings.from_agent_config(fields, allow_destructive=allow_destructive)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The user's permission rules, those that the baseline overrules among them."""
        return tuple(parse_rule(text, self.mcpServers) for text in self.permissions.allow)

    @property
    def permission_rules(self) -> tuple[str, ...]:
        """The rules to give to the agent besides the baseline's."""
        return tuple(rule.text for rule in self.rules if rule.effective)

    @property
    def extra_tools(self) -> tuple[str, ...]:
        """The tools to offer besides the baseline's: listed ones, and those that rules are for.

        A tool that has a rule with a scope is allowed within that scope alone.
        """
        return added_tools((*self.allowedTools, *(rule.tool for rule in self.rules)))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the descriptions of MCP servers refer to, as `${NAME}`."""
        texts = _texts(self.mcpServers)
        return tuple(dict.fromkeys(name for text in texts for name in _REFERENCE.findall(text)))

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the descriptions of MCP servers hold, with their names."""
        found: dict[str, str] = {}
        for server in self.mcpServers.values():
            for name, value in {**server.get("env", {}), **server.get("headers", {})}.items():
                if looks_secret(name) and "${" not in value:
                    # Of `Bearer KEY` the key alone is secret, too.
                    found |= {value: name, value.rpartition(" ")[2]: name}
        return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)


_PARTS: dict[str, type[BaseModel]] = {
    "allowCommands": TieredCommands,
    "permissions": Permissions,
}


def load_agent_file(project_dir: Path) -> AgentFile:
    """Read `.runner/agent.json`; a missing file is an empty one.

    Raises:
        ConfigError: it can't be read or is wrong; names the file, the key, and the nearest
            valid key.
    """
    path = project_dir / ".runner" / AGENT_FILE
    text = read_text(path)
    return AgentFile() if text is None else parse_agent_file(path, text)


def parse_agent_file(path: Path, text: str) -> AgentFile:
    """Read the text of an agent.json; `path` is named in errors.

    Raises:
        ConfigError: as `load_agent_file`.
    """
    try:
        document = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}.",
            hint="Correct it, or remove the file to use the defaults.",
        ) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(f"{path}: {reason}.", hint="Correct it.") from error
    try:
        return AgentFile.model_validate(document)
    except ValidationError as error:
        _refuse(path, error.errors(include_url=False)[0])


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _refuse(path: Path, problem: ErrorDetails) -> NoReturn:
    *above, last = problem["loc"] or ("",)
    place = _place(problem["loc"])
    if problem["type"] == "extra_forbidden":
        raise ConfigError(
            f"{path}: there is no key {place}.",
            hint=_unknown_key_hint(str(last), above, problem["input"]),
        )
    if problem["type"] == "literal_error":
        raise ConfigError(
            f"{path}: {place}: there is no profile {problem['input']!r}.",
            hint=suggestion(str(problem["input"]), get_args(Profile), "Known profiles"),
        )
    what = _TYPES.get(problem["type"]) or wording.problem(problem)
    if not place:
        place = "the file" if what.startswith("must be") else ""
    stop = "" if what.endswith(".") else "."
    raise ConfigError(
        f"{path}: {wording.stated(place, what) if place else what}{stop}",
        hint="docs/configuration.md describes the file.",
    )


def _unknown_key_hint(key: str, above: Iterable[int | str], value: object) -> str:
    parent = next(iter(above), None)
    if parent is None and key in _ELSEWHERE:
        return _ELSEWHERE[key]
    if isinstance(value, str) and looks_secret(key):
        return "Set the credential in the environment (ANTHROPIC_API_KEY), and remove it here."
    return suggestion(key, _PARTS.get(str(parent), AgentFile).model_fields)


def _place(location: tuple[int | str, ...]) -> str:
    """Say where a value stands in the way people do: `allowCommands.run[0]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(part for part in parts if part != ".[key]").removeprefix(".")
