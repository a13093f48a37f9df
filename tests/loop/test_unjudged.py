"""Work that has passed by status.json alone is not taken at its word."""

import shutil
from pathlib import Path

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import COMPLETED, FakeSession, deliverable

from runner.checkpoints.ledger import STASH, Checkpoint, CheckpointLedger
from runner.deliverables.model import Status
from runner.events import ExitReason, Notice, SessionResult
from runner.marker import PromptMarker

pytestmark = pytest.mark.anyio

CHECK = ("make check",)


def _warnings(bench: Bench) -> list[str]:
    return [e.message.partition("known here")[2] for e in bench.events if isinstance(e, Notice)]


async def test_without_a_session_what_has_passed_is_verified(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED, verification=CHECK))
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (ExitReason.ALL_PASSED, [])
    assert len(bench.judges.verified) == 1
    assert _warnings(bench) == [": 1 verification command passed in this run, nothing was reviewed"]


async def test_commands_that_close_every_phase_are_run_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, common_verification=["make lint"])
    bench.plan.put(
        deliverable(1, Status.PASSED, phase="one"), deliverable(2, Status.PASSED, phase="two")
    )
    await bench.execute()
    assert "1 verification command passed" in _warnings(bench)[0]


async def test_what_does_not_hold_is_mended_and_judged_like_any_other_work(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED, verification=CHECK))
    bench.judges.exit_codes = [1, 1]
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (
        ExitReason.ALL_PASSED,
        ["remediate", "review"],
    )


async def test_without_commands_it_is_said_that_nobody_looked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED))
    await bench.execute()
    assert _warnings(bench) == [": this run has neither verified nor reviewed them"]
    assert bench.judges.verified == []


class Completed(Bench):
    """All of its deliverables have passed, and its session is completed."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        await super().work(session, marker)
        return COMPLETED


async def _completed(folder: Path) -> Bench:
    bench = Completed(folder)
    bench.plan.put(deliverable(1, verification=CHECK))
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED
    return Bench(folder)


async def test_what_a_rollback_changed_after_the_last_review_is_judged_again(
    tmp_path: Path,
) -> None:
    again = await _completed(tmp_path)
    ledger = CheckpointLedger(again.folder)
    ledger.prepare()
    ledger.add(Checkpoint(STASH, "x", STASH, "0" * 40, "0" * 40, "refs/runner/stash/x", "x"))
    await again.execute()
    assert (len(again.judges.verified), again.instructions()) == (1, ["review"])


async def test_work_that_was_added_as_passed_after_the_last_review_is_judged(
    tmp_path: Path,
) -> None:
    again = await _completed(tmp_path)
    again.plan.put(*again.plan.file.deliverables, deliverable(2, Status.PASSED, phase="more"))
    await again.execute()
    assert again.instructions() == ["review", "review"]


async def test_after_the_state_was_cleaned_away_what_has_passed_is_verified(
    tmp_path: Path,
) -> None:
    again = await _completed(tmp_path)
    shutil.rmtree(again.folder / ".runner" / "autonomy")
    await again.execute()
    assert (len(again.judges.verified), again.instructions()) == (1, [])
