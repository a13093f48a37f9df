"""A plan is compared with SPEC.md before anybody works on it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import COMPLETED, FakeSession, deliverable

from runner.autonomy.enums import GatePolicy
from runner.deliverables.model import Status
from runner.deliverables.review import Verdict
from runner.events import ExitReason, SessionResult
from runner.marker import Instruction, PromptMarker
from runner.records.plan_reviews import PlanBook

pytestmark = pytest.mark.anyio

PLANNED = ["initializer", "review plan"]
DONE = ["coding D-001", "coding D-002", "review"]


class Planned(Bench):
    """Plans are reviewed here; a planner that is told of findings adds D-003."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(folder, **{"plan_review": True, **options})

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.INITIALIZER and self.plan.deliverables.load():
            self.plan.put(*(deliverable(number) for number in (1, 2, 3)))
            return COMPLETED
        return await super().work(session, marker)


async def test_a_plan_is_reviewed_before_the_first_coding_session(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED
    assert bench.instructions() == [*PLANNED, *DONE]


async def test_the_marker_says_that_it_is_about_the_plan(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    await bench.execute()
    marker = bench.factory.markers[1]
    assert (marker.instruction, marker.scope, marker.phase) == (Instruction.REVIEW, "plan", None)
    assert "# plan-review" in bench.factory.prompts[1]


async def test_its_prompt_has_the_specification_and_the_plan(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.spec.write_text("It greets the MOON.", encoding="utf-8")
    await bench.execute()
    assert "It greets the MOON." in bench.factory.prompts[1]
    assert "D-001 thing 1" in bench.factory.prompts[1]


async def test_findings_go_back_to_a_planning_session(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL]
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED
    assert bench.instructions()[:5] == [*PLANNED, *PLANNED, "coding D-001"]
    assert "It lies" in bench.factory.prompts[2]
    assert bench.plan.passed() == ["D-001", "D-002", "D-003"]


async def test_a_plan_that_fails_twice_is_not_worked_on(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    result = await bench.execute()
    assert result.exit_reason is ExitReason.PAUSED
    assert bench.instructions() == [*PLANNED, *PLANNED]
    assert "runner run --no-plan-review" in str(result.hint)
    assert bench.details["loop_signal"] == "paused_needs_attention"
    commands = [action["command"] for action in bench.details["recommended_actions"]]
    assert commands == ["runner run", "runner sync", "runner run --no-plan-review"]


async def test_the_end_of_a_run_with_a_refused_plan_shows_the_findings(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    result = await bench.execute()
    said = "The plan was not accepted: after 2 reviews the review says fail (1 finding)."
    assert result.message == said
    assert str(result.hint).startswith("- major: It lies")


async def test_under_the_manual_policy_a_passed_review_is_no_refusal(tmp_path: Path) -> None:
    bench = Planned(tmp_path, plan_policy=GatePolicy.MANUAL)
    bench.judges.verdicts = [Verdict.PASS]
    said = (await bench.execute()).message
    assert said == "The plan waits for a person's decision: the review says pass (0 findings)."
    commands = [action["command"] for action in bench.details["recommended_actions"]]
    assert commands[0] == "runner run --no-plan-review"


async def test_a_plan_that_passed_is_worked_on_where_no_person_decides_any_more(
    tmp_path: Path,
) -> None:
    bench = Planned(tmp_path, plan_policy=GatePolicy.MANUAL)
    bench.judges.verdicts = [Verdict.PASS]
    await bench.execute()
    again = Planned(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert again.instructions() == DONE


async def test_a_refused_plan_that_a_sync_leaves_as_it_is_is_reviewed_anew(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    await bench.execute()
    PlanBook(bench.folder).synced(bench.plan.file, bench.plan.file)
    again = Planned(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert again.instructions()[0] == "review plan"


async def test_a_refused_plan_that_is_moved_away_is_planned_anew(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    await bench.execute()
    (bench.folder / ".runner" / "status.json").rename(tmp_path / "old.json")
    again = Planned(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert again.instructions()[:2] == PLANNED


@pytest.mark.parametrize("record", ["kept", "deleted"])
async def test_a_plan_made_anew_after_a_completed_one_is_reviewed(
    tmp_path: Path, record: str
) -> None:
    bench = Planned(tmp_path)
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED
    (bench.folder / ".runner" / "status.json").unlink()
    if record == "deleted":
        PlanBook(bench.folder).path.unlink()
    again = Planned(tmp_path)
    await again.execute()
    assert again.instructions()[:2] == PLANNED


async def test_a_plan_made_anew_while_a_session_is_live_is_reviewed(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    bench.ask("session", "start")
    (bench.folder / ".runner" / "status.json").unlink()
    await bench.execute()
    assert bench.instructions()[:2] == PLANNED


async def test_a_plan_written_by_hand_after_a_completed_one_is_reviewed(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    await bench.execute()
    (bench.folder / ".runner" / "status.json").unlink()
    again = Planned(tmp_path)
    again.plan.put(deliverable(7))
    await again.execute()
    assert again.instructions()[0] == "review plan"


async def test_a_refused_plan_costs_nothing_more(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    await bench.execute()
    again = Planned(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.PAUSED
    assert again.instructions() == []


async def test_a_person_may_go_on_with_a_refused_plan(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    await bench.execute()
    again = Planned(tmp_path, plan_review=False)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert "review plan" not in again.instructions()


async def test_a_refused_plan_that_a_person_corrects_is_reviewed_anew(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL] * 9
    await bench.execute()
    bench.plan.put(deliverable(1), deliverable(2), deliverable(4))
    again = Planned(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert again.instructions()[0] == "review plan"


@pytest.mark.parametrize(
    ("policy", "verdict", "reason"),
    [
        (GatePolicy.LENIENT, Verdict.WARN, ExitReason.ALL_PASSED),
        (GatePolicy.LENIENT, Verdict.FAIL, ExitReason.PAUSED),
        (GatePolicy.STRICT, Verdict.WARN, ExitReason.PAUSED),
        (GatePolicy.MANUAL, Verdict.PASS, ExitReason.PAUSED),
    ],
)
async def test_a_verdict_counts_as_with_gates(
    tmp_path: Path, policy: GatePolicy, verdict: Verdict, reason: ExitReason
) -> None:
    bench = Planned(tmp_path, plan_policy=policy)
    bench.judges.verdicts = [verdict] * 2
    assert (await bench.execute()).exit_reason is reason


async def test_under_the_manual_policy_no_agent_corrects_the_plan(tmp_path: Path) -> None:
    bench = Planned(tmp_path, plan_policy=GatePolicy.MANUAL)
    bench.judges.verdicts = [Verdict.FAIL] * 2
    await bench.execute()
    assert bench.instructions() == PLANNED


async def test_a_plan_written_by_hand_is_reviewed_and_no_agent_changes_it(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    bench.judges.verdicts = [Verdict.FAIL]
    assert (await bench.execute()).exit_reason is ExitReason.PAUSED
    assert bench.instructions() == ["review plan"]


@pytest.mark.parametrize("status", [Status.PASSED, Status.BLOCKED])
async def test_a_plan_on_which_work_has_begun_is_left_alone(tmp_path: Path, status: Status) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1, status), deliverable(2))
    await bench.execute()
    assert "review plan" not in bench.instructions()


async def test_a_session_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    bench.ask("session", "start")
    await bench.execute()
    assert "review plan" not in bench.instructions()


async def test_an_accepted_plan_is_not_reviewed_again(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.mortal.refusals["session", "start"] = {"error_code": "LOCK_TIMEOUT"}
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    again = Planned(tmp_path)
    await again.execute()
    assert (bench.instructions(), again.instructions()) == (["review plan"], DONE)


async def test_an_accepted_plan_that_is_edited_before_work_begins_is_reviewed_again(
    tmp_path: Path,
) -> None:
    bench = Planned(tmp_path)
    bench.mortal.refusals["session", "start"] = {"error_code": "LOCK_TIMEOUT"}
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    bench.plan.put(deliverable(1))
    again = Planned(tmp_path)
    await again.execute()
    assert again.instructions()[0] == "review plan"


async def test_a_plan_that_a_sync_changed_under_way_is_reviewed(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED), deliverable(2))
    before = replace(bench.plan.file, deliverables=(deliverable(1, Status.PASSED),))
    PlanBook(bench.folder).synced(before, bench.plan.file)
    await bench.execute()
    assert bench.instructions()[0] == "review plan"


async def test_a_plan_that_a_sync_made_is_reviewed_also_where_something_has_passed(
    tmp_path: Path,
) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED), deliverable(2))
    PlanBook(bench.folder).synced(None, bench.plan.file)
    await bench.execute()
    assert bench.instructions()[0] == "review plan"


async def test_what_a_sync_broke_in_a_plan_under_way_is_for_a_person(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED), deliverable(2))
    before = replace(bench.plan.file, deliverables=(deliverable(1, Status.PASSED),))
    PlanBook(bench.folder).synced(before, bench.plan.file)
    bench.judges.verdicts = [Verdict.FAIL]
    assert (await bench.execute()).exit_reason is ExitReason.PAUSED
    again = Planned(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.PAUSED
    assert again.instructions() == []


async def test_without_a_verdict_nothing_is_accepted(tmp_path: Path) -> None:
    class Silent(Planned):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.scope == "plan":
                return COMPLETED
            return await super().work(session, marker)

    bench = Silent(tmp_path)
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (
        ExitReason.PAUSED,
        ["initializer", "review plan", "review plan"],
    )


async def test_reviews_of_plans_are_no_iterations(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    assert (await bench.execute()).iterations == 3


async def test_a_damaged_record_has_the_plan_reviewed(tmp_path: Path) -> None:
    bench = Planned(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    book = PlanBook(bench.folder)
    book.path.parent.mkdir(parents=True, exist_ok=True)
    book.path.write_text(json.dumps({"stage": "accepted"}), encoding="utf-8")
    await bench.execute()
    assert bench.instructions()[0] == "review plan"


class Dies(BaseException):
    """Stands for SIGKILL."""


def dying_at(number: int) -> Callable[[Path], Planned]:
    """Return what makes a run that dies in its agent session of that number."""

    class Dying(Planned):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if len(self.factory.prompts) == number:
                if marker.instruction is Instruction.INITIALIZER:
                    await super().work(session, marker)  # its plan is written, it did not end
                raise Dies
            return await super().work(session, marker)

    return Dying


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
async def test_a_kill_in_any_session_of_planning_leaves_no_plan_unreviewed(
    tmp_path: Path, number: int
) -> None:
    bench = dying_at(number)(tmp_path)
    bench.judges.verdicts = [Verdict.FAIL]
    with pytest.raises(BaseException):  # noqa: B017, PT011 - a kill, in a group of errors
        await bench.execute()
    again = Planned(tmp_path)
    if number <= 2:
        again.judges.verdicts = [Verdict.FAIL]
    result = await again.execute()
    seen = [*bench.instructions(), *again.instructions()]
    reviews = [i for i, one in enumerate(seen) if one == "review plan"]
    coding = next(i for i, one in enumerate(seen) if one.startswith("coding"))
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert reviews
    assert max(reviews) < coding
    assert "D-003" in again.plan.passed()
