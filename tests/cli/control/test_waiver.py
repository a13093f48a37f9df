"""`runner task gate-waiver`: who may, what the journal says, and how it goes on."""

import pytest
from tests.cli.control.kit import Cli

WAIVER = ("task", "gate-waiver", "--phase-id", "p1", "--reason-code", "false_positive")


def _at_a_failed_gate(cli: Cli) -> None:
    cli.start("--no-auto-retry-fidelity-gate")
    step = cli.until("run_fidelity_gate")
    report = cli.report(step, "failure") | {"outcome": "success"} | cli.review(step, "fail")
    assert cli.answer(report)["pause_reason"] == "gate_failed"


def test_a_waived_phase_is_left_by_what_is_shown_next(cli: Cli) -> None:
    _at_a_failed_gate(cli)
    done = cli.people(*WAIVER)
    assert done.code == 0
    command = f"runner session resume --session-id {cli.session_id}"
    assert f"Next: {command}" in done.out.replace(" \\\n       ", "")
    cli.ok("session", "resume", "--session-id", cli.session_id)
    assert cli.next()["phase_id"] == "p2"


def test_a_waiver_while_the_session_works_shows_where_it_stands(cli: Cli) -> None:
    cli.start()
    cli.until("run_fidelity_gate")
    done = cli.people(*WAIVER)
    assert "Next: runner session status" in done.out
    assert cli.next()["phase_id"] == "p2"


def test_people_are_warned_of_what_a_waiver_did(cli: Cli) -> None:
    cli.start()
    cli.until("run_fidelity_gate")
    assert cli.people(*WAIVER).err.startswith("Warning: The gate of p1 was waived")


def test_the_journal_names_the_code(cli: Cli) -> None:
    cli.start()
    cli.until("run_fidelity_gate")
    cli.ok(*WAIVER, "--reason", "seen by hand")
    entries = cli.ok("journal", "list")["events"]
    (entry,) = [entry for entry in entries if entry["title"] == "Gate waived"]
    assert (entry["data"]["reason_code"], entry["data"]["reason"]) == (
        "false_positive",
        "seen by hand",
    )


@pytest.mark.parametrize("role", ["autonomy_runner", "observer", "root"])
def test_a_wrong_role_waives_nothing(cli: Cli, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _at_a_failed_gate(cli)
    before = cli.session_file().read_bytes()
    monkeypatch.setenv("AUTORUNNER_ROLE", role)
    assert cli.refused(*WAIVER) == "AUTHORIZATION"
    assert cli.session_file().read_bytes() == before


def test_a_wrong_posture_waives_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _at_a_failed_gate(cli)
    monkeypatch.setenv("AUTORUNNER_POSTURE", "unattended")
    monkeypatch.setenv("AUTORUNNER_ROLE", "maintainer")
    assert cli.refused(*WAIVER) == "AUTHORIZATION"
