"""Which tools and permission rules of agent.json can be honoured (ADR-0041).

The security baseline is not the user's to lower: a rule that asks for less is taken and has no
effect, as seed 001 §8.3 says; a tool that the policy can't judge is refused.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit

from runner.config.names import suggestion

BASELINE_TOOLS = frozenset({"Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep"})
"""Offered by the instruction of a session, and by nothing else."""

ADDABLE_TOOLS = (
    "Task", "Agent", "WebSearch", "WebFetch", "Skill", "TodoWrite", "ToolSearch", "TaskOutput",
    "TaskStop", "BashOutput", "KillShell",
)  # fmt: skip
"""What agent.json may add: they do nothing that is not judged, or leave this machine alone."""

_SUCCESSORS = MappingProxyType(
    {"MultiEdit": "Edit", "NotebookRead": "Read", "LS": "Glob", "TodoRead": "TodoWrite"}
)
_UNJUDGED = MappingProxyType(
    dict.fromkeys(("Monitor", "Workflow", "REPL", "PowerShell"), "runs programs")
    | dict.fromkeys(("EnterWorktree", "ExitWorktree"), "moves the session to another folder")
    | dict.fromkeys(
        ("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "RemoteTrigger"),
        "starts work after the session",
    )
    | dict.fromkeys(("SendMessage", "ListAgents", "TeamCreate"), "reaches other sessions")
)
_ALIASES = MappingProxyType(
    {"Task": "Agent", "Agent": "Task", "KillShell": "TaskStop", "BashOutput": "TaskOutput"}
)
_OUR_PREFIX = "mcp__runner"
_MCP = re.compile(r"mcp__(?P<server>[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)(?:__[\w*-]+)?")
_NAME = re.compile(r"[A-Za-z]\w*")
_RULE = re.compile(r"(?P<tool>[\w-]+)(?:\((?P<scope>[^\x00-\x1f]*)\))?")
_FILE_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_PROTECTED = frozenset({".runner", ".git", ".claude"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One permission rule, as the agent understands it.

    Attributes:
        tool: the tool it is for.
        text: the rule to give to the agent.
        effective: False when the baseline overrules it.
    """

    tool: str
    text: str
    effective: bool = True


def tool_problem(name: str, servers: Iterable[str]) -> str | None:
    """Return why agent.json can't add this tool, None when it can.

    Args:
        servers: names of the MCP servers that agent.json brings.
    """
    if name.startswith("mcp__"):
        return _mcp_problem(name, servers)
    if name in BASELINE_TOOLS or name in ADDABLE_TOOLS or name in _SUCCESSORS:
        return None
    if name in _UNJUDGED:
        return f"{name} can't be added: it {_UNJUDGED[name]}, where no rule would be asked."
    if "(" in name:
        return f"{name} is a permission rule, not a tool's name. Put it into permissions.allow."
    if not _NAME.fullmatch(name):
        return f"{name!r} is not the name of a tool."
    known = [*ADDABLE_TOOLS, *sorted(BASELINE_TOOLS)]
    return f"there is no tool {name}. {suggestion(name, known, 'Known tools')}"


def added_tools(names: Iterable[str]) -> tuple[str, ...]:
    """Return the tools to offer besides the baseline, under every name the agent may use."""
    tools: dict[str, None] = {}
    for name in names:
        current = _SUCCESSORS.get(name, name)
        if current not in BASELINE_TOOLS:
            tools[current] = None
            if current in _ALIASES:
                tools[_ALIASES[current]] = None
    return tuple(tools)


def parse_rule(text: str, servers: Iterable[str]) -> Rule:
    """Read one entry of permissions.allow.

    Raises:
        ValueError: it can't be honoured; the message is a sentence.
    """
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a permission rule such as Read(./**).")
    tool, scope = match["tool"], match["scope"]
    problem = tool_problem(tool, servers)
    if problem is not None:
        raise ValueError(problem)
    if tool == "WebFetch" and scope not in (None, "*"):
        return Rule(tool, f"WebFetch({_domain(scope)})")
    if tool in _FILE_WRITERS:
        return Rule(tool, text.strip(), effective=_is_inside(scope))
    return Rule(tool, tool if scope == "*" else text.strip())


def _mcp_problem(name: str, servers: Iterable[str]) -> str | None:
    match = _MCP.fullmatch(name)
    if match is None:
        return f"{name!r} is not the name of an MCP tool such as mcp__server__tool."
    known = list(servers)
    if name == _OUR_PREFIX or name.startswith(f"{_OUR_PREFIX}__"):
        return f"{name} is runner's own; each session gets the ones it needs."
    if match["server"] not in known:
        return f"{name}: mcpServers has no {match['server']}. " + (
            suggestion(match["server"], known, "It has") if known else "It has none."
        )
    return None


def _domain(scope: str) -> str:
    """Return the form that the agent knows: it takes domains, seed 001 shows addresses."""
    if scope.startswith("domain:"):
        return scope
    address = urlsplit(scope)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(f"WebFetch({scope}) must be WebFetch(domain:example.com).")
    if address.path not in ("", "/", "/*", "/**") or address.query or address.port:
        raise ValueError(
            f"WebFetch({scope}) can't be honoured: the agent knows whole domains alone. "
            f"Use WebFetch(domain:{address.hostname}) if that is what you mean."
        )
    return f"domain:{address.hostname}"


def _is_inside(scope: str | None) -> bool:
    """Whether a rule for writing stays in the project or /tmp, outside the protected folders."""
    if scope is None or scope.startswith("~"):
        return False
    path = scope
    if path.startswith("//"):
        return path.startswith("//tmp/") and ".." not in path.split("/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        return False
    return parts[0] != "*" and parts[0].casefold() not in _PROTECTED
