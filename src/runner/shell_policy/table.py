"""The compiled form of `profiles/*.toml`: what the judge looks things up in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Arity = Literal["flag", "takes", "takes_two", "may_take"]


@dataclass(frozen=True, slots=True)
class CommandOption:
    """One option of a command.

    Attributes:
        name: as written on the command line, dashes included.
        arity: no value, a value, two words of which the second is the value (`--arg NAME
            VALUE`), or a value only when attached (`--color=auto`).
        kind: what the value is (see `runner.shell_policy.kinds`); empty for a flag.
        run_only: allowed in run alone.
    """

    name: str
    arity: Arity
    kind: str = ""
    run_only: bool = False


@dataclass(frozen=True, slots=True)
class CommandRule:
    """The rule for one command or sub-command. Field meanings: docs of `profiles/base.toml`."""

    name: str
    rule: str
    profile: str
    modes: frozenset[str]
    options: Mapping[str, CommandOption]
    operands: tuple[str, ...]
    alone: frozenset[str]
    pattern_options: frozenset[str]
    recursive: frozenset[str]
    unknown: Literal["any", "operand"]
    style: Literal["gnu", "long", "raw"]
    stop: bool
    number_option: bool
    wrapper: int | None
    inner_profiles: tuple[str, ...]
    validator: str
    workplace: Literal["any", "project"]
    destructive: bool
    instead: str
    data: Mapping[str, str]
    sub: Mapping[str, "CommandRule"] = field(default_factory=dict)

    def matches(self, key: str, text: str) -> bool:
        """Whether `text` is one of the space-separated names in `data[key]`."""
        return text in self.data.get(key, "").split()


@dataclass(frozen=True, slots=True)
class EnvironmentRule:
    """What a script may do with an environment variable.

    Attributes:
        pattern: a shell-style pattern over names; `regex` is its compiled form.
        values: a regular expression the whole value must match; None refuses every value.
        kind: `text`, or a path kind every `:`-separated entry must satisfy.
    """

    pattern: str
    rule: str
    values: str | None
    kind: str
    modes: frozenset[str]
    regex: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules in force: the base profile and the chosen language profiles."""

    commands: Mapping[str, CommandRule]
    environment: tuple[EnvironmentRule, ...]
    lists: Mapping[str, str]
