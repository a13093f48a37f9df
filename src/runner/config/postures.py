"""Which posture and role are in force, and who says so (CONTRACT §6 «Roles and postures»)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from runner.config.names import suggestion
from runner.errors import ConfigError

POSTURE_VARIABLE = "AUTORUNNER_POSTURE"
ROLE_VARIABLE = "AUTORUNNER_ROLE"

Surface = Literal["cli", "mcp", "loop"]
"""Who calls the control plane: the commands, the MCP server, or `runner run`."""


class Posture(StrEnum):
    """The one knob that sets policy defaults. A fixed list: no others can be made."""

    UNATTENDED = "unattended"
    SUPERVISED = "supervised"
    DEBUG = "debug"


class Role(StrEnum):
    """What a caller may do, from the least to the most."""

    OBSERVER = "observer"
    AUTONOMY_RUNNER = "autonomy_runner"
    MAINTAINER = "maintainer"

    def covers(self, other: "Role") -> bool:
        """Say whether this role may do all that `other` may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


ROLE_OF_POSTURE: Mapping[Posture, Role] = {
    Posture.UNATTENDED: Role.AUTONOMY_RUNNER,
    Posture.SUPERVISED: Role.MAINTAINER,
    Posture.DEBUG: Role.MAINTAINER,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """The posture and role in force, each with its origin.

    Attributes:
        posture_origin: `command line`, a variable's name, `runner.toml`, or what the surface
            makes the default.
        role_origin: a variable's name, `runner.toml` or `posture`.
        warnings: what is unsafe about the combination, for people.
    """

    posture: Posture
    posture_origin: str
    role: Role
    role_origin: str
    warnings: tuple[str, ...] = ()


def is_attended(environ: Mapping[str, str], *, terminal: bool) -> bool:
    """Say whether a person is there: at a terminal, and not in a CI job."""
    return terminal and environ.get("CI", "").lower() in ("", "0", "false")


def resolve_standing(
    *,
    environ: Mapping[str, str],
    surface: Surface,
    interactive: bool,
    profile: str | None = None,
    role: str | None = None,
    chosen: str | None = None,
) -> Standing:
    """Return the posture and role in force.

    Args:
        environ: AUTORUNNER_POSTURE and AUTORUNNER_ROLE go before runner.toml; CI is looked at.
        interactive: whether there is a terminal.
        profile: `[posture] profile` of runner.toml.
        role: `[posture] role` of runner.toml.
        chosen: the posture from the command line, before all others.

    Raises:
        ConfigError: a posture's name is none; an unknown role is `observer` instead.
    """
    attended = is_attended(environ, terminal=interactive)
    posture, origin = _posture(chosen, profile, environ, _default(surface, attended=attended))
    named, role_origin = _first(
        (environ.get(ROLE_VARIABLE), ROLE_VARIABLE), (role, "runner.toml")
    ) or (ROLE_OF_POSTURE[posture], "posture")
    known = named in set(Role)
    found = Role(named) if known else Role.OBSERVER
    warnings = [] if known else [_unknown_role(role_origin)]
    warnings += _unsafe(posture, found, attended=attended or surface == "cli")
    return Standing(posture, origin, found, role_origin, tuple(warnings))


def parse_posture(name: str, place: str) -> Posture:
    """Return the posture of that name; `place` is named in the ConfigError otherwise."""
    try:
        return Posture(name)
    except ValueError as error:
        raise ConfigError(
            f"{place} names no posture: {name[:80]!r}.", hint=posture_hint(name)
        ) from error


def posture_hint(name: str) -> str:
    """Return the hint for a name that is no posture."""
    return suggestion(name, Posture, "Postures")


def _posture(
    chosen: str | None, profile: str | None, environ: Mapping[str, str], default: Posture
) -> tuple[Posture, str]:
    named = _first(
        (chosen, "command line"),
        (environ.get(POSTURE_VARIABLE), POSTURE_VARIABLE),
        (profile, "runner.toml"),
    )
    if named is None:
        return default, "default"
    name, origin = named
    return parse_posture(name, "--posture" if origin == "command line" else origin), origin


def _default(surface: Surface, *, attended: bool) -> Posture:
    unattended = surface == "mcp" or (surface == "loop" and not attended)
    return Posture.UNATTENDED if unattended else Posture.SUPERVISED


def _first(*candidates: tuple[str | None, str]) -> tuple[str, str] | None:
    return next(((name, origin) for name, origin in candidates if name), None)


def _unknown_role(origin: str) -> str:
    roles = ", ".join(Role)
    return f"{origin} names no role, so the role is observer, which may only read. Roles: {roles}."


def _unsafe(posture: Posture, role: Role, *, attended: bool) -> list[str]:
    """Seed 003 WS6, item 3: the combinations that are allowed but deserve a loud word."""
    found: list[str] = []
    if posture is Posture.UNATTENDED and role is Role.MAINTAINER:
        found.append(
            "The posture unattended is combined with the role maintainer: whoever calls may end, "
            "reset and rebase sessions with nobody watching. Use the role autonomy_runner."
        )
    if posture is Posture.DEBUG and not attended:
        found.append(
            "The posture debug is in force where nobody watches. It is made for a person at a "
            "terminal; use unattended."
        )
    return found
