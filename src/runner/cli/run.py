"""`runner run`."""

from runner.cli import options as o
from runner.cli.help_text import help_text
from runner.config.run_options import RunOptions, require_spec, resolve_project

HELP = help_text(
    "Implement the spec: plan it, then work until every deliverable passes.",
    ("runner run", "in a folder with a SPEC.md"),
    ("runner run -n 10 --max-cost 5", "at most ten sessions and five dollars"),
    ("runner run -p ../app -m opus", "another project, another model"),
    ("runner run --wait-for-quota", "over night, over the limits of a subscription"),
    details="What is done is saved as it happens: after an interruption the same command goes on. "
    "The exit code says how it ended: 0 all passed, 1 failed, 2 wrong usage, 3 a person is "
    "needed, 4 iteration limit, 6 budget, 75 usage limit, 130 interrupted.",
)


def run(
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
    wait_for_quota: o.WaitForQuota = False,
    max_wait: o.MaxWait = 24.0,
    output_format: o.OutputFormat = "text",
    quiet: o.Quiet = False,
    debug: o.Debug = False,
    replay: o.Replay = None,
    no_sandbox: o.NoSandbox = False,
    sandbox_network: o.SandboxNetwork = "open",
    allow_destructive: o.AllowDestructive = False,
) -> None:
    """Run the loop on a project's SPEC.md."""
    options = RunOptions(
        max_iterations=max_iterations,
        max_retries=max_retries,
        model=model,
        plan_model=plan_model,
        thinking_tokens=thinking,
        max_cost_usd=max_cost,
        max_session_cost_usd=max_session_cost,
        session_timeout_minutes=session_timeout,
        wait_for_quota=wait_for_quota,
        max_wait_hours=max_wait,
        allow_destructive=allow_destructive,
        sandbox=not no_sandbox,
        sandbox_network=sandbox_network == "open",
    ).checked()
    project = resolve_project(project_dir)
    require_spec(project)
    # The libraries behind a run are imported only now, so that a mistake is answered at once.
    from runner.cli.present import finish, present  # noqa: PLC0415
    from runner.cli.replaying import answering  # noqa: PLC0415

    with answering(replay, project, options, "Implementing SPEC.md", command="run") as job:
        result = present(job, output_format=output_format, quiet=quiet, debug=debug)
    finish(result)
