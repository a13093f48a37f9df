"""What an agent says is kept apart from what was accepted."""

from pathlib import Path

import pytest
from tests.loop.bench import ProjectPlan
from tests.loop.fakes import deliverable

from runner.deliverables.model import Status
from runner.deliverables.tools import DeliverableTools
from runner.errors import DeliverableError


@pytest.fixture
def plan(tmp_path: Path) -> ProjectPlan:
    plan = ProjectPlan(tmp_path)
    plan.put(deliverable(1, Status.PASSED), deliverable(2))
    return plan


def test_a_word_is_not_written(plan: ProjectPlan) -> None:
    plan.deliverables.bind("D-002")
    plan.set("D-002", Status.PASSED)
    assert (plan.deliverables.word, plan.passed()) == (Status.PASSED, ["D-001"])


def test_an_agent_sees_its_own_word(plan: ProjectPlan) -> None:
    plan.deliverables.bind("D-002")
    tools = DeliverableTools(plan.deliverables, bound_task="D-002")
    tools.set_status({"deliverableId": "D-002", "status": "passed"})
    assert "[passed]" in tools.list({"filter": {"status": "passed"}, "limit": 5}).split("D-002")[1]


def test_a_word_about_another_deliverable_is_no_word(plan: ProjectPlan) -> None:
    plan.deliverables.bind("D-002")
    tools = DeliverableTools(plan.deliverables, bound_task="D-002")
    with pytest.raises(DeliverableError, match="AUTONOMY_WRITE_LOCK_ACTIVE"):
        tools.set_status({"deliverableId": "D-001", "status": "pending"})
    assert plan.deliverables.word is Status.PENDING


def test_what_a_file_says_of_the_bound_deliverable_is_no_word(plan: ProjectPlan) -> None:
    plan.deliverables.bind("D-001")
    assert plan.deliverables.word is Status.PENDING


def test_a_word_outlives_the_step_being_issued_anew(plan: ProjectPlan) -> None:
    plan.deliverables.bind("D-002")
    plan.set("D-002", Status.PASSED)
    plan.deliverables.bind("D-002")
    assert plan.deliverables.word is Status.PASSED


def test_a_word_ends_with_its_step(plan: ProjectPlan) -> None:
    plan.deliverables.bind("D-002")
    plan.set("D-002", Status.PASSED)
    plan.deliverables.bind(None)
    assert plan.deliverables.load() == plan.deliverables.accepted()


def test_outside_of_a_step_a_change_is_written(plan: ProjectPlan) -> None:
    plan.set("D-002", Status.PASSED)
    assert plan.passed() == ["D-001", "D-002"]
