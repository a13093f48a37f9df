"""Which posture and role are in force."""

from typing import Any

import pytest

from runner.config.postures import Posture, Role, Standing, Surface, resolve_standing
from runner.errors import ConfigError


def standing(surface: Surface = "cli", **given: Any) -> Standing:
    options: dict[str, Any] = {"environ": {}, "interactive": True} | given
    return resolve_standing(surface=surface, **options)


@pytest.mark.parametrize(
    ("surface", "interactive", "environ", "posture"),
    [
        ("cli", True, {}, "supervised"),
        ("cli", False, {"CI": "true"}, "supervised"),
        ("loop", True, {}, "supervised"),
        ("loop", False, {}, "unattended"),
        ("loop", True, {"CI": "true"}, "unattended"),
        ("loop", True, {"CI": "false"}, "supervised"),
        ("mcp", True, {}, "unattended"),
    ],
)
def test_the_default_depends_on_who_watches(
    surface: Surface, interactive: bool, environ: dict[str, str], posture: str
) -> None:
    found = standing(surface, interactive=interactive, environ=environ)
    assert (found.posture, found.posture_origin) == (posture, "default")


@pytest.mark.parametrize(
    ("posture", "role"),
    [
        ("unattended", "autonomy_runner"),
        ("supervised", "maintainer"),
        ("debug", "maintainer"),
    ],
)
def test_a_posture_brings_its_role(posture: str, role: str) -> None:
    assert standing(profile=posture).role == role


def test_the_command_line_goes_before_the_environment() -> None:
    environ = {"AUTORUNNER_POSTURE": "supervised"}
    assert standing(environ=environ, chosen="debug").posture is Posture.DEBUG


def test_the_environment_goes_before_the_file() -> None:
    found = standing(environ={"AUTORUNNER_POSTURE": "unattended"}, profile="debug")
    assert (found.posture, found.posture_origin) == ("unattended", "AUTORUNNER_POSTURE")


def test_the_role_of_the_environment_goes_before_the_file() -> None:
    found = standing(environ={"AUTORUNNER_ROLE": "observer"}, role="maintainer")
    assert (found.role, found.role_origin) == ("observer", "AUTORUNNER_ROLE")


def test_an_unknown_role_may_only_read_and_is_told_so() -> None:
    found = standing(role="admin")
    assert found.role is Role.OBSERVER
    assert "names no role" in found.warnings[0]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"environ": {"AUTORUNNER_POSTURE": "superwised"}}, "AUTORUNNER_POSTURE"),
        ({"chosen": "superwised"}, "--posture"),
        ({"profile": "superwised"}, "runner.toml"),
    ],
)
def test_an_unknown_posture_is_an_error_that_names_the_nearest(
    given: dict[str, Any], place: str
) -> None:
    with pytest.raises(ConfigError, match=f"{place} names no posture") as raised:
        standing(**given)
    assert raised.value.hint == "Did you mean supervised?"


def test_a_maintainer_with_nobody_watching_is_warned_about() -> None:
    [warning] = standing("mcp", role="maintainer").warnings
    assert "unattended is combined with the role maintainer" in warning


def test_debug_with_nobody_watching_is_warned_about() -> None:
    [warning] = standing("loop", interactive=False, chosen="debug").warnings
    assert "The posture debug is in force where nobody watches" in warning


def test_a_person_at_a_terminal_is_not_warned_about_debug() -> None:
    assert standing("loop", chosen="debug").warnings == ()


def test_roles_are_ordered() -> None:
    assert Role.MAINTAINER.covers(Role.OBSERVER)
    assert not Role.OBSERVER.covers(Role.AUTONOMY_RUNNER)
