"""Where each option's value comes from: command line, environment, runner.toml, default."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runner.config.kinds import Kind
from runner.config.options import PROJECT_DIR, Option, RunOptions
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
        options: the values; defaults for what the command does not take.
        settings: by option key, the value as it was given and its origin.
        project_dir: absolute; the working directory for a command that takes no project.
        file: the project's runner.toml; None for a command that needs nothing of it.
    """

    options: RunOptions
    settings: Mapping[str, Setting]
    project_dir: Path
    file: RunnerFile | None = None


def choose(
    options: Iterable[Option], given: Mapping[str, Any], environ: Mapping[str, str]
) -> Chosen:
    """Resolve the options of a command: the first source that gives a value decides.

    Args:
        options: what the command takes. With the project directory and anything that
            runner.toml may hold among them, that file is read.
        given: values of the command line by option key, None where nothing was given.
        environ: the environment; an empty variable counts as unset.

    Raises:
        ConfigError: a value is wrong, or runner.toml is.
        PrerequisiteError: the project directory can't be used.
    """
    taken = {option.key: option for option in options}
    file: RunnerFile | None = None
    settings: dict[str, Setting] = {}
    if PROJECT_DIR.key in taken:
        found = _setting(PROJECT_DIR, given, environ, file)
        project = resolve_project(found.value)
        settings[PROJECT_DIR.key] = Setting(project, found.origin)
        if any(option.in_file for option in taken.values()):
            file = load_runner_file(project)
    else:
        project = Path.cwd()
    for key, option in taken.items():
        if option is not PROJECT_DIR:
            settings[key] = _setting(option, given, environ, file)
    budget = file.budget.total if file is not None else None
    values = {option.field: option.as_field(settings[key].value) for key, option in taken.items()}
    return Chosen(RunOptions(**values, budget_usd=budget), settings, project, file)


def _setting(
    option: Option, given: Mapping[str, Any], environ: Mapping[str, str], file: RunnerFile | None
) -> Setting:
    if given.get(option.key) is not None:
        return _from_command_line(option, given[option.key])
    if environ.get(option.variable):
        return _from_environment(option, environ[option.variable])
    if file is not None and option.key in file.options:
        return Setting(file.options[option.key], RUNNER_FILE)
    return Setting(option.default, DEFAULT)


def _from_command_line(option: Option, value: Any) -> Setting:
    if isinstance(value, str):
        value = parsed(option.kind, value, f"--{option.name}")
    _check(option, value, hint=None)
    return Setting(value, COMMAND_LINE)


def _from_environment(option: Option, text: str) -> Setting:
    value = parsed(option.kind, text, option.variable)
    _check(option, value, hint=f"The value comes from {option.variable} in the environment.")
    return Setting(value, option.variable)


def parsed(kind: Kind[T], text: str, place: str) -> T:
    """Read a value that was given as text.

    Args:
        place: what it was given to, as the user wrote it.

    Raises:
        ConfigError: it is not a value of this kind.
    """
    try:
        return kind.from_text(text)
    except ValueError as error:
        given = "an empty text" if text == "" else repr(text[:80])
        message = f"{place} must be {kind.expects}, got {given}."
        raise ConfigError(message, hint=nearest(text, kind.names)) from error


def _check(option: Option, value: Any, *, hint: str | None) -> None:
    problem = option.check(value)
    if problem is not None:
        raise ConfigError(problem, hint=hint)
