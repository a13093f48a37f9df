"""Verification commands that were changed in `status.json` while a session lives (ADR-0039)."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.autonomy.plane import Client, write_status

PHASES = {"p1": ["A-001", "A-002"], "p2": ["B-001"]}
CHANGE = {"phase_id": "p1", "was": ["make test"], "is": ["true"]}


def _edit(client: Client, *commands: str, passed: Sequence[str] = ()) -> None:
    write_status(client.workspace, PHASES, commands={"p1": commands}, passed=passed)


def _verifying(client: Client) -> dict[str, Any]:
    """Return the envelope that issues the verification of the first phase."""
    client.next(client.report(client.next()["next_step"]))
    step = client.ok("step", "replay")["next_step"]
    return client.call("step", "next", last_step_result=client.report(step))


@pytest.fixture
def changed(client: Client) -> Client:
    """A client whose commands were changed right after the start."""
    client.start()
    _edit(client, "true")
    return client


def test_the_step_says_what_was_and_what_is(changed: Client) -> None:
    assert _verifying(changed)["data"]["next_step"]["commands_changed"] == CHANGE


def test_the_answer_warns(changed: Client) -> None:
    [warning] = _verifying(changed)["meta"]["warnings"]
    assert "they were `make test`; they are `true`" in warning


def test_the_review_step_says_it_too_and_the_journal_once(changed: Client) -> None:
    step = changed.next(changed.report(_verifying(changed)["data"]["next_step"]))["next_step"]
    assert (step["type"], step["commands_changed"]) == ("run_fidelity_gate", CHANGE)
    titles = [entry["title"] for entry in changed.journal()]
    assert titles.count("Verification commands changed") == 1


def test_a_replay_warns_again(changed: Client) -> None:
    issued = _verifying(changed)
    again = changed.call("step", "replay")
    assert again["meta"]["warnings"] == issued["meta"]["warnings"]


def test_the_journal_keeps_it_with_the_step(changed: Client) -> None:
    step = _verifying(changed)["data"]["next_step"]
    [entry] = [e for e in changed.journal() if e["title"] == "Verification commands changed"]
    assert entry["data"] == {**CHANGE, "step_id": step["step_id"]}


def test_status_shows_it_before_the_step_comes(changed: Client) -> None:
    assert changed.ok("session", "status")["changed_commands"] == [CHANGE]


def test_commands_that_are_the_same_are_no_change(client: Client) -> None:
    client.start()
    envelope = _verifying(client)
    assert "commands_changed" not in envelope["data"]["next_step"]
    assert "warnings" not in envelope["meta"]


def test_commands_of_the_configuration_are_no_change(client: Client) -> None:
    client.start()
    other = Client(client.workspace, client.clock, common_verification=("make lint",))
    step = _verifying(other)["data"]["next_step"]
    assert [c["command"] for c in step["commands"]] == ["make test", "make lint"]
    assert "commands_changed" not in step


def test_a_rebase_accepts_the_commands(changed: Client) -> None:
    changed.ok("session", "pause")
    changed.ok("session", "rebase", session_id=changed.session_id)
    assert "commands_changed" not in _verifying(changed)["data"]["next_step"]


def test_a_session_of_before_commands_were_kept_loads_and_tells_of_none(changed: Client) -> None:
    changed.forge_state(without=("agreed_commands", "lost_sessions"))
    status = changed.ok("session", "status")
    assert (status["changed_commands"], status["lost_sessions"]) == ([], [])
