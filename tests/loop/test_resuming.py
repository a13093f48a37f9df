"""A run that ended in the middle is taken up by the next one; nothing accepted is lost or redone."""

from collections import Counter
from pathlib import Path

import pytest
from tests.loop.bench import SPEC_ID, Bench, Killed
from tests.loop.fakes import COMPLETED, FakeSession, deliverable

from runner.deliverables.model import Status
from runner.deliverables.review import Verdict
from runner.events import ExitReason, RunResult, SessionOutcome, SessionResult
from runner.loop.termination import RunLimits
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio

CHECK = ("make check",)


class Story(Bench):
    """Two phases, a review that fails once. What sessions do depends on the disk alone."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        mended = self.folder / "mended"
        match marker.instruction:
            case Instruction.REMEDIATE:
                mended.touch()
            case Instruction.REVIEW:
                wrong = marker.phase == "one" and not mended.exists()
                self.judges.verdicts = [Verdict.FAIL if wrong else Verdict.PASS]
                self.judges.submit()
            case Instruction.CODING:
                assert marker.task is not None
                (self.folder / marker.task).touch()
                self.plan.set(marker.task, Status.PASSED)
            case _:
                self.plan.put(
                    deliverable(1, phase="one", verification=CHECK),
                    deliverable(2, phase="one", needs=("D-001",)),
                    deliverable(3, phase="two"),
                )
        return COMPLETED

    def outcome(self) -> tuple[list[str], list[str]]:
        """Return what a run leaves: deliverables and files."""
        files = sorted(p.name for p in self.folder.iterdir() if p.is_file())
        return self.plan.passed(), files

    def accepted_steps(self) -> list[tuple[str, str, str]]:
        """Return what the journal says was accepted."""
        (session,) = self.ask("session", "list")["sessions"]
        session_id = session["session_id"]
        entries = self.ask("session", "events", session_id=session_id, limit=200)["events"]
        data = [entry["data"] for entry in entries if entry["event_type"] in ("step", "gate")]
        return sorted(
            (d["step_type"], d.get("task_id") or "", d["phase_id"])
            for d in data
            if d.get("outcome") == "success"
        )


async def _run_to_death(folder: Path, dies_at: float) -> bool:
    """Run until the caller dies; say whether it did."""
    bench = Story(folder, dies_at=dies_at)
    died = False
    try:
        await bench.execute()
    except* Killed:
        died = True
    return died


async def test_a_run_killed_at_any_request_ends_like_one_that_was_not(tmp_path: Path) -> None:
    whole = Story(tmp_path / "whole")
    await whole.execute()
    for number in range(2, 2 * whole.mortal.calls + 1):
        folder = tmp_path / str(number)
        if await _run_to_death(folder, number / 2):
            again = Story(folder)
            await again.execute()
            assert (number, again.outcome()) == (number, whole.outcome())
            assert (number, again.accepted_steps()) == (number, whole.accepted_steps())


async def test_a_run_killed_over_and_over_ends_like_one_that_was_not(tmp_path: Path) -> None:
    whole = Story(tmp_path / "whole")
    await whole.execute()
    deaths = 0
    while deaths < 200 and await _run_to_death(tmp_path / "killed", 4 + deaths % 5):
        deaths += 1
    again = Story(tmp_path / "killed")
    assert deaths < 200
    assert again.outcome() == whole.outcome()
    assert again.accepted_steps() == whole.accepted_steps()


class Stopped(Bench):
    """Its first coding session is cut off after the agent's word `word`."""

    word: Status | None = None

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.task and len(self.factory.prompts) == 1:
            if self.word is not None:
                self.plan.set(marker.task, self.word)
            self.run.stop(2)
            return SessionResult(SessionOutcome.INTERRUPTED)
        return await super().work(session, marker)


async def _stopped(folder: Path, word: Status | None = None) -> RunResult:
    bench = Stopped(folder)
    bench.word = word
    bench.plan.put(deliverable(1), deliverable(2))
    return await bench.execute()


async def test_what_the_agent_had_passed_before_an_interrupt_stays_passed(tmp_path: Path) -> None:
    result = await _stopped(tmp_path, Status.PASSED)
    assert (result.exit_reason, result.counts.passed) == (ExitReason.INTERRUPTED, 1)


async def test_after_an_interrupt_the_same_step_goes_on(tmp_path: Path) -> None:
    await _stopped(tmp_path)
    again = Bench(tmp_path)
    result = await again.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert again.instructions() == ["coding D-001", "coding D-002", "review"]


async def test_an_interrupt_is_no_failure_of_the_step(tmp_path: Path) -> None:
    for _ in range(3):
        await _stopped(tmp_path)
    view = Bench(tmp_path).ask("session", "status", spec_id=SPEC_ID)
    assert (view["status"], view["counters"]["consecutive_errors"]) == ("running", 0)


async def test_an_agent_that_goes_on_is_told_that_somebody_was_there_before(
    tmp_path: Path,
) -> None:
    await _stopped(tmp_path)
    again = Bench(tmp_path)
    await again.execute()
    told = ["An earlier run was at work here" in prompt for prompt in again.factory.prompts]
    assert told == [True, False, False]


async def test_a_run_after_success_starts_no_agent(tmp_path: Path) -> None:
    await Bench(tmp_path).execute()
    again = Bench(tmp_path)
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.ALL_PASSED, [])


async def test_a_run_after_success_still_names_the_session_and_its_gates(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    await first.execute()
    again = Bench(tmp_path)
    await again.execute()
    assert again.details == first.details


def _session_file(bench: Bench) -> Path:
    (found,) = (bench.folder / ".runner" / "autonomy" / "sessions").glob("auto_*.json")
    return found


async def test_a_damaged_session_is_told_with_what_can_be_done(tmp_path: Path) -> None:
    await _stopped(tmp_path)
    again = Bench(tmp_path)
    _session_file(again).write_text("{", encoding="utf-8")
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.FAILED, [])
    assert "runner session reset" in str(result.hint)


async def test_a_session_that_the_index_has_lost_is_taken_up(tmp_path: Path) -> None:
    await _stopped(tmp_path)
    again = Bench(tmp_path)
    (again.folder / ".runner" / "autonomy" / "index" / "spec_active_index.json").unlink()
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert len(again.ask("session", "list")["sessions"]) == 1


async def test_a_run_that_was_limited_goes_on_in_the_next(tmp_path: Path) -> None:
    first = Bench(tmp_path, RunLimits(max_iterations=1))
    first.plan.put(deliverable(1), deliverable(2))
    assert (await first.execute()).exit_reason is ExitReason.MAX_ITERATIONS
    again = Bench(tmp_path)
    await again.execute()
    assert again.instructions() == ["coding D-002", "review"]


async def test_a_run_that_was_left_alone_for_days_goes_on(tmp_path: Path) -> None:
    await _stopped(tmp_path)
    again = Bench(tmp_path)
    again.ahead_of_clock = 3 * 24 * 3600.0
    result = await again.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert Counter(again.instructions())["coding D-001"] == 1


async def test_a_session_that_a_person_paused_ends_the_run_and_goes_on_in_the_next(
    tmp_path: Path,
) -> None:
    class Pausing(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                self.ask("session", "pause", spec_id=SPEC_ID, reason="lunch")
            return await super().work(session, marker)

    bench = Pausing(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    assert (await bench.execute()).exit_reason is ExitReason.PAUSED
    assert bench.plan.passed() == ["D-001"]
    again = Bench(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED


async def test_what_a_person_must_acknowledge_is_not_resumed_over(tmp_path: Path) -> None:
    first = Bench(tmp_path, start={"gate_policy": "manual"})
    first.plan.put(deliverable(1))
    await first.execute()
    again = Bench(tmp_path)
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.PAUSED, [])
    assert "--acknowledge-gate-review" in str(result.hint)


async def test_a_session_that_was_ended_meanwhile_ends_the_run(tmp_path: Path) -> None:
    class Ending(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            self.ask("session", "end", spec_id=SPEC_ID)
            return await super().work(session, marker)

    bench = Ending(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert (result.exit_reason, bench.plan.passed()) == (ExitReason.PAUSED, [])
    assert "ended from outside" in result.message


async def test_a_step_whose_proof_ran_out_is_issued_anew_and_not_worked_on_again(
    tmp_path: Path,
) -> None:
    class Slow(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                self.ahead_of_clock += 9 * 24 * 3600.0
            return await super().work(session, marker)

    bench = Slow(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (
        ExitReason.ALL_PASSED,
        ["coding D-001", "review"],
    )


async def test_blocked_work_whose_proof_ran_out_is_blocked_all_the_same(tmp_path: Path) -> None:
    class SlowlyBlocked(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                self.ahead_of_clock += 9 * 24 * 3600.0
                self.plan.set(marker.task, Status.BLOCKED)
                return COMPLETED
            return await super().work(session, marker)

    bench = SlowlyBlocked(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (
        ExitReason.ALL_BLOCKED,
        ["coding D-001"],
    )


class Leaving(Bench):
    """Its run is stopped in its first review."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.REVIEW:
            self.run.stop(2)
            return SessionResult(SessionOutcome.INTERRUPTED)
        return await super().work(session, marker)


async def _left(folder: Path) -> None:
    bench = Leaving(folder)
    bench.plan.put(deliverable(1, phase="one"), deliverable(2, phase="two"))
    await bench.execute()


async def test_a_reviewer_is_not_told_what_an_earlier_run_had_accepted(tmp_path: Path) -> None:
    await _left(tmp_path)
    again = Bench(tmp_path)
    await again.execute()
    assert again.instructions()[0] == "review"
    assert not any("An earlier run was at work here" in prompt for prompt in again.factory.prompts)


async def test_who_mends_after_a_review_that_was_taken_up_must_change_something(
    tmp_path: Path,
) -> None:
    class Idle(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.instruction is Instruction.REMEDIATE:
                return COMPLETED
            return await super().work(session, marker)

    await _left(tmp_path)
    again = Idle(tmp_path)
    again.judges.verdicts = [Verdict.FAIL]
    result = await again.execute()
    assert result.exit_reason is ExitReason.STALLED


async def test_a_session_that_still_runs_is_not_driven_on_where_it_is_too_weak(
    tmp_path: Path,
) -> None:
    await _stopped(tmp_path)
    again = Bench(tmp_path)
    for command in ("next", "replay"):
        again.mortal.refusals["step", command] = {
            "error_code": "AUTHORIZATION",
            "loop_signal": "blocked_runtime",
        }
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.BLOCKED_RUNTIME, [])
