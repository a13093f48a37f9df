"""`submit_review`: what a verdict must be, and what a refusal says."""

from pathlib import Path
from typing import Any

import pytest

from runner.deliverables.repository import StatusRepository
from runner.deliverables.review import Finding, ReviewVerdict, Verdict
from runner.deliverables.tools import DeliverableTools
from runner.errors import DeliverableError

_FINDING = {"severity": "major", "title": "It breaks", "detail": "I ran it"}


@pytest.fixture
def tools(tmp_path: Path) -> DeliverableTools:
    tools = DeliverableTools(StatusRepository(tmp_path / ".runner" / "status.json"))
    draft = {"id": "UI-001", "description": "Thing", "acceptanceCriteria": ["works"]}
    tools.create({"deliverables": [draft]})
    return tools


def _review(**changed: Any) -> dict[str, Any]:
    return {"verdict": "warn", "summary": "Looked at it", "findings": [_FINDING], **changed}


def test_an_accepted_review_is_kept(tools: DeliverableTools) -> None:
    finding = {**_FINDING, "deliverableId": "UI-001", "file": "app.py:3"}
    tools.submit_review(_review(findings=[finding]))
    expected = Finding("major", "It breaks", "I ran it", "UI-001", "app.py:3")
    assert tools.review == ReviewVerdict(Verdict.WARN, "Looked at it", (expected,))


def test_there_is_no_review_before_one_was_submitted(tools: DeliverableTools) -> None:
    assert tools.review is None


def test_the_first_review_binds(tools: DeliverableTools) -> None:
    tools.submit_review(_review(verdict="warn"))
    with pytest.raises(DeliverableError, match=r"recorded already \(warn\)"):
        tools.submit_review(_review(verdict="pass", findings=[]))
    assert tools.review is not None
    assert tools.review.verdict is Verdict.WARN


def test_a_refused_review_can_be_corrected(tools: DeliverableTools) -> None:
    with pytest.raises(DeliverableError):
        tools.submit_review(_review(verdict="excellent"))
    tools.submit_review(_review(verdict="warn"))
    assert tools.review is not None


def test_the_answer_says_what_was_recorded(tools: DeliverableTools) -> None:
    assert tools.submit_review(_review()).startswith("Your review is recorded: warn, 1 finding.")


def test_a_fail_without_findings_has_its_summary_for_one(tools: DeliverableTools) -> None:
    tools.submit_review(_review(verdict="fail", summary="It lies.\nBadly.", findings=[]))
    assert tools.review is not None
    assert tools.review.findings == (Finding("major", "It lies.", "It lies.\nBadly."),)


def test_what_could_upset_a_terminal_is_replaced(tools: DeliverableTools) -> None:
    tools.submit_review(_review(summary="red\x1b[31m \udc80"))
    assert tools.review is not None
    assert tools.review.summary == "red␛[31m [U+DC80]"


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (None, "the input must be an object"),
        ({"verdict": "pass", "summary": "x"}, "no 'findings'"),
        (_review(verdict="ok"), "verdict must be one of pass, warn, fail"),
        (_review(verdict=["pass"]), "verdict must be one of"),
        (_review(summary=" "), "summary is empty"),
        (_review(summary="x" * 20_001), "say it in at most 20000"),
        (_review(findings={}), "findings must be an array"),
        (_review(findings=["x"]), r"findings\[0\] must be an object"),
        (_review(findings=[{"severity": "x", "title": "x"}]), r"findings\[0\] has no 'detail'"),
        (_review(findings=[{**_FINDING, "title": ""}]), r"findings\[0\].title is empty"),
        (_review(findings=[{**_FINDING, "x": 1}]), "unknown field 'x'"),
        (_review(findings=[{**_FINDING, "deliverableId": "UI-9"}]), "use one of UI-001"),
        (_review(findings=[{**_FINDING, "file": 3}]), "file must be a string"),
        (_review(findings=[_FINDING] * 101), "101 entries"),
    ],
)
def test_a_refusal_says_what_to_correct(tools: DeliverableTools, args: Any, reason: str) -> None:
    with pytest.raises(DeliverableError, match=rf"{reason}[\s\S]*Call it like this: {{"):
        tools.submit_review(args)


def test_a_refused_review_leaves_the_one_before(tools: DeliverableTools) -> None:
    tools.submit_review(_review())
    before = tools.review
    with pytest.raises(DeliverableError):
        tools.submit_review(_review(verdict="ok"))
    assert tools.review is before


def test_a_finding_is_spelled_as_the_tool_spells_it() -> None:
    assert Finding("minor", "T", "D", "UI-001").as_tool_input() == {
        "severity": "minor",
        "title": "T",
        "detail": "D",
        "deliverableId": "UI-001",
    }
