"""A run that is killed between the agent's `passed` and its report costs no other session."""

from pathlib import Path

import pytest
from tests.loop.bench import Bench, Killed
from tests.loop.fakes import FakeSession, deliverable

from runner.deliverables.model import Status
from runner.events import ExitReason, Notice, RunResult, SessionResult
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio

DAYS = 9 * 24 * 3600.0


class Dying(Bench):
    """The process dies in its first coding session, after the agent said `word`."""

    word: Status = Status.PASSED

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.CODING:
            self.plan.set(str(marker.task), self.word)
            self.mortal.die_now()
            raise Killed
        return await super().work(session, marker)


async def _killed(folder: Path, word: Status = Status.PASSED) -> None:
    bench = Dying(folder)
    bench.word = word
    bench.plan.put(deliverable(1), deliverable(2))
    with pytest.raises(BaseExceptionGroup) as caught:
        await bench.execute()
    assert caught.group_contains(Killed)
    assert bench.plan.passed() == []


async def _taken_up(folder: Path, *, after: float = 0.0) -> tuple[RunResult, Bench]:
    again = Bench(folder)
    again.ahead_of_clock = after
    return await again.execute(), again


@pytest.mark.parametrize("after", [0.0, 3600.0, DAYS], ids=["at once", "stale", "days later"])
async def test_what_had_been_passed_before_a_kill_is_reported_without_a_session(
    tmp_path: Path, after: float
) -> None:
    await _killed(tmp_path)
    result, again = await _taken_up(tmp_path, after=after)
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert again.instructions() == ["coding D-002", "review"]


async def test_people_are_told_why_no_session_is_needed(tmp_path: Path) -> None:
    await _killed(tmp_path)
    _, again = await _taken_up(tmp_path)
    told = [e.message for e in again.events if isinstance(e, Notice)]
    assert any("D-001 was passed by its agent before an earlier run" in text for text in told)


@pytest.mark.parametrize("word", [Status.PENDING, Status.BLOCKED])
async def test_another_word_costs_a_session_after_a_kill(tmp_path: Path, word: Status) -> None:
    await _killed(tmp_path, word)
    _, again = await _taken_up(tmp_path)
    assert again.instructions()[0] == "coding D-001"


async def test_passed_in_status_json_alone_is_nobodys_word_after_a_kill(tmp_path: Path) -> None:
    await _killed(tmp_path, Status.PENDING)
    again = Bench(tmp_path)
    again.plan.put(deliverable(1, Status.PASSED), deliverable(2))
    await again.execute()
    assert again.instructions()[0] == "coding D-001"


async def test_a_kept_word_is_no_word_in_a_session_that_is_new(tmp_path: Path) -> None:
    await _killed(tmp_path)
    again = Bench(tmp_path)
    again.ask("session", "end", spec_id="test")
    await again.execute()
    assert again.instructions()[0] == "coding D-001"


async def test_nothing_is_left_of_a_word_after_the_run(tmp_path: Path) -> None:
    await _killed(tmp_path)
    _, again = await _taken_up(tmp_path)
    assert not (again.folder / ".runner" / "autonomy" / "word.json").exists()
