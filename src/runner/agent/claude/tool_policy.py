"""Every tool call of an agent is judged here, by instruction; what is not known is refused.

Layer 3 of the security model: it runs before every tool, subagents included, and denies by
default. It never raises.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.marker import Instruction
from runner.shell_policy.decision import Decision, Mode, PolicyRefusalError, PolicySettings
from runner.shell_policy.paths import PathPolicy
from runner.shell_policy.policy import judge_command
from runner.shell_policy.project_facts import DiskFacts

_WRITING = frozenset({Instruction.CODING, Instruction.REMEDIATE, Instruction.INITIALIZER})
_MAX_COMMAND = 200_000


def mode_of(instruction: Instruction) -> Mode:
    """Return the mode whose shell rules an instruction has: `run` may change the project."""
    return "run" if instruction in _WRITING else "sync"


def judge_tool(
    name: str,
    tool_input: object,
    *,
    instruction: Instruction,
    project_dir: str | Path,
    settings: PolicySettings | None = None,
    offered: frozenset[str] = frozenset(),
) -> Decision:
    """Decide about one tool call. Never raises; malformed input is denied.

    Args:
        name: the tool's name as the agent calls it, e.g. `Bash` or `mcp__runner__list`.
        tool_input: its input, unchecked.
        instruction: what the session is asked to do; it decides what may be written.
        project_dir: the project that the session works on.
        settings: profiles and extensions; the defaults when left out.
        offered: the tools that this session was given; nothing else is allowed.
    """
    if str(name) not in offered:  # a name that is no text is not offered either
        return Decision.deny(
            "tool:not-offered",
            f"{name} is not offered in this session. Use the tools you were given.",
        )
    chosen = settings or PolicySettings()
    try:
        if not isinstance(tool_input, Mapping):
            return Decision.deny("tool:input", f"{name}: the input must be an object.")
        if name == "Bash":
            return _bash(tool_input, instruction, project_dir, chosen)
        judge = _FILE_TOOLS.get(name)
        if judge is not None:
            paths = PathPolicy.of(
                DiskFacts.of(project_dir),
                mode_of(instruction),
                chosen.scratch,
                note=instruction is not Instruction.REVIEW,
            )
            judge(paths, tool_input, name)
            return Decision.allow(f"tool:{name}")
        if name in _SUBAGENTS:
            _subagent(tool_input)
        return _other(name)
    except PolicyRefusalError as refusal:
        return refusal.decision()
    except Exception as error:  # noqa: BLE001 - the guard must answer, and the answer is no
        return Decision.deny(
            "tool:internal", f"{name} could not be judged: {type(error).__name__}."
        )


def _bash(
    tool_input: Mapping[str, Any],
    instruction: Instruction,
    project_dir: str | Path,
    settings: PolicySettings,
) -> Decision:
    command = _text(tool_input, "command", "Bash")
    if tool_input.get("dangerouslyDisableSandbox"):
        return Decision.deny(
            "tool:sandbox", "The sandbox can't be left. Run the command inside it."
        )
    mode = mode_of(instruction)
    return judge_command(
        command,
        command=mode,
        project_dir=project_dir,
        settings=settings,
        note=instruction is not Instruction.REVIEW,
    )


def _text(tool_input: Mapping[str, Any], key: str, name: str) -> str:
    value = tool_input.get(key)
    if not isinstance(value, str) or not value or "\x00" in value or len(value) > _MAX_COMMAND:
        raise PolicyRefusalError("tool:input", f"{name}: {key} must be a text.")
    return value


def _read(paths: PathPolicy, tool_input: Mapping[str, Any], name: str) -> None:
    paths.read(_text(tool_input, "file_path", name), ".")


def _write(paths: PathPolicy, tool_input: Mapping[str, Any], name: str) -> None:
    path = _text(tool_input, "file_path", name)
    paths.read(path, ".")
    paths.write(path, ".")


def _notebook(paths: PathPolicy, tool_input: Mapping[str, Any], name: str) -> None:
    path = _text(tool_input, "notebook_path", name)
    paths.read(path, ".")
    paths.write(path, ".")


def _notebook_read(paths: PathPolicy, tool_input: Mapping[str, Any], name: str) -> None:
    paths.read(_text(tool_input, "notebook_path", name), ".")


def _search(paths: PathPolicy, tool_input: Mapping[str, Any], name: str) -> None:
    """Glob and Grep: a folder, and patterns that may themselves be paths."""
    folder = tool_input.get("path")
    if folder is not None:
        paths.read_tree(_text(tool_input, "path", name), ".")
    for key in ("pattern", "glob"):
        value = tool_input.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            raise PolicyRefusalError("tool:input", f"{name}: {key} must be a text.")
        if name == "Glob" or key == "glob":
            _pattern(paths, value)


def _pattern(paths: PathPolicy, pattern: str) -> None:
    if re.search(r"[{,](?:/|~|\.\./)", pattern):
        raise PolicyRefusalError(
            "path:tree", f"{pattern}: search one folder of the project at a time."
        )
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        fixed = re.split(r"[*?\[{]", pattern, maxsplit=1)[0].rpartition("/")[0] or "/"
        paths.read_tree(fixed, ".")
    paths.read(pattern, ".")


_FILE_TOOLS: dict[str, Callable[[PathPolicy, Mapping[str, Any], str], None]] = {
    "Read": _read,
    "NotebookRead": _notebook_read,
    "Write": _write,
    "Edit": _write,
    "MultiEdit": _write,
    "NotebookEdit": _notebook,
    "Glob": _search,
    "Grep": _search,
}

# Tools that touch neither files nor programs by themselves.
_HARMLESS = frozenset({"TodoWrite", "TodoRead", "Skill", "Task", "Agent", "TaskStop", "ToolSearch",
                       "BashOutput", "KillShell", "KillBash", "TaskOutput"})  # fmt: skip


_SUBAGENTS = frozenset({"Task", "Agent"})


def _subagent(tool_input: Mapping[str, Any]) -> None:
    """A subagent works in this folder and this turn, where its calls are judged and waited for."""
    if tool_input.get("isolation"):
        raise PolicyRefusalError(
            "tool:isolation", "A subagent works in this project's folder. Leave isolation out."
        )
    if tool_input.get("run_in_background") is not False:
        raise PolicyRefusalError(
            "tool:background",
            "The session ends with your last turn, and a subagent in the background with it. "
            "Call it with run_in_background set to false.",
        )


def _other(name: str) -> Decision:
    """MCP tools and agent.json's `allowedTools` were offered by the user; the rest is refused."""
    if name in _HARMLESS:
        return Decision.allow(f"tool:{name}")
    if name.startswith("mcp__") or name in ("WebFetch", "WebSearch"):
        return Decision.allow("agent.json:allowedTools")
    return Decision.deny("tool:unknown", f"{name} is not a tool that this policy knows.")
