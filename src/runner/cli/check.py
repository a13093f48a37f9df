"""`runner check`."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from runner.cli.help_text import help_text
from runner.cli.options import AsJson, names_of, takes
from runner.config.kinds import choice
from runner.config.options import OPTIONS, PROJECT_DIR
from runner.config.resolve import Chosen, parsed
from runner.text.safe import inert, json_text

if TYPE_CHECKING:
    from runner.shell_policy.decision import Decision
    from runner.shell_policy.policy import Explanation

_SOURCE_LIMIT = 200

HELP = help_text(
    "Say what the policy decides about a shell command, and why.",
    ("runner check 'npm test && git push'", "for an implementing session"),
    ("runner check --command sync 'touch x'", "for a read-only session"),
    ("runner check - < script.sh", "a whole script"),
    details="Nothing is run. Exit code 0: allowed; 1: denied. An agent gets the same text.",
)

ShellText = Annotated[
    str, typer.Argument(metavar="COMMAND", help="The shell text; - reads standard input.")
]
_COMMANDS = choice("run", "sync")
Judged = Annotated[
    str,
    typer.Option(
        "--command",
        metavar=_COMMANDS.metavar,
        autocompletion=names_of(_COMMANDS),
        help="Judge for an implementing (run) or a read-only (sync) session.",
    ),
]


@takes(PROJECT_DIR, OPTIONS["allow_destructive"])
def check(
    text: ShellText, *, judged: Judged = "run", chosen: Chosen, as_json: AsJson = False
) -> None:
    """Explain the policy's decision."""
    from runner.config.agent_file import load_agent_file  # noqa: PLC0415
    from runner.shell_policy.policy import explain  # noqa: PLC0415

    kind = cast("Literal['run', 'sync']", parsed(_COMMANDS, judged, "--command"))
    project = chosen.project_dir
    settings = load_agent_file(project).policy(allow_destructive=chosen.options.allow_destructive)
    shell = sys.stdin.read() if text == "-" else text
    found = explain(shell, command=kind, project_dir=project, settings=settings)
    if as_json:
        typer.echo(json_text(_as_object(found)))
    else:
        for line in _lines(found):
            typer.echo(line)
    raise typer.Exit(0 if found.decision.allowed else 1)


def _lines(found: "Explanation") -> list[str]:
    lines = [
        f"{_verdict(item.decision):8}{inert(item.source, _SOURCE_LIMIT) or '(redirection)'}  ({item.decision.rule})"
        for item in found.commands
    ]
    decision = found.decision
    lines.append(f"Decision: {_verdict(decision)}, by {decision.rule}")
    if decision.reason:
        lines.extend(inert(line) for line in decision.reason.splitlines())
    return lines


def _as_object(found: "Explanation") -> dict[str, object]:
    return {
        "allowed": found.decision.allowed,
        "rule": found.decision.rule,
        "reason": found.decision.reason,
        "commands": [
            {
                "source": item.source,
                "words": list(item.words),
                "allowed": item.decision.allowed,
                "rule": item.decision.rule,
                "reason": item.decision.reason,
            }
            for item in found.commands
        ],
    }


def _verdict(decision: "Decision") -> str:
    return "allowed" if decision.allowed else "denied"
