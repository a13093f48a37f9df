"""Blocked work in a run: its reason, its judge, and how the run ends."""

from pathlib import Path

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import COMPLETED, FakeSession, deliverable

from runner.deliverables.model import Status
from runner.deliverables.review import Verdict
from runner.events import ExitReason, SessionResult
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio


class Blocking(Bench):
    """Its agent blocks D-001 as often as `blocks` says, then builds it."""

    blocks = 99

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.task == "D-001" and self.blocks:
            self.blocks -= 1
            self.plan.set("D-001", Status.BLOCKED, "There is no database to talk to.")
            return COMPLETED
        return await super().work(session, marker)


async def test_a_run_with_blocked_work_has_partly_passed_and_says_why(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2), deliverable(3, needs=("D-001",)))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.PARTLY_PASSED
    assert result.message == (
        "Partly passed: 1 of 3 deliverables; D-001 is blocked (There is no database to talk to.); "
        "D-003 waits for D-001"
    )


@pytest.mark.parametrize("unattended", [True, False])
async def test_only_a_posture_without_people_needs_one_for_blocked_work(
    tmp_path: Path, unattended: bool
) -> None:
    bench = Blocking(tmp_path, unattended=unattended)
    bench.plan.put(deliverable(1), deliverable(2))
    assert (await bench.execute()).needs_person is unattended


async def test_a_run_that_finds_everything_done_but_blocked_work_says_so(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    again = Bench(tmp_path, unattended=True)
    result = await again.execute()
    assert (result.exit_reason, result.needs_person) == (ExitReason.PARTLY_PASSED, True)
    assert again.instructions() == []


async def test_a_phase_that_is_all_blocked_is_reviewed(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(2, phase="one"), deliverable(1, phase="two"))
    await bench.execute()
    assert bench.instructions() == ["coding D-002", "review", "coding D-001", "review"]
    assert bench.judges.briefed == ["one", "two"]


async def test_an_unfounded_block_goes_back_to_a_coding_session(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.blocks = 1
    bench.plan.put(deliverable(1), deliverable(2))
    bench.judges.verdicts, bench.judges.about = [Verdict.FAIL], ["D-001"]
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert bench.instructions() == [
        "coding D-001",
        "coding D-002",
        "review",
        "coding D-001",
        "review",
    ]
    told = [p for p in bench.factory.prompts if "not really blocked" in p]
    assert len(told) == 1
    assert "It lies" in told[0]


async def test_independent_work_goes_on_where_something_waits_for_blocked_work(
    tmp_path: Path,
) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(
        deliverable(1, phase="one"),
        deliverable(2, phase="one", needs=("D-001",)),
        deliverable(3, phase="two"),
        deliverable(4, phase="two"),
    )
    result = await bench.execute()
    assert bench.plan.passed() == ["D-003", "D-004"]
    assert (result.blocked_ids, result.waiting_ids) == (("D-001",), ("D-002",))


async def test_the_reason_outlives_the_run_in_status_json(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    found = bench.plan.file.find("D-001")
    assert found is not None
    assert found.blocked_reason == "There is no database to talk to."


async def test_what_a_person_unblocks_loses_its_reason(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.blocks = 1
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    bench.plan.deliverables.release()
    bench.plan.set("D-001", Status.PENDING)
    again = Bench(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    found = again.plan.file.find("D-001")
    assert found is not None
    assert found.blocked_reason is None


async def test_everything_blocked_needs_a_person_and_no_review(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_BLOCKED
    assert "no database" in result.message
    assert Instruction.REVIEW not in {m.instruction for m in bench.factory.markers}


async def test_a_fresh_clone_verifies_only_what_could_be_built(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(
        deliverable(1, Status.BLOCKED, verification=("check one",)),
        deliverable(2, Status.PASSED, verification=("check two",)),
    )
    assert (await bench.execute()).exit_reason is ExitReason.PARTLY_PASSED
    assert bench.judges.commands == ["check two"]
