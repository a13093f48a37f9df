"""Read and check `profiles/*.toml`, and compile them once per set of profiles.

pydantic is imported here and nowhere else in the package, so that importing
`runner.shell_policy` costs nothing until the first judgement.
"""

import fnmatch
import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from runner.errors import ConfigError
from runner.resources import data_path
from runner.shell_policy.table import CommandOption, CommandRule, EnvironmentRule, RuleSet

# Empty means never: such an entry exists for its `instead`.
Modes = tuple[Literal["run", "sync"], ...]


# What every project gets: the everyday commands, compilers and interpreters of languages without a
# profile of their own, databases and containers, and tools that look at files and programs.
BASE = ("base", "toolchains", "services", "inspection")


def _split(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


KINDS = frozenset({"text", "number", "read", "tree", "project", "write", "remove", "none", "url"})
"""What an option's value or an operand can be, besides `@LIST` (see `kinds`)."""


class OptionGroup(_Strict):
    """Options that several commands share, taken in by `use`."""

    flags: Names = ()
    takes: dict[str, Names] = {}
    takes_two: dict[str, Names] = {}
    may_take: dict[str, Names] = {}
    run_only: Names = ()

    def options(self, style: str) -> dict[str, CommandOption]:
        found: dict[str, CommandOption] = {}
        for name in self.flags:
            found[name] = CommandOption(name, "flag", "", name in self.run_only)
        for kind, names in self.takes.items():
            for name in names:
                found[name] = CommandOption(name, "takes", kind, name in self.run_only)
        for kind, names in self.takes_two.items():
            for name in names:
                found[name] = CommandOption(name, "takes_two", kind, name in self.run_only)
        for kind, names in self.may_take.items():
            for name in names:
                found[name] = CommandOption(name, "may_take", kind, name in self.run_only)
        if style == "long":
            return found | {f"-{n}": o for n, o in found.items() if not n.startswith("--")}
        return found


class CommandTable(OptionGroup):
    """One `[commands.NAME]` table; the keys are explained at the top of base.toml."""

    use: Names = ()
    modes: Modes = ("run", "sync")
    operands: tuple[str, ...] = ()
    alone: Names = ()
    pattern_options: Names = ()
    recursive: Names = ()
    unknown: Literal["any", "operand"] = "operand"
    style: Literal["gnu", "long", "raw"] = "gnu"
    stop: bool = False
    number_option: bool = False
    wrapper: int | None = None
    inner_profiles: Names = ()
    validator: str = ""
    workplace: Literal["any", "project"] = "any"
    destructive: bool = False
    instead: str = ""
    same_as: str = ""
    data: dict[str, str] = {}
    sub: dict[str, "CommandTable"] = {}


class EnvironmentEntry(_Strict):
    """One `[[environment]]` entry."""

    names: Names
    values: str | None = None
    kind: str = "text"
    modes: Modes = ("run", "sync")


class ProfileFile(_Strict):
    """One profile file."""

    groups: dict[str, OptionGroup] = {}
    lists: dict[str, str] = {}
    commands: dict[str, CommandTable] = {}
    environment: tuple[EnvironmentEntry, ...] = ()


def parse_profile(text: str, file: str) -> ProfileFile:
    """Check one profile's text. Raises ConfigError naming the file and the key."""
    try:
        return ProfileFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"{file}: {key}: {first['msg']}.", hint="See the notes at the top of base.toml."
        ) from error


@cache
def load_rules(profiles: tuple[str, ...], root: Path | None = None) -> RuleSet:
    """Return the rules of `base` and the given profiles. Compiled once per set.

    Args:
        profiles: names of language profiles, without `base`.
        root: folder with the TOML files; the shipped ones by default.

    Raises:
        ConfigError: a file does not exist or is wrong; names file and key.
    """
    folder = root or data_path("profiles")
    parsed: list[tuple[str, ProfileFile]] = []
    for name in dict.fromkeys((*BASE, *profiles)):
        path = folder / f"{name}.toml"
        if root is not None and name in BASE[1:] and not path.is_file():
            continue
        if not name.isidentifier() or not path.is_file():
            known = ", ".join(sorted(p.stem for p in folder.glob("*.toml") if p.stem not in BASE))
            raise ConfigError(f'There is no profile "{name}".', hint=f"Known profiles: {known}.")
        parsed.append((name, parse_profile(path.read_text(encoding="utf-8"), path.name)))
    return _compile(parsed)


def _compile(parsed: list[tuple[str, ProfileFile]]) -> RuleSet:
    groups = {key: group for _, profile in parsed for key, group in profile.groups.items()}
    commands: dict[str, CommandRule] = {}
    for name, profile in parsed:
        for key, command in profile.commands.items():
            language = "base" if name in BASE else name
            commands[key] = _rule(key, f"{name}.toml:commands.{key}", language, command, groups)
    for name, profile in parsed:
        for key, command in profile.commands.items():
            if command.same_as:
                commands[key] = _lookup(commands, command.same_as, f"{name}.toml:commands.{key}")
    lists = {key: text for _, profile in parsed for key, text in profile.lists.items()}
    for rule in commands.values():
        _check_kinds(rule, lists)
    return RuleSet(commands=commands, environment=_environment(parsed), lists=lists)


def _check_kinds(rule: CommandRule, lists: dict[str, str]) -> None:
    """Refuse a kind that nobody knows, here and not when an agent first meets it."""
    kinds = [("operands", kind.removesuffix("...")) for kind in rule.operands]
    kinds += [(option.name, option.kind) for option in rule.options.values() if option.kind]
    for key, kind in kinds:
        if kind not in KINDS and kind.removeprefix("@") not in lists:
            known = ", ".join(sorted(KINDS))
            raise ConfigError(
                f"{rule.rule}: {key}: there is no kind {kind}.",
                hint=f"Known kinds: {known}, and @NAME for a list of the profiles.",
            )
    for sub in rule.sub.values():
        _check_kinds(sub, lists)


def _environment(parsed: list[tuple[str, ProfileFile]]) -> tuple[EnvironmentRule, ...]:
    """Names written out come before patterns, whatever the order in the files."""
    rules = [
        EnvironmentRule(
            pattern,
            f"{name}.toml:environment.{pattern}",
            e.values,
            e.kind,
            frozenset(e.modes),
            re.compile(fnmatch.translate(pattern)),
        )
        for name, profile in parsed
        for e in profile.environment
        for pattern in e.names
    ]
    return tuple(sorted(rules, key=lambda rule: "*" in rule.pattern))


def _lookup(commands: dict[str, CommandRule], name: str, where: str) -> CommandRule:
    if name not in commands:
        raise ConfigError(f"{where}: same_as names an unknown command, {name}.")
    return commands[name]


_COMMON = "common"


def _is_plain_tool(profile: str, command: CommandTable) -> bool:
    """Whether the options that mean the same in all tools are taken in.

    Not where reading one wrongly could move the place at which another command begins.
    """
    plain = command.style == "gnu" and not command.sub and command.wrapper is None
    return profile != "base" and plain and not command.stop and bool(command.modes)


def _rule(
    name: str, where: str, profile: str, command: CommandTable, groups: dict[str, OptionGroup]
) -> CommandRule:
    options: dict[str, CommandOption] = {}
    for group in command.use:
        if group not in groups:
            raise ConfigError(f"{where}.use: there is no group {group}.")
        options |= groups[group].options(command.style)
    options |= command.options(command.style)
    if _is_plain_tool(profile, command) and _COMMON in groups:
        options = groups[_COMMON].options(command.style) | options
    options |= {n: replace(options[n], run_only=True) for n in command.run_only if n in options}
    return CommandRule(
        name=name,
        rule=where,
        profile=profile,
        modes=frozenset(command.modes),
        options=options,
        operands=command.operands,
        alone=frozenset(command.alone),
        pattern_options=frozenset(command.pattern_options),
        recursive=frozenset(command.recursive),
        unknown=command.unknown,
        style=command.style,
        stop=command.stop or command.wrapper is not None or bool(command.sub),
        number_option=command.number_option,
        wrapper=command.wrapper,
        inner_profiles=command.inner_profiles,
        validator=command.validator,
        workplace=command.workplace,
        destructive=command.destructive,
        instead=command.instead,
        data=command.data,
        sub={
            key: _rule(f"{name} {key}", f"{where}.sub.{key}", profile, sub, groups)
            for key, sub in command.sub.items()
        },
    )
