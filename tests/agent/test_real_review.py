"""`submit_review` and planned phases with the real SDK and the real agent binary."""

from typing import Any

import pytest
from tests.agent.stage import Stage, allow_all, calls

from runner.agent.claude.tools import offered_tools
from runner.deliverables.model import Phase
from runner.marker import Instruction
from runner.replay.script import ScriptTurn

pytestmark = pytest.mark.e2e

SUBMIT = "mcp__runner__submit_review"
BYE = ScriptTurn(text="Bye.")
FINDING = {"severity": "major", "title": "It breaks", "detail": "I ran it."}


def _review(**changed: Any) -> tuple[str, dict[str, Any]]:
    return SUBMIT, {"verdict": "fail", "summary": "No.", "findings": [FINDING], **changed}


def test_a_review_session_is_told_what_to_correct_until_its_review_is_taken(stage: Stage) -> None:
    turns = (calls(_review(findings=[{**FINDING, "deliverableId": "UI-9"}])), calls(_review()), BYE)
    played = stage.play(turns, instruction=Instruction.REVIEW)
    refused, taken = (answer for _, answer in played.responses())
    assert refused.is_error
    assert "use one of" in str(refused.content)
    assert not taken.is_error
    assert "Your review is recorded: fail, 1 finding" in str(taken.content)


@pytest.mark.parametrize("instruction", [Instruction.CODING, Instruction.REMEDIATE])
def test_no_other_session_can_submit_a_review(stage: Stage, instruction: Instruction) -> None:
    played = stage.play((calls(_review()), BYE), instruction=instruction, judge=allow_all)
    assert SUBMIT not in offered_tools(instruction)
    assert all(answer.is_error for _, answer in played.responses())


def test_a_planning_session_records_phases(stage: Stage) -> None:
    draft = {"id": "UI-001", "description": "A", "acceptanceCriteria": ["b"], "phase": "one"}
    phase = {"id": "one", "title": "First", "verification": ["make check"]}
    plan = {"deliverables": [draft], "phases": [phase]}
    turns = (calls(("mcp__runner__create", plan)), BYE)
    stage.play(turns, instruction=Instruction.INITIALIZER)
    file = stage.repository.load()
    assert file is not None
    assert file.phases == (Phase("one", "First", ("make check",)),)
