from typing import Any

import pytest
from tests.cli.phases import row

from runner.report.phase_lines import effort_text, gate_text, standing


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"gate_status": None}, "no gate"),
        ({}, "not reviewed yet"),
        ({"gate_status": "passed", "verdict": "pass", "cycles": 1}, "gate passed (pass)"),
        (
            {"gate_status": "passed", "verdict": "warn", "acknowledged": True, "findings": 2},
            "gate passed (warn, acknowledged by a person, 2 findings)",
        ),
        (
            {"gate_status": "failed", "verdict": "fail", "findings": 1, "cycles": 3},
            "gate failed (fail, 1 finding, 3 reviews)",
        ),
        ({"verdict": "warn", "awaits_acknowledgement": True}, "gate waits for a person (warn)"),
        ({"verdict": "fail"}, "gate not settled (fail)"),
        (
            {"gate_status": "waived", "waiver_reason": "known\x1b[31m flake"},
            "gate waived: known␛[31m flake",
        ),
    ],
)
def test_a_gate_in_words(changes: dict[str, Any], text: str) -> None:
    assert gate_text(row(**changes)) == text


def test_a_verified_phase_says_so() -> None:
    assert standing(row(verified_at="2026-11-22T03:00:00Z"))[0] == "verified"


def test_a_closed_phase_says_how_long_it_took() -> None:
    assert standing(row(duration_seconds=61.0))[-1] == "closed after 1m 1s"


def test_work_in_words() -> None:
    took = row(agent_sessions=2, agent_seconds=61.0, cost_usd=0.12)
    assert effort_text(took) == "2 sessions, 1m 1s, $0.12"


def test_no_work_has_no_words() -> None:
    assert effort_text(row()) == ""


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gate_status": None}, True),
        ({"gate_status": "waived", "waiver_reason": "in a hurry"}, True),
        ({"gate_status": None, "verified_at": "2026-11-22T03:00:00Z"}, False),
        ({"gate_status": "passed", "verdict": "pass"}, False),
    ],
)
def test_a_phase_that_closed_on_the_word_of_its_agents_says_so(
    changes: dict[str, Any], *, says: bool
) -> None:
    assert ("nothing proved" in standing(row(duration_seconds=1.0, **changes))) is says
