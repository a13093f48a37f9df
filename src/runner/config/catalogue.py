"""Every option of the working commands (CONTRACT §1). To add one, declare it here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.config import kinds
from runner.config.option import Option

MIN_THINKING_TOKENS = 1024
MAX_SESSION_MINUTES = 25_000
"""A step has time for four agent sessions, and the control plane counts up to 100,000 minutes."""

MAX_COUNT = 1_000_000
"""The greatest limit of errors and reviews that the control plane takes."""


def _amount(label: str) -> Callable[[float | None], str | None]:
    def check(cost: float | None) -> str | None:
        # `not <` also refuses NaN, which no comparison would ever stop.
        if cost is None or 0 < cost < float("inf"):
            return None
        return f"{label} must be a positive amount in US dollars, got {cost:g}"

    return check


def _model(label: str) -> Callable[[str], str | None]:
    def check(name: str) -> str | None:
        return None if name.strip() else f"{label} must not be empty; give a name such as sonnet"

    return check


def _thinking(tokens: int | None) -> str | None:
    if tokens is None or tokens >= MIN_THINKING_TOKENS:
        return None
    return f"Thinking budget must be at least {MIN_THINKING_TOKENS} tokens, got {tokens}"


def _iterations(count: int | None) -> str | None:
    if count is None or count > 0:
        return None
    return f"Max iterations must be positive, got {count}"


def _retries(count: int) -> str | None:
    return None if count >= 0 else f"Max retries must be non-negative, got {count}"


def _minutes(minutes: float) -> str | None:
    if not 0 < minutes < float("inf"):
        return f"Session timeout must be a positive number of minutes, got {minutes:g}"
    if minutes > MAX_SESSION_MINUTES:
        return f"Session timeout must be at most {MAX_SESSION_MINUTES} minutes, got {minutes:g}"
    return None


def _positive(label: str) -> Callable[[int | None], str | None]:
    def check(count: int | None) -> str | None:
        if count is None or 0 < count <= MAX_COUNT:
            return None
        bound = "positive" if count <= 0 else f"at most {MAX_COUNT}"
        return f"{label} must be {bound}, got {count}"

    return check


def _hours(hours: float) -> str | None:
    if 0 < hours < float("inf"):
        return None
    return f"Max wait must be a positive number of hours, got {hours:g}"


PROJECT_DIR = Option[Path | None](
    "project-dir",
    kinds.PATH,
    None,
    "The project, with its SPEC.md.",
    short="-p",
    metavar="PATH",
    default_shown="the current directory",
    in_file=False,  # the file is found through it
)
MAX_ITERATIONS = Option[int | None](
    "max-iterations",
    kinds.INTEGER,
    None,
    "End after this many agent sessions, reviews not counted (exit code 4).",
    short="-n",
    default_shown="no limit",
    check=_iterations,
)
MAX_RETRIES = Option[int](
    "max-retries",
    kinds.INTEGER,
    3,
    "How many failed sessions in a row are tried again.",
    check=_retries,
)
MODEL = Option[str](
    "model",
    kinds.TEXT,
    "sonnet",
    "Model for the work.",
    short="-m",
    metavar="MODEL",
    check=_model("Model"),
)
PLAN_MODEL = Option[str](
    "plan-model",
    kinds.TEXT,
    "opus",
    "Model for planning.",
    short="-P",
    metavar="MODEL",
    check=_model("Plan model"),
)
REVIEW_MODEL = Option[str | None](
    "review-model",
    kinds.TEXT,
    None,
    "Model for reviews.",
    default_shown="the plan model",
    metavar="MODEL",
    check=lambda name: None if name is None else _model("Review model")(name),
)
THINKING = Option[int | None](
    "thinking",
    kinds.THINKING,
    None,
    "Thinking budget where the model takes one; 8192 when no number follows.",
    metavar="[TOKENS]",
    default_shown="off",
    check=_thinking,
)
MAX_COST = Option[float | None](
    "max-cost",
    kinds.NUMBER,
    None,
    "End when the run has cost this much (exit code 6).",
    metavar="USD",
    default_shown="no limit",
    check=_amount("Max cost"),
)
MAX_SESSION_COST = Option[float | None](
    "max-session-cost",
    kinds.NUMBER,
    None,
    "End any one agent session that has cost this much.",
    metavar="USD",
    default_shown="no limit",
    check=_amount("Max session cost"),
)
SESSION_TIMEOUT = Option[float](
    "session-timeout",
    kinds.NUMBER,
    60.0,
    "End any one agent session after this time; the next one goes on.",
    metavar="MINUTES",
    default_shown="60",
    check=_minutes,
)
OUTPUT_FORMAT = Option[str](
    "output-format",
    kinds.choice("text", "json", "stream-json"),
    "text",
    "What stdout carries: lines for people, one JSON object at the end, or one per event.",
)
QUIET = Option[bool]("quiet", kinds.FLAG, False, "Final lines and errors only.", short="-q")
DEBUG = Option[bool](
    "debug", kinds.FLAG, False, "Show every event of the agent in full.", short="-d"
)
REPLAY = Option[Path | None](
    "replay",
    kinds.PATH,
    None,
    "Answer from this script instead of a model: no key, no network.",
    metavar="FILE",
    default_shown="none",
)
RECORD = Option[Path | None](
    "record",
    kinds.PATH,
    None,
    "Record what the model says here, for --replay; without keys and paths.",
    metavar="FILE",
    default_shown="none",
    in_file=False,  # a repository must not choose which file is written
)
ALLOW_DESTRUCTIVE = Option[bool](
    "allow-destructive",
    kinds.FLAG,
    False,
    "Let the agent use rm and mv, inside the project.",
    short="-D",
)

NO_SANDBOX = Option[bool](
    "no-sandbox",
    kinds.FLAG,
    False,
    "Run the agent without containment by the operating system.",
    in_file=False,  # a repository must not switch off what contains it (seed 001 §4.5)
)
SANDBOX_NETWORK = Option[str](
    "sandbox-network",
    kinds.choice("open", "closed"),
    "open",
    "Whether the agent's commands reach the network; installing packages needs it.",
)
WAIT_FOR_QUOTA = Option[bool](
    "wait-for-quota",
    kinds.FLAG,
    False,
    "At a usage limit wait until it resets and go on, instead of ending (exit code 75).",
)
MAX_WAIT = Option[float](
    "max-wait",
    kinds.NUMBER,
    24.0,
    "The longest wait for one usage limit, with --wait-for-quota.",
    metavar="HOURS",
    default_shown="24",
    check=_hours,
)
POSTURE = Option[str | None](
    "posture",
    kinds.choice("unattended", "supervised", "debug"),
    None,
    "How much the run may do without a person; sets the defaults of the gates.",
    default_shown="supervised; unattended in CI and without a terminal",
    in_file=False,
)
GATE_POLICY = Option[str | None](
    "gate-policy",
    kinds.choice("strict", "lenient", "manual"),
    None,
    "Which verdict of a review closes a phase: pass; pass or warn; what a person says.",
    default_shown="the posture's; strict",
)
NO_GATES = Option[bool](
    "no-gates", kinds.FLAG, False, "Do not have phases reviewed; they are verified only."
)
PLAN_REVIEW = Option[bool](
    "plan-review",
    kinds.FLAG,
    True,
    "Have a plan reviewed against SPEC.md before work on it begins.",
    default_shown="on",
)
ONE_PHASE = Option[bool](
    "one-phase", kinds.FLAG, False, "End where the phase at work is complete (exit code 0)."
)
MAX_CONSECUTIVE_ERRORS = Option[int | None](
    "max-consecutive-errors",
    kinds.INTEGER,
    None,
    "How many steps in a row may fail before a person is needed (exit code 3).",
    default_shown="3; 20 in the posture debug",
    check=_positive("Max consecutive errors"),
)
MAX_REVIEW_CYCLES = Option[int | None](
    "max-review-cycles",
    kinds.INTEGER,
    None,
    "How often one phase is reviewed before a person is needed (exit code 3).",
    default_shown="the posture's; 3",
    check=_positive("Max review cycles"),
)
MAX_SESSIONS_PER_DELIVERABLE = Option[int](
    "max-sessions-per-deliverable",
    kinds.INTEGER,
    5,
    "Agent sessions of a run on one deliverable before a person is needed (exit code 3).",
    check=_positive("Max sessions per deliverable"),
)
REUSE_SESSION = Option[bool](
    "reuse-session",
    kinds.FLAG,
    False,
    "Let an agent session go on with the next deliverable while its context has room.",
)
COMMIT = Option[bool]("commit", kinds.FLAG, False, "Commit status.json and the note at the end.")

COMMON_OPTIONS: tuple[Option[Any], ...] = (
    PROJECT_DIR,
    MAX_ITERATIONS,
    MAX_RETRIES,
    MODEL,
    PLAN_MODEL,
    REVIEW_MODEL,
    THINKING,
    MAX_COST,
    MAX_SESSION_COST,
    SESSION_TIMEOUT,
    WAIT_FOR_QUOTA,
    MAX_WAIT,
    OUTPUT_FORMAT,
    QUIET,
    DEBUG,
    POSTURE,
    REPLAY,
    RECORD,
)
"""What `runner run` and `runner sync` share."""

RUN_OPTIONS: tuple[Option[Any], ...] = (
    *COMMON_OPTIONS,
    NO_SANDBOX,
    SANDBOX_NETWORK,
    ALLOW_DESTRUCTIVE,
    GATE_POLICY,
    NO_GATES,
    PLAN_REVIEW,
    ONE_PHASE,
    MAX_CONSECUTIVE_ERRORS,
    MAX_REVIEW_CYCLES,
    MAX_SESSIONS_PER_DELIVERABLE,
    REUSE_SESSION,
)
"""The options of `runner run`, in the order of its help."""

SYNC_OPTIONS: tuple[Option[Any], ...] = (*COMMON_OPTIONS, COMMIT)
"""The options of `runner sync`, in the order of its help."""

ALL_OPTIONS: tuple[Option[Any], ...] = (*(o for o in RUN_OPTIONS if o is not POSTURE), COMMIT)
"""Each option of any command, once, but for the posture: runner.toml has a table for that."""
