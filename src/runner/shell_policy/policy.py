"""What the policy decides about a piece of shell, and why (CONTRACT §1 `check`, §8)."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from runner.errors import RunnerError
from runner.shell_policy.analysis import read_script
from runner.shell_policy.commands import judge_simple
from runner.shell_policy.context import Context
from runner.shell_policy.decision import Decision, Mode, PolicyRefusalError, PolicySettings
from runner.shell_policy.paths import PathPolicy, mentions_private
from runner.shell_policy.profiles import load_rules
from runner.shell_policy.project_facts import DiskFacts, ProjectFacts
from runner.shell_policy.scripts import JudgedCommand, judge_script

MAX_TEXT = 200_000
_MAX_REASONS = 4
_SHOWN = 80
_READ_ONLY = (
    "This session is read-only, and this could change something. Look at files and history, and "
    "run the tests; nothing else is needed here."
)
_OPENED_IN_RUN = "(agent.json opens it in allowCommands.run; base or sync would open it here.)"
_NESTING = re.compile(r"\({64}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer for `runner check`: each command, and the decision over all."""

    commands: tuple[JudgedCommand, ...]
    decision: Decision


def judge_command(
    text: str,
    *,
    command: Mode = "run",
    project_dir: str | Path,
    settings: PolicySettings | None = None,
    note: bool = True,
    facts: ProjectFacts | None = None,
) -> Decision:
    """Decide whether the agent may run `text` in bash. Never raises; what is unclear is denied.

    Args:
        text: what bash would get.
        command: `run` (implementing) or `sync` (read-only).
        project_dir: where it would run, and what it may write.
        settings: profiles and extensions; the defaults when left out.
        note: whether the note may be written in sync (a review writes nothing).
        facts: what is known about files; what the disk says about `project_dir` when left out.
    """
    return explain(
        text, command=command, project_dir=project_dir, settings=settings, note=note, facts=facts
    ).decision


def explain(
    text: str,
    *,
    command: Mode = "run",
    project_dir: str | Path,
    settings: PolicySettings | None = None,
    note: bool = True,
    facts: ProjectFacts | None = None,
) -> Explanation:
    """Decide as `judge_command` does, and tell what was decided about every command."""
    try:
        known = facts or DiskFacts.of(project_dir)
        context = make_context(command, known, settings or PolicySettings(), note=note)
        _check_size(text)
        context = replace(context, private=mentions_private(text))
        script = context.analyse(text, None, None)
        judged = tuple(judge_script(script, context))
    except PolicyRefusalError as refusal:
        return Explanation((), refusal.decision())
    except RunnerError as error:
        return Explanation((), Decision.deny("policy:configuration", str(error)))
    except Exception as error:  # noqa: BLE001 - the guard must answer, and the answer is no
        return Explanation(
            (), Decision.deny("policy:internal", f"It could not be judged: {error!r}.")
        )
    decision = overall(judged)
    if command == "sync" and not decision.allowed:
        in_run = explain(
            text, command="run", project_dir=project_dir, settings=settings, facts=facts
        )
        if in_run.decision.allowed:
            # The rule's own words are about how to do it, and here it is not to be done at all.
            opened = any(one.decision.rule.startswith("agent.json") for one in in_run.commands)
            reason = f"{_READ_ONLY} {_OPENED_IN_RUN}" if opened else _READ_ONLY
            decision = Decision.deny(decision.rule, reason)
    return Explanation(judged, decision)


def _check_size(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise PolicyRefusalError("limit:length", "The command is too long. Put it into a file.")
    if _NESTING.search(text):
        raise PolicyRefusalError(
            "limit:depth", "The command is nested too deeply. Write it simpler."
        )


def make_context(
    mode: Mode, facts: ProjectFacts, settings: PolicySettings, *, note: bool = True
) -> Context:
    """Return the context for the outermost commands of a script. Raises ConfigError."""
    paths = PathPolicy.of(facts, mode, settings.scratch, note=note)
    known = {"HOME": paths.home, "PWD": paths.project}
    return Context(
        mode=mode,
        settings=settings,
        paths=paths,
        rules=load_rules(settings.profiles),
        judge=judge_simple,
        analyse=lambda text, command, given: read_script(text, known, command, given),
    )


def overall(judged: tuple[JudgedCommand, ...]) -> Decision:
    """Return an allowance naming the last rule, or the first denial with all reasons there are."""
    denied = [item for item in judged if not item.decision.allowed]
    if not denied:
        return judged[-1].decision if judged else Decision.allow("shell:empty")
    first = denied[0].decision
    others: dict[str, str] = {}
    for item in denied[1:]:
        if item.decision.reason != first.reason:
            others.setdefault(item.decision.reason, item.source.strip()[:_SHOWN])
    lines = [f"Also denied: {source}: {reason}" for reason, source in others.items()]
    return Decision.deny(first.rule, "\n".join([first.reason, *lines[:_MAX_REASONS]]))
