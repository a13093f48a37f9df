"""Where each option's value comes from: command line, environment, runner.toml, default."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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
