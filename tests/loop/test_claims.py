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


def bind(plan: ProjectPlan, task_id: str, step: str = "step_1", proof: str = "stp_1") -> None:
    plan.deliverables.bind(task_id, step_id=step, proof=proof)


def test_a_word_is_not_written(plan: ProjectPlan) -> None:
    bind(plan, "D-002")
    plan.set("D-002", Status.PASSED)
    assert (plan.deliverables.word, plan.passed()) == (Status.PASSED, ["D-001"])


def test_an_agent_sees_its_own_word(plan: ProjectPlan) -> None:
    bind(plan, "D-002")
    tools = DeliverableTools(plan.deliverables, bound_task="D-002")
    tools.set_status({"deliverableId": "D-002", "status": "passed"})
    assert "[passed]" in tools.list({"filter": {"status": "passed"}, "limit": 5}).split("D-002")[1]


def test_a_word_about_another_deliverable_is_no_word(plan: ProjectPlan) -> None:
    bind(plan, "D-002")
    tools = DeliverableTools(plan.deliverables, bound_task="D-002")
    with pytest.raises(DeliverableError, match="AUTONOMY_WRITE_LOCK_ACTIVE"):
        tools.set_status({"deliverableId": "D-001", "status": "pending"})
    assert plan.deliverables.word is Status.PENDING


def test_what_a_file_says_of_the_bound_deliverable_is_no_word(plan: ProjectPlan) -> None:
    bind(plan, "D-001")
    assert plan.deliverables.word is Status.PENDING


def test_a_word_outlives_the_step_being_issued_anew(plan: ProjectPlan) -> None:
    bind(plan, "D-002")
    plan.set("D-002", Status.PASSED)
    bind(plan, "D-002")
    assert plan.deliverables.word is Status.PASSED


def test_a_word_ends_with_its_step(plan: ProjectPlan) -> None:
    bind(plan, "D-002")
    plan.set("D-002", Status.PASSED)
    plan.deliverables.release()
    assert plan.deliverables.load() == plan.deliverables.accepted()


def test_outside_of_a_step_a_change_is_written(plan: ProjectPlan) -> None:
    plan.set("D-002", Status.PASSED)
    assert plan.passed() == ["D-001", "D-002"]


def _after_a_kill(tmp_path: Path, *words: Status) -> ProjectPlan:
    """Return what the next run sees when an agent said `words` and its run was killed."""
    killed = ProjectPlan(tmp_path)
    killed.put(deliverable(1), deliverable(2))
    (tmp_path / ".runner" / "autonomy").mkdir(exist_ok=True)
    bind(killed, "D-001")
    for word in words:
        killed.set("D-001", word)
    return ProjectPlan(tmp_path)


def test_passed_outlives_a_kill_in_the_same_step(tmp_path: Path) -> None:
    plan = _after_a_kill(tmp_path, Status.PASSED)
    bind(plan, "D-001")
    assert (plan.deliverables.word, plan.passed()) == (Status.PASSED, [])


@pytest.mark.parametrize(
    ("task_id", "step", "proof"),
    [("D-001", "step_2", "stp_1"), ("D-001", "step_1", "stp_2"), ("D-002", "step_1", "stp_1")],
    ids=["another step", "another proof", "another deliverable"],
)
def test_a_kept_word_counts_for_its_own_step_alone(
    tmp_path: Path, task_id: str, step: str, proof: str
) -> None:
    plan = _after_a_kill(tmp_path, Status.PASSED)
    bind(plan, task_id, step, proof)
    assert plan.deliverables.word is Status.PENDING


@pytest.mark.parametrize("later", [(Status.PENDING,), (Status.PENDING, Status.BLOCKED)])
def test_only_passed_outlives_a_kill(tmp_path: Path, later: tuple[Status, ...]) -> None:
    plan = _after_a_kill(tmp_path, Status.PASSED, *later)
    bind(plan, "D-001")
    assert plan.deliverables.word is Status.PENDING


@pytest.mark.parametrize(
    "forged",
    [
        '{"step_id": "step_1", "task_id": "D-001", "seal": "00"}',
        '{"step_id": "step_1", "task_id": "D-001", "seal": null}',
        "[]",
        "[" * 4000,
        "\x00",
        "",
    ],
)
def test_a_word_that_an_agent_wrote_itself_is_none(tmp_path: Path, forged: str) -> None:
    plan = _after_a_kill(tmp_path)
    (tmp_path / ".runner" / "autonomy" / "word.json").write_text(forged, encoding="utf-8")
    bind(plan, "D-001")
    assert plan.deliverables.word is Status.PENDING


def test_a_word_stays_with_a_step_that_is_issued_anew_and_then_killed(tmp_path: Path) -> None:
    plan = _after_a_kill(tmp_path, Status.PASSED)
    bind(plan, "D-001")
    bind(plan, "D-001", "step_2", "stp_2")
    after = ProjectPlan(tmp_path)
    bind(after, "D-001", "step_2", "stp_2")
    assert after.deliverables.word is Status.PASSED


def test_a_word_that_was_reported_is_forgotten(tmp_path: Path) -> None:
    plan = _after_a_kill(tmp_path, Status.PASSED)
    bind(plan, "D-001")
    plan.deliverables.release()
    assert not (tmp_path / ".runner" / "autonomy" / "word.json").exists()


def test_a_word_that_can_not_be_kept_counts_all_the_same(tmp_path: Path) -> None:
    plan = _after_a_kill(tmp_path)
    (tmp_path / ".runner" / "autonomy" / "word.json").mkdir()
    bind(plan, "D-001")
    plan.set("D-001", Status.PASSED)
    assert plan.deliverables.word is Status.PASSED
