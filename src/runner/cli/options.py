"""The options that commands share, each declared once (CONTRACT §1)."""

from pathlib import Path
from typing import Annotated, Literal

import typer

ProjectDir = Annotated[
    Path | None,
    typer.Option(
        "--project-dir",
        "-p",
        envvar="AUTORUNNER_PROJECT_DIR",
        help="The project, with its SPEC.md. Default: the current directory.",
        show_default=False,
    ),
]
MaxIterations = Annotated[
    int | None,
    typer.Option(
        "--max-iterations",
        "-n",
        envvar="AUTORUNNER_MAX_ITERATIONS",
        help="End after this many agent sessions (exit code 4). Default: no limit.",
        show_default=False,
    ),
]
MaxRetries = Annotated[
    int,
    typer.Option(
        envvar="AUTORUNNER_MAX_RETRIES",
        help="How many failed sessions in a row are tried again.",
    ),
]
Model = Annotated[
    str,
    typer.Option("--model", "-m", envvar="AUTORUNNER_MODEL", help="Model for the work."),
]
PlanModel = Annotated[
    str,
    typer.Option("--plan-model", "-P", envvar="AUTORUNNER_PLAN_MODEL", help="Model for planning."),
]
Thinking = Annotated[
    int | None,
    typer.Option(
        envvar="AUTORUNNER_THINKING",
        metavar="[TOKENS]",
        help="Extended thinking with this budget; 8192 when no number follows. Default: off.",
        show_default=False,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        envvar="AUTORUNNER_MAX_COST",
        metavar="USD",
        help="End when the run has cost this much (exit code 6). Default: no limit.",
        show_default=False,
    ),
]
MaxSessionCost = Annotated[
    float | None,
    typer.Option(
        envvar="AUTORUNNER_MAX_SESSION_COST",
        metavar="USD",
        help="End any one agent session that has cost this much. Default: no limit.",
        show_default=False,
    ),
]
SessionTimeout = Annotated[
    float,
    typer.Option(
        envvar="AUTORUNNER_SESSION_TIMEOUT",
        metavar="MINUTES",
        show_default="60",
        help="End any one agent session after this time; the next one goes on.",
    ),
]
WaitForQuota = Annotated[
    bool,
    typer.Option(
        "--wait-for-quota",
        envvar="AUTORUNNER_WAIT_FOR_QUOTA",
        help="At a usage limit wait until it resets and go on, instead of ending (exit code 75).",
    ),
]
MaxWait = Annotated[
    float,
    typer.Option(
        envvar="AUTORUNNER_MAX_WAIT",
        metavar="HOURS",
        show_default="24",
        help="The longest wait for one usage limit, with --wait-for-quota.",
    ),
]
OutputFormat = Annotated[
    Literal["text", "json", "stream-json"],
    typer.Option(
        envvar="AUTORUNNER_OUTPUT_FORMAT",
        help="What stdout carries: lines for people, one JSON object at the end, or one per event.",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", envvar="AUTORUNNER_QUIET", help="Final lines and errors only."),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", "-d", envvar="AUTORUNNER_DEBUG", help="Show every event of the agent in full."
    ),
]
Replay = Annotated[
    Path | None,
    typer.Option(
        envvar="AUTORUNNER_REPLAY",
        metavar="FILE",
        help="Answer from this script instead of a model: no key, no network.",
        show_default=False,
    ),
]
NoSandbox = Annotated[
    bool,
    typer.Option(
        "--no-sandbox",
        envvar="AUTORUNNER_NO_SANDBOX",
        help="Run the agent without containment by the operating system.",
    ),
]
SandboxNetwork = Annotated[
    Literal["open", "closed"],
    typer.Option(
        envvar="AUTORUNNER_SANDBOX_NETWORK",
        help="Whether the agent's commands reach the network; installing packages needs it.",
    ),
]
AllowDestructive = Annotated[
    bool,
    typer.Option(
        "--allow-destructive",
        "-D",
        envvar="AUTORUNNER_ALLOW_DESTRUCTIVE",
        help="Let the agent use rm and mv, inside the project.",
    ),
]
