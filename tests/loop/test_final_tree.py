"""A run passes only when every phase's commands succeeded on the tree that it leaves behind."""

from pathlib import Path

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import FakeSession, deliverable

from runner.checkpoints.tree_identity import tree_identity
from runner.events import ExitReason, SessionResult
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio


class Breaking(Bench):
    """The work on phase two breaks what phase one is verified by; whoever mends it, mends it."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.task:
            (self.folder / f"{marker.task}.txt").touch()
        if marker.task == "D-002":
            self.judges.failing["check one"] = 2
        return await super().work(session, marker)


def two_phases(bench: Bench) -> None:
    bench.plan.put(
        deliverable(1, phase="one", verification=("check one",)),
        deliverable(2, phase="two", verification=("check two",)),
    )


async def test_a_phase_that_later_work_broke_is_mended_and_reviewed_again(tmp_path: Path) -> None:
    bench = Breaking(tmp_path)
    two_phases(bench)
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert bench.instructions() == [
        "coding D-001",
        "review",
        "coding D-002",
        "review",
        "remediate",
        "review",
    ]
    assert bench.judges.commands[-2:] == ["check one", "check two"]


async def test_the_last_review_is_about_the_whole_specification(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    two_phases(bench)
    await bench.execute()
    assert bench.judges.scopes == ["phase", "spec"]
    reviews = [m.scope for m in bench.factory.markers if m.instruction is Instruction.REVIEW]
    assert reviews == ["phase", "spec"]


async def test_phases_that_keep_breaking_each_other_need_a_person(tmp_path: Path) -> None:
    class Quarrelling(Breaking):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.instruction is Instruction.REMEDIATE:
                other = "check two" if marker.phase == "one" else "check one"
                self.judges.failing[other] = 2
            return await super().work(session, marker)

    bench = Quarrelling(tmp_path)
    two_phases(bench)
    result = await bench.execute()
    assert result.exit_reason is ExitReason.PAUSED
    assert bench.details["pause_reason"] == "verification_unsettled"
    assert "verified again" in result.message


async def test_a_file_that_appears_after_the_last_verification_has_it_run_again(
    tmp_path: Path,
) -> None:
    class Edited(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.instruction is Instruction.REVIEW:
                (self.folder / "by-hand.txt").touch()
            return await super().work(session, marker)

    bench = Edited(tmp_path)
    bench.plan.put(deliverable(1, verification=("check one",)))
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED
    assert bench.judges.commands == ["check one", "check one"]


async def test_a_run_for_one_phase_ends_the_last_one_with_all_of_them(tmp_path: Path) -> None:
    bench = Breaking(tmp_path, one_phase=True, start={"stop_on_phase_completion": True})
    two_phases(bench)
    await bench.execute()
    again = Breaking(tmp_path, one_phase=True, start={"stop_on_phase_completion": True})
    result = await again.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert "remediate" in again.instructions()


async def test_a_run_killed_before_the_end_verifies_everything_then(tmp_path: Path) -> None:
    class Dying(Breaking):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.instruction is Instruction.REVIEW and marker.phase == "two":
                self.mortal.die_now()
            return await super().work(session, marker)

    bench = Dying(tmp_path)
    two_phases(bench)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - a kill, in a group of errors
        await bench.execute()
    again = Bench(tmp_path)
    again.judges.failing["check one"] = 2
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert "remediate" in again.instructions()


async def finished(folder: Path) -> None:
    bench = Bench(folder)
    bench.plan.put(deliverable(1, verification=("check one",)))
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED


async def test_a_finished_run_on_the_same_files_costs_nothing(tmp_path: Path) -> None:
    await finished(tmp_path)
    again = Bench(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert (again.judges.commands, again.instructions()) == ([], [])


async def test_files_that_were_edited_since_a_finished_run_are_verified(tmp_path: Path) -> None:
    await finished(tmp_path)
    again = Bench(tmp_path)
    (again.folder / "by-hand.txt").touch()
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert (again.judges.commands, again.instructions()) == (["check one"], [])


async def test_edits_that_break_finished_work_have_it_mended_and_reviewed(tmp_path: Path) -> None:
    await finished(tmp_path)
    again = Bench(tmp_path)
    (again.folder / "by-hand.txt").touch()
    again.judges.failing["check one"] = 2
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert again.instructions() == ["remediate", "review"]


async def test_what_the_runner_and_tools_write_makes_no_other_tree(tmp_path: Path) -> None:
    before = tree_identity(tmp_path)
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / "status.json").write_text("{}", encoding="utf-8")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").touch()
    assert tree_identity(tmp_path) == before


@pytest.mark.parametrize("name", ["app.py", ".runner-note.md", "deep/er.txt", "run.sh"])
async def test_a_tree_with_another_file_is_another_tree(tmp_path: Path, name: str) -> None:
    before = tree_identity(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    created = tree_identity(tmp_path)
    (tmp_path / name).write_text("other", encoding="utf-8")
    changed = tree_identity(tmp_path)
    (tmp_path / name).chmod(0o755)
    assert len({before, created, changed, tree_identity(tmp_path)}) == 4
