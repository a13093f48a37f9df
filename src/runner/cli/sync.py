"""`runner sync`."""

import os
from typing import Annotated

import typer

from runner.cli import options as o
from runner.cli.help_text import help_text
from runner.config.run_options import RunOptions, require_spec, resolve_project

HELP = help_text(
    "Bring status.json in line with SPEC.md, and verify what exists.",
    ("runner sync", "after SPEC.md or the code was changed by hand"),
    ("runner sync -n 5 --commit", "at most five sessions; commit the result"),
    details="Read-only for the project: agents work on a throw-away copy where the system offers "
    "it, and the tree is compared before and after. Only .runner/status.json and the note "
    ".runner-note.md change. Exit code 0 when every deliverable was checked, whatever the result.",
)

Commit = Annotated[
    bool,
    typer.Option(
        "--commit", envvar="AUTORUNNER_COMMIT", help="Commit status.json and the note at the end."
    ),
]


def sync(
    *,
    project_dir: o.ProjectDir = None,
    max_iterations: o.MaxIterations = None,
    max_retries: o.MaxRetries = 3,
    model: o.Model = "sonnet",
    plan_model: o.PlanModel = "opus",
    thinking: o.Thinking = None,
    max_cost: o.MaxCost = None,
    max_session_cost: o.MaxSessionCost = None,
    session_timeout: o.SessionTimeout = 60.0,
    output_format: o.OutputFormat = "text",
    quiet: o.Quiet = False,
    debug: o.Debug = False,
    replay: o.Replay = None,
    commit: Commit = False,
) -> None:
    """Run the sync workflow on a project's SPEC.md."""
    project = resolve_project(project_dir)
    require_spec(project)
    from runner.agent.containment.probe import switched_off  # noqa: PLC0415
    from runner.cli.present import finish, present  # noqa: PLC0415
    from runner.cli.replaying import answering  # noqa: PLC0415

    options = RunOptions(
        max_iterations=max_iterations,
        max_retries=max_retries,
        model=model,
        plan_model=plan_model,
        thinking_tokens=thinking,
        max_cost_usd=max_cost,
        max_session_cost_usd=max_session_cost,
        session_timeout_minutes=session_timeout,
        sandbox=not switched_off(os.environ),
    ).checked()
    with answering(replay, project, options, "Syncing with SPEC.md", command="sync") as job:
        result = present(job, output_format=output_format, quiet=quiet, debug=debug)
    if commit:
        from runner.cli.sync_commit import commit_results  # noqa: PLC0415

        commit_results(project)
    finish(result)
