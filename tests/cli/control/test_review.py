"""`runner review gate` without a verdict, as far as no agent has been set to work."""

from typing import Any

import pytest
from tests.autonomy.plane import write_status
from tests.cli.control.kit import Cli, gate_words
from tests.cli.control.refusals import lock_of

from runner.deliverables.review import ReviewVerdict, Verdict

FOUND = '[{"severity": "major", "title": "It does not work."}]'


@pytest.mark.parametrize("words", [("--summary", "All is well."), ("--findings", FOUND)])
def test_words_about_a_review_that_is_still_to_be_made_are_refused(
    cli: Cli, words: tuple[str, str]
) -> None:
    cli.start()
    step = cli.until("run_fidelity_gate")
    _, envelope = cli.envelope("review", "gate", *gate_words(step), *words)
    data = envelope["data"]
    assert data["error_code"] == "VALIDATION_ERROR"
    assert data["details"]["field"] == words[0].removeprefix("--")


def test_a_review_beside_a_run_says_that_a_run_is_at_work(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    cli.start()
    step = cli.until("run_fidelity_gate")
    with lock_of(cli, "run.lock"):
        _, envelope = cli.envelope("review", "gate", *gate_words(step))
    assert envelope["data"]["error_code"] == "REVIEW_UNAVAILABLE"
    assert envelope["error"].startswith("Another run is at work")


def test_what_the_agent_found_is_kept_whatever_empty_words_were_given(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = ReviewVerdict(Verdict.PASS, "All criteria hold.", ())
    monkeypatch.setattr("runner.app.review.review", lambda *_: (verdict, ""))
    cli.start()
    step = cli.until("run_fidelity_gate")
    data = cli.ok("review", "gate", *gate_words(step), "--summary", "", "--findings", "[]")
    assert (data["verdict"], data["summary"]) == ("pass", "All criteria hold.")


def test_the_agent_is_told_of_changed_verification_commands(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    def reviewed(_job: object, _sink: object, _session_id: str, step: Any) -> tuple[None, str]:
        told.append(step.changed_commands)
        return None, "No agent."

    monkeypatch.setattr("runner.app.review.review", reviewed)
    cli.start()
    step = cli.until("run_fidelity_gate")
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001"]}
    write_status(cli.workspace, phases, commands={"p1": ["true"]}, passed=phases["p1"])
    cli.refused("review", "gate", *gate_words(step))
    assert [change["is"] for change in told] == [["true"]]
