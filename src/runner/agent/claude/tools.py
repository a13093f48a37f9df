"""The tools that runner injects into an agent session, as an in-process MCP server.

Every session gets a fresh server with the subset for its instruction (CONTRACT §5).
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from runner import __version__
from runner.credentials import Redactor
from runner.deliverables.schemas import TOOL_DESCRIPTIONS, TOOL_SCHEMAS
from runner.deliverables.tools import DeliverableTools
from runner.errors import DeliverableError, RunnerError
from runner.marker import Instruction

if TYPE_CHECKING:
    from claude_agent_sdk import SdkMcpTool
    from claude_agent_sdk.types import McpSdkServerConfig

SERVER_NAME = "runner"

TakeCall = Callable[[str, dict[str, Any]], Awaitable[None]]
"""(tool name, its arguments); raises where the session's stream asked for no such call."""

RefusalSink = Callable[[str, dict[str, Any], RunnerError], None]
"""(tool name, its arguments, why it was refused)."""

TOOLS_BY_INSTRUCTION: Mapping[Instruction, tuple[str, ...]] = {
    Instruction.INITIALIZER: ("create",),
    Instruction.CODING: ("set_status", "list"),
    Instruction.SYNC: ("create", "deprecate", "list"),
    Instruction.VERIFY: ("set_status", "verify", "list"),
    Instruction.REVIEW: ("submit_review", "list"),
    Instruction.REMEDIATE: ("list",),
}

_PLANNING = frozenset({"create", "deprecate", "verify", "list"})
"""Tools whose texts agents and programs work by; what the others take is for people."""

BUILT_IN_TOOLS: Mapping[Instruction, tuple[str, ...]] = {
    Instruction.INITIALIZER: ("Bash", "Read", "Write", "Edit", "Glob", "Grep"),
    Instruction.CODING: ("Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep"),
    Instruction.SYNC: ("Bash", "Read", "Write", "Edit", "Glob", "Grep"),
    Instruction.VERIFY: ("Bash", "Read", "Write", "Edit", "Glob", "Grep"),
    Instruction.REVIEW: ("Bash", "Read", "Glob", "Grep"),
    Instruction.REMEDIATE: ("Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep"),
}
"""What is not named here is not offered, in subagents neither (DESIGN §7, layer 2)."""


def qualified_name(tool: str) -> str:
    """Return the name under which the agent sees one of our tools."""
    return f"mcp__{SERVER_NAME}__{tool}"


def offered_tools(instruction: Instruction) -> frozenset[str]:
    """Return the names of all tools a session of this instruction may use."""
    ours = (qualified_name(name) for name in TOOLS_BY_INSTRUCTION[instruction])
    return frozenset((*BUILT_IN_TOOLS[instruction], *ours))


def make_server(
    instruction: Instruction,
    tools: DeliverableTools,
    on_refused: RefusalSink,
    *,
    redactor: Redactor,
    take_call: TakeCall,
) -> "McpSdkServerConfig":
    """Return a fresh in-process MCP server with the tools for `instruction`.

    Args:
        take_call: uses up the call that the session's stream asked for.
        on_refused: is told of every call that a tool refused, or failed to carry out.
        redactor: takes credentials out of what the tools are given: it is stored.
    """
    from claude_agent_sdk import create_sdk_mcp_server  # noqa: PLC0415

    names = TOOLS_BY_INSTRUCTION[instruction]
    return create_sdk_mcp_server(
        SERVER_NAME,
        version=__version__,
        tools=[_tool(name, tools, on_refused, redactor, take_call) for name in names],
    )


def _tool(
    name: str,
    tools: DeliverableTools,
    on_refused: RefusalSink,
    redactor: Redactor,
    take_call: TakeCall,
) -> "SdkMcpTool[Any]":
    from claude_agent_sdk import SdkMcpTool  # noqa: PLC0415

    handler: Callable[[Any], str] = {
        "create": tools.create,
        "set_status": tools.set_status,
        "list": tools.list,
        "deprecate": tools.deprecate,
        "verify": tools.verify,
        "submit_review": tools.submit_review,
    }[name]

    clean = redactor.plan_value if name in _PLANNING else redactor.value

    async def call(given: dict[str, Any]) -> dict[str, Any]:
        arguments = clean(given)

        def refused(error: RunnerError) -> None:
            on_refused(name, arguments, error)

        try:
            await take_call(name, given)
        except DeliverableError as error:
            return answer(partial(_refuse, error), arguments, refused)
        return answer(handler, arguments, refused)

    return SdkMcpTool(name, TOOL_DESCRIPTIONS[name], TOOL_SCHEMAS[name], call)


def _refuse(error: DeliverableError, _arguments: object) -> str:
    raise error


def answer(
    handler: Callable[[Any], str],
    arguments: dict[str, Any],
    on_refused: Callable[[RunnerError], None] = lambda _: None,
) -> dict[str, Any]:
    """Call a handler and return the MCP tool result; a refusal is an MCP tool error."""
    try:
        text, refused = handler(arguments), False
    except RunnerError as error:
        text, refused = str(error), True
        if not isinstance(error, DeliverableError):
            text += " Nothing was changed; end the session and say so in your last words."
        on_refused(error)
    return {"content": [{"type": "text", "text": text}], "is_error": refused}
