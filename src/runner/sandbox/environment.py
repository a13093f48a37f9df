"""Which variables enter the box: those of the allowlist, and those that the user adds.

It is an allowlist because nobody can list what a shell's environment may hold. Sessions get what
the agent signs in with; commands that runner starts by itself do not.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from runner.credentials import Redactor, announces_secret
from runner.sandbox.allowed import GROUPS, OF_AGENTS, PLACES
from runner.sandbox.ci import is_ci_variable
from runner.sandbox.sign_in import is_sign_in

_AS_IT_IS = frozenset(PLACES.names)
_PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy"})
_USER_IN_ADDRESS = re.compile(r"(?<=://)[^\s/@]+@")
# What `git` may be given by the environment; nothing of it signs in or starts a program.
_OF_GIT = re.compile(
    r"(?:safe|user|init|advice|color|core\.(?:autocrlf|eol|filemode|quotepath|longpaths|symlinks)"
    r"|protocol|pull|push\.default|merge\.conflictstyle|fetch\.prune)(?:\..*)?",
    re.IGNORECASE,
)
_GIT_COUNT = "GIT_CONFIG_COUNT"


@dataclass(frozen=True, slots=True)
class EnvironmentRules:
    """What enters besides the allowlist.

    Attributes:
        passed: names, or beginnings of names with a `*` behind them, that the user hands on to
            agents and commands (`[environment] pass` in runner.toml).
        named: names that agent.json refers to; for agents alone.
        never: names that stay outside whatever else is said.
    """

    passed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def of_agents(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what an agent session gets of the environment."""
        return dict(_inside(self, frozenset(environ.items()), signs_in=True))

    def of_commands(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what a command gets that runner starts by itself: nothing that signs in."""
        return dict(_inside(self, frozenset(environ.items()), signs_in=False))

    def for_agents_alone(self, environ: Mapping[str, str]) -> list[str]:
        """Return the names that an agent gets and its commands do not."""
        return sorted(self.of_agents(environ).keys() - self.of_commands(environ).keys())

    def left_out(self, environ: Mapping[str, str]) -> list[str]:
        """Return the names of the variables that neither agents nor commands get."""
        return sorted(
            environ.keys() - self.of_agents(environ).keys() - self.of_commands(environ).keys()
        )

    def refused(self, environ: Mapping[str, str]) -> list[str]:
        """Return the names that the user hands on, and that stay outside of commands anyway."""
        wanted = [name for name in self.passed if not name.endswith("*")]
        return sorted(n for n in wanted if self._is_barred(n) or is_sign_in(n, environ))

    def is_needed(self, name: str, environ: Mapping[str, str], *, signs_in: bool) -> bool:
        """Whether a variable is handed on for what its value says, also if that is a credential."""
        if self._is_barred(name):
            return False
        if is_sign_in(name, environ):
            return signs_in
        return _matches(name, self.passed) or (signs_in and name in self.named)

    def _is_barred(self, name: str) -> bool:
        return name in self.never or is_ci_variable(name)

    def is_allowed(self, name: str, environ: Mapping[str, str], *, signs_in: bool) -> bool:
        """Whether the allowlist has a variable, if its value is harmless."""
        if self._is_barred(name) or is_sign_in(name, environ):
            return False
        return _matches(name, _ALLOWED) or (signs_in and _matches(name, OF_AGENTS.names))


ALLOWLIST = EnvironmentRules()
"""The allowlist alone, where the user adds nothing."""

_ALLOWED = tuple(name for group in (PLACES, *GROUPS) for name in group.names)


@lru_cache(maxsize=16)
def _inside(
    rules: EnvironmentRules, variables: frozenset[tuple[str, str]], *, signs_in: bool
) -> Mapping[str, str]:
    environ = dict(variables)
    redact = Redactor(environ).text
    found = dict(_git_settings(environ, redact))
    for name, value in environ.items():
        if rules.is_needed(name, environ, signs_in=signs_in):
            found[name] = value
        elif rules.is_allowed(name, environ, signs_in=signs_in):
            # Without its proxy an agent reaches no model; a command can do without.
            as_it_is = name in _AS_IT_IS or (signs_in and name.lower() in _PROXIES)
            harmless = value if as_it_is else _harmless(name, value, redact)
            found |= {} if harmless is None else {name: harmless}
    return MappingProxyType(found)


def _harmless(name: str, value: str, redact: Callable[[str], str]) -> str | None:
    """Return the value without a user in its addresses; None where it is a credential."""
    if announces_secret(name):
        return None
    plain = _USER_IN_ADDRESS.sub("", value)
    return plain if redact(plain) == plain else None


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in patterns
    )


def _git_settings(
    environ: Mapping[str, str], redact: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield the harmless ones of git's settings in the environment, numbered anew."""
    given = environ.get(_GIT_COUNT, "")
    kept = 0
    for number in range(int(given) if given.isdecimal() and len(given) < len("1000") else 0):
        key = environ.get(f"GIT_CONFIG_KEY_{number}", "")
        value = environ.get(f"GIT_CONFIG_VALUE_{number}", "")
        if _OF_GIT.fullmatch(key) and redact(value) == value:
            yield f"GIT_CONFIG_KEY_{kept}", key
            yield f"GIT_CONFIG_VALUE_{kept}", value
            kept += 1
    if kept:
        yield _GIT_COUNT, str(kept)
