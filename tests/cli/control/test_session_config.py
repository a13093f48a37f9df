"""`runner session config`: the former way to start and pause, which still works and says so."""

import pytest
from tests.cli.control.kit import Cli

CONFIG = ("session", "config")


def test_without_a_session_it_shows_that_there_is_none(cli: Cli) -> None:
    data = cli.ok(*CONFIG)
    assert (data["auto_mode"], data["session_id"]) == (False, None)


def test_it_shows_how_the_live_session_is_configured(cli: Cli) -> None:
    cli.start("--gate-policy", "lenient")
    _, envelope = cli.envelope(*CONFIG, "get")
    assert (envelope["data"]["auto_mode"], envelope["data"]["gate_policy"]) == (True, "lenient")
    assert "deprecated" not in envelope["meta"]


def test_auto_mode_starts_a_session_and_names_what_replaces_it(cli: Cli) -> None:
    code, envelope = cli.envelope(*CONFIG, "--auto-mode")
    assert (code, envelope["data"]["status"]) == (0, "running")
    assert envelope["meta"]["deprecated"] == {
        "action": "runner session config",
        "replacement": "runner session start",
        "removal_target": "0.3.0",
    }


def test_no_auto_mode_pauses_the_session(cli: Cli) -> None:
    cli.start()
    code, envelope = cli.envelope(*CONFIG, "set", "--no-auto-mode")
    assert (code, envelope["data"]["status"]) == (0, "paused")
    assert envelope["meta"]["deprecated"]["replacement"] == "runner session pause"


def test_a_refusal_of_a_deprecated_way_says_so_too(cli: Cli) -> None:
    code, envelope = cli.envelope(*CONFIG, "--no-auto-mode")
    assert (code, envelope["data"]["error_code"]) == (1, "NO_ACTIVE_SESSION")
    assert envelope["meta"]["deprecated"]["replacement"] == "runner session pause"


def test_auto_mode_without_any_spec_is_refused(cli: Cli) -> None:
    (cli.workspace / ".runner/status.json").unlink()
    assert cli.refused(*CONFIG, "--auto-mode") == "AUTO_MODE_SPEC_RESOLUTION_FAILED"


def test_auto_mode_with_another_spec_is_refused(cli: Cli) -> None:
    assert cli.refused(*CONFIG, "--auto-mode", "--spec-id", "other") == "SPEC_NOT_FOUND"


@pytest.mark.parametrize("words", [("set",), ("--get", "--auto-mode"), ("toggle",)])
def test_what_makes_no_sense_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli.refused(*CONFIG, *words) == "VALIDATION_ERROR"


def test_people_are_warned_of_the_deprecated_way(cli: Cli) -> None:
    done = cli.people(*CONFIG, "--auto-mode")
    assert done.code == 0
    assert "Use runner session start." in " ".join(done.err.split())


def test_people_see_the_configuration(cli: Cli) -> None:
    cli.start()
    assert cli.session_id in cli.text(*CONFIG)


def test_people_see_that_there_is_no_session(cli: Cli) -> None:
    assert cli.text(*CONFIG).startswith("There is no live session.")


def test_the_help_of_the_group_does_not_offer_it(cli: Cli) -> None:
    assert " config " not in cli.run("session", "--help").out
