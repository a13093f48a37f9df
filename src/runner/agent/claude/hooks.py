"""The PreToolUse hook: every tool call is judged, default deny, failing closed.

An allowed call is answered with *no* decision, never with "allow": an approval would skip
the permission rules that still have to agree (DESIGN §7, layers 2 and 3).
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.events import StreamToolDenied
from runner.shell_policy.decision import Decision

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher

ToolJudge = Callable[[str, dict[str, Any]], Decision]
DenialSink = Callable[[StreamToolDenied], None]

HOOK_TIMEOUT_SECONDS = 30.0
"""A judgement takes milliseconds; the agent blocks the call when this passes."""


def deny_by_default(
    judge: ToolJudge, on_denied: DenialSink, project_dir: Path
) -> "list[HookMatcher]":
    """Return the PreToolUse hooks of a session.

    A judge that raises refuses the call; anything else that raises in the hook makes the
    agent block it (`on_failure`).

    Args:
        judge: decides on (tool name, tool input).
        on_denied: is told of every refusal.
        project_dir: where every shell command has to start.
    """
    from claude_agent_sdk import HookMatcher  # noqa: PLC0415

    async def hook(call: Any, _tool_use_id: Any, _context: Any) -> Any:
        return judge_call(call, judge, on_denied, project_dir)

    return [
        HookMatcher(matcher=None, hooks=[hook], timeout=HOOK_TIMEOUT_SECONDS, on_failure="block")
    ]


def judge_call(
    call: Any, judge: ToolJudge, on_denied: DenialSink, project_dir: Path
) -> dict[str, Any]:
    """Return the hook's answer to one PreToolUse call; {} lets it pass to the next layer."""
    name, tool_input = call.get("tool_name"), call.get("tool_input")
    if not isinstance(name, str) or not isinstance(tool_input, dict):
        name, tool_input = str(name), {}
        decision = Decision.deny("hook", "The tool call could not be read; it was refused.")
    elif name == "Bash" and not _starts_in(project_dir, call.get("cwd")):
        # Relative paths are judged from the project directory, so the shell has to start there.
        decision = Decision.deny(
            "hook:cwd", "The shell has left the project directory; end the session."
        )
    else:
        decision = _judged(name, tool_input, judge)
    if decision.allowed:
        return {}
    on_denied(StreamToolDenied(name, tool_input, decision.reason))
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": decision.reason,
        }
    }


def _starts_in(project_dir: Path, cwd: object) -> bool:
    return isinstance(cwd, str) and os.path.realpath(cwd) == os.path.realpath(project_dir)


def _judged(name: str, tool_input: dict[str, Any], judge: ToolJudge) -> Decision:
    try:
        return judge(name, tool_input)
    except Exception as error:  # noqa: BLE001 - a call that can't be judged must not run
        return Decision.deny(
            "hook",
            f"This call could not be judged ({type(error).__name__}: {error}), so it was refused. "
            "Do it in a simpler way.",
        )
