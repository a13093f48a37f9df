"""Every option of the working commands, declared once. To add one, add a field to `RunOptions`."""

# ruff: noqa: RUF009 - the declarations are immutable

import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from runner.config import kinds
from runner.config.kinds import FLAG, Kind

ENVIRONMENT_PREFIX = "AUTORUNNER_"

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


def _anything_goes(_value: Any) -> str | None:
    return None


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Option:
    """The declaration of one option.

    Attributes:
        name: as on the command line, without the dashes.
        default: the value that applies when no source gives one.
        help: one line.
        group: the section of the help that lists it.
        commands: the commands that take it, out of `run` and `sync`.
        field: the attribute of `RunOptions` that has its value.
        as_field: converts a checked value to that of the attribute.
        short: the one-letter form with its dash, or empty.
        metavar: the placeholder for the value in the help, or empty for the kind's own.
        default_shown: the default in words, where the value itself is not clear enough.
        check: returns what is wrong with a value, or None.
        in_file: whether `.runner/runner.toml` may set it.
    """

    name: str
    kind: Kind[Any]
    default: Any
    help: str
    group: str = ""
    commands: frozenset[str] = frozenset()
    field: str = ""
    as_field: Callable[[Any], Any] = _unchanged
    short: str = ""
    metavar: str = ""
    default_shown: str = ""
    check: Callable[[Any], str | None] = _anything_goes
    in_file: bool = True

    @property
    def key(self) -> str:
        """The name in runner.toml, and of the parameter of a command's function."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return ENVIRONMENT_PREFIX + self.key.upper()

    @property
    def is_flag(self) -> bool:
        return self.kind is FLAG

    @property
    def declarations(self) -> tuple[str, ...]:
        """The names on the command line; a flag also has one that turns it off."""
        long = f"--{self.name}"
        if self.is_flag:
            positive = self.name.removeprefix("no-")
            long += f"/--{positive}" if positive != self.name else f"/--no-{self.name}"
        return (long, self.short) if self.short else (long,)


_RUN, _SYNC = frozenset({"run"}), frozenset({"sync"})
_METADATA = "option"
_PROJECT = "Project"
_LIMITS = "Limits"
_MODELS = "Models"
_REVIEWS = "Reviews"
_SANDBOX = "Sandbox"
_OUTPUT = "Output"


def _option(
    kind: Kind[Any],
    default: Any,
    help: str,  # noqa: A002 - the attribute's name
    *,
    name: str = "",
    commands: frozenset[str] = _RUN | _SYNC,
    as_field: Callable[[Any], Any] = _unchanged,
    **more: Any,
) -> Any:
    """Declare the option of a field of `RunOptions`.

    Args:
        name: that of the field where empty.
        more: further attributes of `Option`.
    """
    option = Option(name, kind, default, help, commands=commands, as_field=as_field, **more)
    return dataclasses.field(default=as_field(default), metadata={_METADATA: option})


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for. The fields are in the order of the help and of `config show`."""

    project_dir: Path | None = _option(
        kinds.PATH,
        None,
        "The project, with its SPEC.md.",
        group=_PROJECT,
        short="-p",
        metavar="PATH",
        default_shown="the current directory",
        in_file=False,  # the file is found through it
    )
    max_iterations: int | None = _option(
        kinds.INTEGER,
        None,
        "End after this many agent sessions, reviews not counted (exit code 4).",
        group=_LIMITS,
        short="-n",
        default_shown="no limit",
        check=_iterations,
    )
    max_retries: int = _option(
        kinds.INTEGER,
        3,
        "How many failed sessions in a row are tried again.",
        group=_LIMITS,
        check=_retries,
    )
    model: str = _option(
        kinds.TEXT,
        "sonnet",
        "Model for the work.",
        group=_MODELS,
        short="-m",
        metavar="MODEL",
        check=_model("Model"),
    )
    plan_model: str = _option(
        kinds.TEXT,
        "opus",
        "Model for planning.",
        group=_MODELS,
        short="-P",
        metavar="MODEL",
        check=_model("Plan model"),
    )
    review_model: str | None = _option(
        kinds.TEXT,
        None,
        "Model for reviews.",
        group=_MODELS,
        default_shown="the plan model",
        metavar="MODEL",
        check=lambda name: None if name is None else _model("Review model")(name),
    )
    thinking_tokens: int | None = _option(
        kinds.THINKING,
        None,
        "Thinking budget where the model takes one; 8192 when no number follows.",
        group=_MODELS,
        name="thinking",
        metavar="[TOKENS]",
        default_shown="off",
        check=_thinking,
    )
    max_cost_usd: float | None = _option(
        kinds.NUMBER,
        None,
        "End when the run has cost this much (exit code 6).",
        group=_LIMITS,
        name="max-cost",
        metavar="USD",
        default_shown="no limit",
        check=_amount("Max cost"),
    )
    max_session_cost_usd: float | None = _option(
        kinds.NUMBER,
        None,
        "End any one agent session that has cost this much.",
        group=_LIMITS,
        name="max-session-cost",
        metavar="USD",
        default_shown="no limit",
        check=_amount("Max session cost"),
    )
    session_timeout_minutes: float = _option(
        kinds.NUMBER,
        60.0,
        "End any one agent session after this time; the next one goes on.",
        group=_LIMITS,
        name="session-timeout",
        metavar="MINUTES",
        default_shown="60",
        check=_minutes,
    )
    wait_for_quota: bool = _option(
        kinds.FLAG,
        False,
        "At a usage limit wait until it resets and go on, instead of ending (exit code 75).",
        group=_LIMITS,
    )
    max_wait_hours: float = _option(
        kinds.NUMBER,
        24.0,
        "The longest wait for one usage limit, with --wait-for-quota.",
        group=_LIMITS,
        name="max-wait",
        metavar="HOURS",
        default_shown="24",
        check=_hours,
    )
    output_format: str = _option(
        kinds.choice("text", "json", "stream-json"),
        "text",
        "What stdout carries: lines for people, one JSON object at the end, or one per event.",
        group=_OUTPUT,
    )
    quiet: bool = _option(
        kinds.FLAG, False, "Final lines and errors only.", group=_OUTPUT, short="-q"
    )
    debug: bool = _option(
        kinds.FLAG, False, "Show every event of the agent in full.", group=_OUTPUT, short="-d"
    )
    posture: str | None = _option(
        kinds.choice("unattended", "supervised", "debug"),
        None,
        "How much the run may do without a person; sets the defaults of the gates.",
        group=_REVIEWS,
        default_shown="supervised; unattended in CI and without a terminal",
        in_file=False,
    )
    replay: Path | None = _option(
        kinds.PATH,
        None,
        "Answer from this script instead of a model: no key, no network.",
        group=_MODELS,
        metavar="FILE",
        default_shown="none",
    )
    record: Path | None = _option(
        kinds.PATH,
        None,
        "Record what the model says here, for --replay; without keys and paths.",
        group=_MODELS,
        metavar="FILE",
        default_shown="none",
        in_file=False,  # a repository must not choose which file is written
    )
    sandbox: bool = _option(
        kinds.FLAG,
        False,
        "Run the agent without containment by the operating system.",
        group=_SANDBOX,
        commands=_RUN,
        name="no-sandbox",
        as_field=operator.not_,
        in_file=False,  # a repository must not switch off what contains it
    )
    sandbox_network: bool = _option(
        kinds.choice("open", "closed"),
        "open",
        "Whether the agent's commands reach the network; installing packages needs it.",
        group=_SANDBOX,
        commands=_RUN,
        as_field=lambda network: network == "open",
    )
    allow_destructive: bool = _option(
        kinds.FLAG,
        False,
        "Let the agent use rm and mv, inside the project.",
        group=_SANDBOX,
        commands=_RUN,
        short="-D",
    )
    gate_policy: str | None = _option(
        kinds.choice("strict", "lenient", "manual"),
        None,
        "Which verdict of a review closes a phase: pass; pass or warn; what a person says.",
        group=_REVIEWS,
        commands=_RUN,
        default_shown="the posture's; strict",
    )
    gates: bool = _option(
        kinds.FLAG,
        False,
        "Do not have phases reviewed; they are verified only.",
        group=_REVIEWS,
        commands=_RUN,
        name="no-gates",
        as_field=operator.not_,
    )
    plan_review: bool = _option(
        kinds.FLAG,
        True,
        "Have a plan reviewed against SPEC.md before work on it begins.",
        group=_REVIEWS,
        commands=_RUN,
        default_shown="on",
    )
    one_phase: bool = _option(
        kinds.FLAG,
        False,
        "End where the phase at work is complete (exit code 0).",
        group=_LIMITS,
        commands=_RUN,
    )
    max_consecutive_errors: int | None = _option(
        kinds.INTEGER,
        None,
        "How many steps in a row may fail before a person is needed (exit code 3).",
        group=_LIMITS,
        commands=_RUN,
        default_shown="3; 20 in the posture debug",
        check=_positive("Max consecutive errors"),
    )
    max_review_cycles: int | None = _option(
        kinds.INTEGER,
        None,
        "How often one phase is reviewed before a person is needed (exit code 3).",
        group=_LIMITS,
        commands=_RUN,
        default_shown="the posture's; 3",
        check=_positive("Max review cycles"),
    )
    max_sessions_per_deliverable: int = _option(
        kinds.INTEGER,
        5,
        "Agent sessions of a run on one deliverable before a person is needed (exit code 3).",
        group=_LIMITS,
        commands=_RUN,
        check=_positive("Max sessions per deliverable"),
    )
    reuse_session: bool = _option(
        kinds.FLAG,
        False,
        "Let an agent session go on with the next deliverable while its context has room.",
        group=_MODELS,
        commands=_RUN,
    )
    commit: bool = _option(
        kinds.FLAG,
        False,
        "Commit status.json and the note at the end.",
        group=_PROJECT,
        commands=_SYNC,
    )
    budget_usd: float | None = None
    """US dollars for the spec over all runs: `[budget] total` in runner.toml, not an option."""


def _declared() -> Iterable[Option]:
    for field in dataclasses.fields(RunOptions):
        option: Option | None = field.metadata.get(_METADATA)
        if option is not None:
            name = option.name or field.name.replace("_", "-")
            yield dataclasses.replace(option, name=name, field=field.name)


OPTIONS: Mapping[str, Option] = MappingProxyType({option.key: option for option in _declared()})
"""Each option by its key."""

PROJECT_DIR = OPTIONS["project_dir"]
RUN_OPTIONS = tuple(option for option in OPTIONS.values() if "run" in option.commands)
SYNC_OPTIONS = tuple(option for option in OPTIONS.values() if "sync" in option.commands)
ALL_OPTIONS = tuple(option for option in OPTIONS.values() if option.key != "posture")
"""Each option but the posture: runner.toml has a table of that name, not a key."""
