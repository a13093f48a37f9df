"""The whole configuration of a project, as one object without secrets."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runner.config.agent_file import AGENT_FILE, HIDDEN, AgentFile, load_agent_file, redacted
from runner.config.environment import unknown_variables
from runner.config.feature_flags import resolve_flags
from runner.config.instructions import instruction_text
from runner.config.options import Option, RunOptions
from runner.config.postures import resolve_standing
from runner.config.resolve import Chosen
from runner.config.runner_file import Notify, RunnerFile, load_runner_file
from runner.config.thinking import thinking_effect
from runner.marker import Instruction

Report = dict[str, Any]


def configuration_report(
    chosen: Chosen,
    options: Iterable[Option],
    environ: Mapping[str, str],
    *,
    interactive: bool = True,
) -> Report:
    """Return every value with its origin, and what the files add.

    Args:
        interactive: whether a run would have a terminal, which its default posture depends on.

    Raises:
        ConfigError: agent.json or an instruction override can't be used, or a posture or feature
            flag does not exist.
    """
    project = chosen.project_dir
    file = chosen.file or load_runner_file(project)
    return {
        "type": "configuration",
        "project_dir": str(project),
        "options": {
            option.name: {"value": _plain(setting.value), "origin": setting.origin}
            for option in options
            for setting in [chosen.settings[option.key]]
        },
        "runner_toml": {
            "path": str(file.path),
            "exists": file.path.is_file(),
            "feature_flags": dict(file.feature_flags),
            "posture": asdict(file.posture),
            "verification": _plain(asdict(file.verification)),
            "budget": asdict(file.budget),
            "notify": _notify(file.notify),
            "environment": {"pass": list(file.environment.passed)},
        },
        "in_force": _in_force(file, environ, interactive=interactive),
        "thinking": _thinking(chosen.options),
        "agent_json": _agent(project),
        "instructions": [str(path) for path in _overrides(project)],
        "unknown_variables": unknown_variables(environ),
    }


def _in_force(file: RunnerFile, environ: Mapping[str, str], *, interactive: bool) -> Report:
    """Return what a run would go by, whoever set it."""
    standing = resolve_standing(
        environ=environ,
        surface="loop",
        interactive=interactive,
        profile=file.posture.profile,
        role=file.posture.role,
    )
    flags = resolve_flags(file.feature_flags, environ)
    return {
        "posture": {"value": standing.posture, "origin": standing.posture_origin},
        "role": {"value": standing.role, "origin": standing.role_origin},
        "feature_flags": {
            name: {"value": setting.value, "origin": setting.origin}
            for name, setting in flags.settings.items()
        },
        "warnings": [*standing.warnings, *flags.warnings()],
    }


def _thinking(options: RunOptions) -> Report:
    """Return what the thinking option does for each model of a run."""
    models = (options.plan_model, options.model, options.review_model or options.plan_model)
    return {model: thinking_effect(model, options.thinking_tokens) for model in models}


def _notify(notify: Notify) -> Report:
    shown = redacted(_plain(asdict(notify)))
    if notify.webhook is not None:
        # The path of a webhook is its password.
        shown["webhook"] = _webhook(notify.webhook)
    return shown


def _webhook(address: str) -> str:
    if address.startswith("$"):
        return address  # the name of a variable
    try:
        return f"{urlsplit(address).hostname}/{HIDDEN}"
    except ValueError:
        return HIDDEN


def _agent(project: Path) -> Report:
    path = project / ".runner" / AGENT_FILE
    agent: AgentFile = load_agent_file(project)
    policy = agent.policy(allow_destructive=False)
    return {
        "path": str(path),
        "exists": path.is_file(),
        "profiles": ["base", *policy.profiles],
        "commands": {
            "base": sorted(policy.base_commands),
            "run": sorted(policy.run_commands),
            "sync": sorted(policy.sync_commands),
        },
        "pkill_targets": sorted(policy.pkill_targets),
        "permissions": list(agent.permission_rules),
        "permissions_without_effect": [r.text for r in agent.rules if not r.effective],
        "tools": list(agent.extra_tools),
        "mcp_servers": {name: redacted(server) for name, server in agent.mcpServers.items()},
    }


def _overrides(project: Path) -> list[Path]:
    found: list[Path] = []
    for instruction in Instruction:
        path = project / ".runner" / f"{instruction}.md"
        if path.exists():
            instruction_text(project, instruction)  # an override that can't be used is an error
            found.append(path)
    return found


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return value
