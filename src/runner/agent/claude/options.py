"""Everything the SDK is told about a session, in one place."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.agent.claude.tools import (
    BUILT_IN_TOOLS,
    SERVER_NAME,
    TOOLS_BY_INSTRUCTION,
    qualified_name,
)
from runner.marker import Instruction
from runner.ports import SessionPlan
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
    from claude_agent_sdk.types import McpSdkServerConfig

MAX_BUFFER_BYTES = 64 * 1024 * 1024
"""One tool input of a megabyte ends a session with the SDK's default."""

PROTECTED_FOLDERS = (".runner", ".git", ".claude")
"""In the project: what only runner, git and the user write. Holds over any allow rule."""

_API_RETRIES = "5"
"""About 15 s of the agent's own back-off; the loop adds its own between sessions."""

_USERS_CHOICE = frozenset(
    {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS"}
)

# The agent puts these blocks before our prompt of its own accord, the memory even as instructions
# that override all others. They hold what an agent under review can write: names of branches and
# files, subjects of commits, memory and CLAUDE.md files.
_NO_BLOCKS_OF_ITS_OWN = {
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
}
_ADDED_BY_THE_SDK = ("CLAUDE*", "PWD", "TRACEPARENT", "TRACESTATE")
_NO_MESSAGES = json.dumps({"crossSessionInbound": "refuse"})
"""The agent listens on a socket, and would take what any command writes there for a colleague's
words: the message stands in its context as the system's."""

_FILE_RULES = {
    "Read": ("Read",),
    "Glob": ("Read",),
    "Grep": ("Read",),
    "Write": ("Edit", "Write"),
    "Edit": ("Edit", "Write"),
    "NotebookEdit": ("Edit",),
}


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What is the same for every session of a run.

    Attributes:
        project_dir: absolute path; the agent's working directory.
        agent_binary: absolute path of the Claude Code binary.
        environment: variables set for the agent over the inherited ones.
        permission_rules: the user's additional SDK permission rules (agent.json).
        mcp_servers: the user's own MCP servers (agent.json).
        extra_tools: the user's additional tools (agent.json). One that a permission rule
            scopes, as `WebFetch(domain:example.com)` does, is allowed in that scope alone.
        sandbox: returns the settings of the agent's own sandbox; None leaves it off.
        rules: what the agent gets of the inherited environment.
    """

    project_dir: Path
    agent_binary: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    permission_rules: tuple[str, ...] = ()
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    extra_tools: tuple[str, ...] = ()
    sandbox: Callable[[Instruction], dict[str, Any] | None] = lambda _: None
    rules: EnvironmentRules = ALLOWLIST

    def environment_entries(self, environ: Mapping[str, str]) -> list[str]:
        """Return what an agent gets of an environment and of ours, as `AgentProcess` takes it.

        Args:
            environ: what the SDK starts from.
        """
        inside = self.rules.of_agents(environ)
        ours = _environment(self, Instruction.CODING)
        changed = (
            name if environ.get(name) == value else f"{name}={value}"
            for name, value in inside.items()
            if name not in ours
        )
        return [*changed, *ours, *_ADDED_BY_THE_SDK]

    def sealed(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the variables that the agent alone gets, and nothing else in its sandbox."""
        return ("ANTHROPIC_*", *self.rules.for_agents_alone(environ))


def session_options(
    settings: AgentSettings,
    plan: SessionPlan,
    *,
    launcher: Path,
    server: "McpSdkServerConfig",
    hooks: "list[HookMatcher]",
    on_stderr: Callable[[str], None],
) -> "ClaudeAgentOptions":
    """Return the SDK options of one session."""
    from claude_agent_sdk import ClaudeAgentOptions  # noqa: PLC0415

    return ClaudeAgentOptions(
        tools=[*BUILT_IN_TOOLS[plan.instruction], *settings.extra_tools],
        allowed_tools=permission_rules(plan, settings),
        disallowed_tools=[f"Edit(./{folder}/**)" for folder in PROTECTED_FOLDERS],
        permission_mode="dontAsk",
        system_prompt={"type": "preset", "preset": "claude_code"},
        mcp_servers={**settings.mcp_servers, SERVER_NAME: server},
        strict_mcp_config=True,
        # [] because project settings run the project's own hooks; CLAUDE.md reaches the
        # agent in our prompt instead.
        setting_sources=[],
        skills=[],
        hooks={"PreToolUse": hooks},
        model=plan.model,
        thinking=_thinking(plan),
        max_budget_usd=plan.max_cost_usd,
        cwd=settings.project_dir,
        cli_path=launcher,
        env=_environment(settings, plan.instruction),
        stderr=on_stderr,
        max_buffer_size=MAX_BUFFER_BYTES,
        verbatim_prompts=True,
        sandbox=_sandbox(settings, plan.instruction),
        settings=_NO_MESSAGES,
    )


def permission_rules(plan: SessionPlan, settings: AgentSettings) -> list[str]:
    """Return the SDK permission rules: the project, /tmp, our tools, and the user's own."""
    rules: list[str] = []
    for tool in BUILT_IN_TOOLS[plan.instruction]:
        if tool in _FILE_RULES:
            for rule in _FILE_RULES[tool]:
                rules += [f"{rule}(./**)", f"{rule}(//tmp/**)"]
        else:
            rules.append(tool)
    rules += [qualified_name(name) for name in TOOLS_BY_INSTRUCTION[plan.instruction]]
    scoped = {rule.partition("(")[0] for rule in settings.permission_rules if "(" in rule}
    rules += [tool for tool in settings.extra_tools if tool not in scoped]
    rules += [f"mcp__{server}" for server in settings.mcp_servers]
    return list(dict.fromkeys((*rules, *settings.permission_rules)))


def is_users_tool(settings: AgentSettings, name: str) -> bool:
    """Whether agent.json brought this tool in, by name or with an MCP server."""
    servers = tuple(f"mcp__{server}__" for server in settings.mcp_servers)
    return name in settings.extra_tools or name.startswith(servers)


def _thinking(plan: SessionPlan) -> Any:
    if plan.thinking_tokens is None:
        return {"type": "disabled"}  # unset, some models think with the largest budget
    return {"type": "enabled", "budget_tokens": plan.thinking_tokens}


def _sandbox(settings: AgentSettings, instruction: Instruction) -> Any:
    # The SDK's own type does not know all keys that the agent obeys.
    return settings.sandbox(instruction)


def _environment(settings: AgentSettings, instruction: Instruction) -> dict[str, str]:
    defaults = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": _API_RETRIES,
        # A request that is not even answered would otherwise hang for ten minutes a try.
        "API_TIMEOUT_MS": "120000",
        # The policy judges relative paths from the project directory: no `cd` may outlive
        # its command (the hook refuses a shell that starts elsewhere).
        "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",
        # The policy judges bash; a login shell of another kind would read the text otherwise.
        "SHELL": "/bin/bash",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
    }
    chosen = {name: os.environ.get(name, value) for name, value in defaults.items()}
    fixed = {name: value for name, value in defaults.items() if name not in _USERS_CHOICE}
    last = _NO_BLOCKS_OF_ITS_OWN if instruction.judges else {}
    return {**chosen, **fixed, **settings.environment, **last}
