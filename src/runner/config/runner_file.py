"""`.runner/runner.toml`: option defaults, and the tables for what is no option (CONTRACT §4)."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from runner.config.feature_flags import FEATURE_FLAGS, FLAGS_TABLE, flag_hint
from runner.config.kinds import FLAG, NUMBER, TEXT, TEXTS, Kind
from runner.config.names import looks_secret, suggestion
from runner.config.options import ALL_OPTIONS, Option
from runner.config.postures import Posture, posture_hint
from runner.config.reading import line_of, place_of_error, read_text
from runner.deliverables.workspace import STATE_DIRECTORY
from runner.errors import ConfigError

RUNNER_FILE = "runner.toml"


@dataclass(frozen=True, slots=True)
class PostureTable:
    """`[posture]`: a posture that exists, and a role that may not."""

    profile: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class VerificationTable:
    """`[verification]`: shell commands that close every phase, and where they run.

    Attributes:
        timeout_minutes: for each command.
        setup: commands that install the dependencies in the clean room; None to detect them.
        in_place: run in the project's own folder and not in a clean room.
    """

    commands: tuple[str, ...] = ()
    timeout_minutes: float | None = None
    setup: tuple[str, ...] | None = None
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """`[budget]`: US dollars for the whole spec, over all runs."""

    total: float | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentTable:
    """`[environment]`: variables that agents and verification get besides the allowlist.

    Attributes:
        passed: the key `pass`; names, or beginnings of names with a `*` behind them.
    """

    passed: tuple[str, ...] = field(default=(), metadata={"key": "pass"})


NOTIFY_EVENTS = ("finished", "paused", "failed", "quota", "budget", "stopped")


@dataclass(frozen=True, slots=True)
class Notify:
    """`[notify]`: whom to tell how a run goes.

    Attributes:
        command: a program with its arguments; it gets the payload on standard input.
        webhook: an http(s) address, or `$NAME` for the variable that holds it.
        on: names out of NOTIFY_EVENTS.
    """

    command: tuple[str, ...] = ()
    webhook: str | None = None
    on: tuple[str, ...] = NOTIFY_EVENTS[:-1]

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that are secrets: whoever has an address can post to it."""
        named = self.webhook is not None and self.webhook.startswith("$")
        return (str(self.webhook)[1:],) if named else ()


@dataclass(frozen=True, slots=True)
class RunnerFile:
    """What the file says.

    Attributes:
        path: where it is, or would be.
        options: values by option key, of the option's own type and checked.
        feature_flags: those that the file sets.
    """

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    feature_flags: Mapping[str, bool] = field(default_factory=dict)
    posture: PostureTable = PostureTable()
    verification: VerificationTable = VerificationTable()
    budget: BudgetTable = BudgetTable()
    notify: Notify = Notify()
    environment: EnvironmentTable = EnvironmentTable()


_TABLES: Mapping[str, tuple[Callable[..., object], Mapping[str, Kind[Any]]]] = {
    "posture": (PostureTable, {"profile": TEXT, "role": TEXT}),
    "verification": (
        VerificationTable,
        {"commands": TEXTS, "timeout_minutes": NUMBER, "setup": TEXTS, "in_place": FLAG},
    ),
    "budget": (BudgetTable, {"total": NUMBER}),
    "notify": (Notify, {"command": TEXTS, "webhook": TEXT, "on": TEXTS}),
    # `pass` is a word of Python's own, and can't name a field.
    "environment": (lambda **values: EnvironmentTable(values.get("pass", ())), {"pass": TEXTS}),
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?", re.ASCII)
_WEBHOOKS = ("https://", "http://", "$")
_OPTIONS: Mapping[str, Option] = {o.key: o for o in ALL_OPTIONS}
_POSITIVE = frozenset({("verification", "timeout_minutes"), ("budget", "total")})
_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a string",
               list: "a list", dict: "a table"}  # fmt: skip


def load_runner_file(project_dir: Path) -> RunnerFile:
    """Read `.runner/runner.toml`; a missing file is an empty one.

    Raises:
        ConfigError: it can't be read or is wrong; names the file, the line where it can be
            told, the key, and the nearest valid key.
    """
    path = project_dir / ".runner" / RUNNER_FILE
    text = read_text(path)
    return RunnerFile(path) if text is None else parse_runner_file(path, text, project_dir)


def parse_runner_file(path: Path, text: str, project_dir: Path) -> RunnerFile:
    """Read the text of a runner.toml.

    Args:
        path: named in errors.
        project_dir: relative paths in the file are taken from there.

    Raises:
        ConfigError: as `load_runner_file`.
    """
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply.", hint="Write it flat.") from error
    except ValueError as error:
        place, what = place_of_error(text, str(error))
        raise ConfigError(f"{path}{place}: not TOML: {what}.", hint="Correct that line.") from error
    return _Reader(path, text, project_dir).read(document)


class _Reader:
    """Checks one document against what it may hold."""

    def __init__(self, path: Path, text: str, project_dir: Path) -> None:
        self._path = path
        self._text = text
        self._project_dir = project_dir

    def read(self, document: Mapping[str, Any]) -> RunnerFile:
        options: dict[str, Any] = {}
        parts: dict[str, Any] = {}
        for key, value in document.items():
            if key in _OPTIONS:
                options[key] = self._option(_OPTIONS[key], value)
            elif key == FLAGS_TABLE:
                parts[key] = self._feature_flags(value)
            elif key in _TABLES:
                parts[key] = self._table(key, value)
            else:
                self._unknown((key,), value)
        return RunnerFile(self._path, MappingProxyType(options), **parts)

    def _option(self, option: Option, value: object) -> Any:
        if not option.in_file:
            self._fail(
                (option.key,),
                f"{option.key} can't be set here.",
                f"Give --{option.name} on the command line, or {option.variable} in the "
                "environment.",
            )
        found = self._value(option.kind, (option.key,), value)
        problem = option.check(found)
        if problem is not None:
            self._fail((option.key,), problem)
        return self._project_dir / found.expanduser() if isinstance(found, Path) else found

    def _feature_flags(self, value: object) -> Mapping[str, bool]:
        flags: dict[str, bool] = {}
        for name, flag in self._entries(FLAGS_TABLE, value).items():
            keys = (FLAGS_TABLE, name)
            if name not in FEATURE_FLAGS:
                self._fail(keys, f"there is no feature flag {name}.", flag_hint(name))
            flags[name] = self._value(FLAG, keys, flag)
        return MappingProxyType(flags)

    def _table(self, name: str, value: object) -> object:
        make, fields = _TABLES[name]
        values: dict[str, Any] = {}
        for key, entry in self._entries(name, value).items():
            if key not in fields:
                self._unknown((name, key), entry)
            values[key] = self._value(fields[key], (name, key), entry)
            if (name, key) in _POSITIVE and not 0 < values[key] < float("inf"):
                self._fail((name, key), f"{name}.{key} must be a positive number.")
            if (name, key) == ("posture", "profile") and entry not in set(Posture):
                self._fail((name, key), f"{name}.{key} names no posture.", posture_hint(entry))
        made = make(**values)
        if isinstance(made, Notify):
            self._check_notify(made)
        if isinstance(made, EnvironmentTable):
            self._check_environment(made)
        return made

    def _check_environment(self, environment: EnvironmentTable) -> None:
        for name in environment.passed:
            if _VARIABLE.fullmatch(name) is None:
                # It is not repeated: it may be a value in the wrong place.
                self._fail(
                    ("environment", "pass"),
                    "environment.pass has an entry that names no variable.",
                    'Write names, such as "DATABASE_URL", or "PREFIX_*"; values stay outside of '
                    "this file.",
                )

    def _check_notify(self, notify: Notify) -> None:
        for event in notify.on:
            if event not in NOTIFY_EVENTS:
                self._fail(
                    ("notify", "on"),
                    f"notify.on has no event {event}.",
                    suggestion(event, NOTIFY_EVENTS),
                )
        if (file := self._writable_by_agents(notify.command)) is not None:
            self._fail(
                ("notify", "command"),
                f"notify.command runs {file} of the project outside of the sandbox, and agents can "
                "write that file.",
                "Put it into .runner/, which they can't write, or outside of the project.",
            )
        if notify.webhook is not None and not notify.webhook.startswith(_WEBHOOKS):
            self._fail(
                ("notify", "webhook"),
                "notify.webhook must begin with https:// or http://, or be $NAME.",
                "$NAME takes the address from the environment: it is often a secret.",
            )

    def _writable_by_agents(self, command: Sequence[str]) -> str | None:
        """Return the first word that names a file of the project, `.runner/` apart."""
        project = self._project_dir.resolve()
        for word in command:
            with suppress(OSError, ValueError):
                found = (project / word).resolve()
                ours = found.is_relative_to(project / STATE_DIRECTORY)
                if found.is_file() and found.is_relative_to(project) and not ours:
                    return word
        return None

    def _entries(self, name: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail((name,), f"{name} must be a table, found {_type_name(value)}.")
        return value

    def _value(self, kind: Kind[Any], keys: tuple[str, ...], value: object) -> Any:
        try:
            return kind.from_toml(value)
        except ValueError:
            # The value itself is not repeated: it may be a secret in the wrong place.
            found = "another" if kind.expects.startswith("one of") else _type_name(value)
            name = ".".join(keys)
            self._fail(keys, f"{name} must be {kind.expects}, found {found}.")

    def _unknown(self, keys: tuple[str, ...], value: object) -> NoReturn:
        name = ".".join(keys)
        if isinstance(value, str) and looks_secret(keys[-1]):
            self._fail(
                keys,
                f"{name} looks like a secret, and this file is made to be committed.",
                "Remove it here, and set the credential in the environment (ANTHROPIC_API_KEY).",
            )
        if len(keys) > 1 and keys[-1] in _OPTIONS:
            self._fail(
                keys,
                f"there is no key {name}.",
                f"{keys[-1]} is an option: put it above the first [table].",
            )
        self._fail(
            keys,
            f"there is no {'table' if isinstance(value, dict) else 'key'} {name}.",
            suggestion(keys[-1], _known(keys[:-1])),
        )

    def _fail(self, keys: tuple[str, ...], problem: str, hint: str | None = None) -> NoReturn:
        line = line_of(self._text, keys)
        place = f"{self._path}:{line}" if line else str(self._path)
        raise ConfigError(f"{place}: {problem}", hint=hint)


def _known(table: tuple[str, ...]) -> list[str]:
    if table:
        return list(_TABLES[table[0]][1])
    return [*(key for key, option in _OPTIONS.items() if option.in_file), FLAGS_TABLE, *_TABLES]


def _type_name(value: object) -> str:
    return _TYPE_NAMES.get(type(value), "a date or time")
