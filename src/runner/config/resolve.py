"""Where each option's value comes from: command line, environment, runner.toml, default."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runner.config import catalogue
from runner.config.catalogue import PROJECT_DIR
from runner.config.kinds import Kind
from runner.config.option import Option
from runner.config.project import resolve_project
from runner.config.runner_file import RUNNER_FILE, RunnerFile, load_runner_file
from runner.errors import ConfigError
from runner.text.messages import nearest

T = TypeVar("T")

COMMAND_LINE = "command line"
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its origin: `command line`, the variable's name, `runner.toml` or `default`."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The values of a command's options.

    Attributes:
        project_dir: absolute; the working directory for a command that takes no project.
        file: the project's runner.toml, empty for a command that needs nothing of it.
    """

    settings: Mapping[str, Setting]
    project_dir: Path
    file: RunnerFile

    def __getitem__(self, option: Option[T]) -> T:
        value: T = self.settings[option.name].value
        return value

    def get(self, option: Option[T]) -> T:
        """Return the option's value, its default for a command that does not take it."""
        return self[option] if option.name in self.settings else option.default

    def origin(self, option: Option[Any]) -> str:
        """Return where the option's value comes from."""
        return self.settings[option.name].origin


def choose(
    options: Iterable[Option[Any]], given: Mapping[str, Any], environ: Mapping[str, str]
) -> Chosen:
    """Resolve the options of a command (CONTRACT §1).

    Args:
        options: what the command takes. With the project directory and anything that
            runner.toml may hold among them, that file is read.
        given: values of the command line by option key, None where nothing was given.
        environ: the environment; an empty variable is as good as none.

    Raises:
        ConfigError: a value is wrong, or runner.toml is.
        PrerequisiteError: the project directory is none.
    """
    taken = {option.name: option for option in options}
    nowhere = RunnerFile(Path(RUNNER_FILE))
    settings: dict[str, Setting] = {}
    if taken.pop(PROJECT_DIR.name, None) is None:
        project, file = Path.cwd(), nowhere
    else:
        found = _setting(PROJECT_DIR, given, environ, nowhere)
        project = resolve_project(found.value)
        settings[PROJECT_DIR.name] = Setting(project, found.origin)
        uses_file = any(option.in_file for option in taken.values())
        file = load_runner_file(project) if uses_file else nowhere
    for name, option in taken.items():
        settings[name] = _setting(option, given, environ, file)
    return Chosen(settings, project, file)


def _setting(
    option: Option[Any], given: Mapping[str, Any], environ: Mapping[str, str], file: RunnerFile
) -> Setting:
    if given.get(option.key) is not None:
        return _from_command_line(option, given[option.key])
    if environ.get(option.variable):
        return _from_environment(option, environ[option.variable])
    if option.key in file.options:
        return Setting(file.options[option.key], RUNNER_FILE)
    return Setting(option.default, DEFAULT)


def _from_command_line(option: Option[Any], value: Any) -> Setting:
    if isinstance(value, str):
        value = parsed(option.kind, value, f"--{option.name}")
    _check(option, value, hint=None)
    return Setting(value, COMMAND_LINE)


def _from_environment(option: Option[Any], text: str) -> Setting:
    value = parsed(option.kind, text, option.variable)
    _check(option, value, hint=f"The value comes from {option.variable} in the environment.")
    return Setting(value, option.variable)


def parsed(kind: Kind[T], text: str, place: str) -> T:
    """Read a value that was given as text.

    Args:
        place: what it was given to, as the user wrote it.

    Raises:
        ConfigError: it is none; says what is wanted, and the nearest name where it is one of some.
    """
    try:
        return kind.from_text(text)
    except ValueError as error:
        given = "an empty text" if text == "" else repr(text[:80])
        message = f"{place} must be {kind.expects}, got {given}."
        raise ConfigError(message, hint=nearest(text, kind.names)) from error


def _check(option: Option[Any], value: Any, *, hint: str | None) -> None:
    problem = option.check(value)
    if problem is not None:
        raise ConfigError(problem, hint=hint)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for; `of` takes it from the checked options of a command.

    Attributes:
        max_iterations: agent sessions at most, None for no limit.
        max_retries: failed sessions in a row that are tried again.
        thinking_tokens: thinking budget in tokens, None for off.
        max_cost_usd: US dollars for the whole run, None for no limit.
        max_session_cost_usd: US dollars for one agent session, None for no limit.
        budget_usd: US dollars for the spec over all runs (`[budget] total`), None for no limit.
        session_timeout_minutes: bounds one agent session.
        wait_for_quota: whether usage limits are waited for.
        max_wait_hours: the longest wait for one usage limit.
        review_model: the plan model where None.
        posture: sets the defaults of the control plane; None for what the surroundings say.
        gate_policy: what a verdict means; None for the posture's.
        gates: whether phases are reviewed at all.
        plan_review: whether a plan is reviewed before work on it begins.
        one_phase: whether to end where a phase does.
        max_consecutive_errors: failed steps in a row; None for the posture's.
        max_review_cycles: reviews of one phase; None for the posture's.
        max_sessions_per_deliverable: agent sessions of a run on one deliverable.
        reuse_session: whether an agent session goes on with the next step while it has room.
    """

    max_iterations: int | None = catalogue.MAX_ITERATIONS.default
    max_retries: int = catalogue.MAX_RETRIES.default
    model: str = catalogue.MODEL.default
    plan_model: str = catalogue.PLAN_MODEL.default
    thinking_tokens: int | None = catalogue.THINKING.default
    max_cost_usd: float | None = catalogue.MAX_COST.default
    max_session_cost_usd: float | None = catalogue.MAX_SESSION_COST.default
    budget_usd: float | None = None
    session_timeout_minutes: float = catalogue.SESSION_TIMEOUT.default
    wait_for_quota: bool = catalogue.WAIT_FOR_QUOTA.default
    max_wait_hours: float = catalogue.MAX_WAIT.default
    allow_destructive: bool = catalogue.ALLOW_DESTRUCTIVE.default
    review_model: str | None = catalogue.REVIEW_MODEL.default
    posture: str | None = catalogue.POSTURE.default
    gate_policy: str | None = catalogue.GATE_POLICY.default
    gates: bool = True
    plan_review: bool = catalogue.PLAN_REVIEW.default
    one_phase: bool = catalogue.ONE_PHASE.default
    max_consecutive_errors: int | None = catalogue.MAX_CONSECUTIVE_ERRORS.default
    max_review_cycles: int | None = catalogue.MAX_REVIEW_CYCLES.default
    max_sessions_per_deliverable: int = catalogue.MAX_SESSIONS_PER_DELIVERABLE.default
    reuse_session: bool = catalogue.REUSE_SESSION.default
    sandbox: bool = True
    sandbox_network: bool = True

    @classmethod
    def of(cls, chosen: "Chosen", *, sandbox: bool | None = None) -> "RunOptions":
        """Return the options that run and sync have in common, and those of run where given.

        Args:
            sandbox: decides about the sandbox for a command without the option.
        """
        return cls(
            max_iterations=chosen[catalogue.MAX_ITERATIONS],
            max_retries=chosen[catalogue.MAX_RETRIES],
            model=chosen[catalogue.MODEL],
            plan_model=chosen[catalogue.PLAN_MODEL],
            thinking_tokens=chosen[catalogue.THINKING],
            max_cost_usd=chosen[catalogue.MAX_COST],
            max_session_cost_usd=chosen[catalogue.MAX_SESSION_COST],
            budget_usd=chosen.file.budget.total,
            session_timeout_minutes=chosen[catalogue.SESSION_TIMEOUT],
            wait_for_quota=chosen[catalogue.WAIT_FOR_QUOTA],
            max_wait_hours=chosen[catalogue.MAX_WAIT],
            allow_destructive=chosen.get(catalogue.ALLOW_DESTRUCTIVE),
            review_model=chosen[catalogue.REVIEW_MODEL],
            posture=chosen[catalogue.POSTURE],
            gate_policy=chosen.get(catalogue.GATE_POLICY),
            gates=not chosen.get(catalogue.NO_GATES),
            plan_review=chosen.get(catalogue.PLAN_REVIEW),
            one_phase=chosen.get(catalogue.ONE_PHASE),
            max_consecutive_errors=chosen.get(catalogue.MAX_CONSECUTIVE_ERRORS),
            max_review_cycles=chosen.get(catalogue.MAX_REVIEW_CYCLES),
            max_sessions_per_deliverable=chosen.get(catalogue.MAX_SESSIONS_PER_DELIVERABLE),
            reuse_session=chosen.get(catalogue.REUSE_SESSION),
            sandbox=not chosen.get(catalogue.NO_SANDBOX) if sandbox is None else sandbox,
            sandbox_network=chosen.get(catalogue.SANDBOX_NETWORK) == "open",
        )
