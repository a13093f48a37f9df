"""SPEC.md or the plan is edited by somebody else: it is noticed, told, and taken over by a sync."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import COMPLETED, FakeSession, Recorder, deliverable

from runner.deliverables.model import Status
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.transitions import set_status
from runner.deliverables.verification import VerificationTracker
from runner.deliverables.workspace import status_path
from runner.errors import PrerequisiteError, StateError
from runner.events import ExitReason, Notice, SessionResult
from runner.loop.syncing import TakeOver
from runner.loop.termination import RunLimits
from runner.marker import PromptMarker

pytestmark = pytest.mark.anyio


async def _begun(folder: Path) -> Bench:
    """Return a run that ended after one of two deliverables."""
    bench = Bench(folder, RunLimits(max_iterations=2))
    await bench.execute()
    return bench


async def test_a_spec_that_was_edited_between_runs_starts_no_agent(tmp_path: Path) -> None:
    (await _begun(tmp_path)).spec.write_text("# another\n", encoding="utf-8")
    again = Bench(tmp_path)
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.BLOCKED_RUNTIME, [])
    assert "runner sync" in str(result.hint)


async def test_a_spec_that_was_edited_after_everything_passed_has_not_passed(
    tmp_path: Path,
) -> None:
    done = Bench(tmp_path)
    await done.execute()
    done.spec.write_text("# another\n", encoding="utf-8")
    again = Bench(tmp_path)
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.BLOCKED_RUNTIME, [])


async def test_a_spec_that_is_edited_in_mid_run_ends_it_after_the_step(tmp_path: Path) -> None:
    class Editing(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                self.spec.write_text("# another\n", encoding="utf-8")
            return await super().work(session, marker)

    bench = Editing(tmp_path)
    result = await bench.execute()
    assert (result.exit_reason, bench.plan.passed()) == (ExitReason.BLOCKED_RUNTIME, ["D-001"])


async def test_a_plan_that_was_edited_between_runs_is_told_with_what_changed(
    tmp_path: Path,
) -> None:
    first = await _begun(tmp_path)
    first.plan.put(*first.plan.file.deliverables, deliverable(3))
    again = Bench(tmp_path)
    result = await again.execute()
    assert result.exit_reason is ExitReason.BLOCKED_RUNTIME
    assert "D-003" in result.message
    assert "runner session rebase" in str(result.hint)


async def test_a_plan_that_is_still_another_is_told_again(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    first.plan.put(*first.plan.file.deliverables, deliverable(3))
    await Bench(tmp_path).execute()
    again = Bench(tmp_path)
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.BLOCKED_RUNTIME, [])


async def test_a_plan_that_was_put_back_goes_on(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    before = first.plan.file.deliverables
    first.plan.put(*before, deliverable(3))
    await Bench(tmp_path).execute()
    again = Bench(tmp_path)
    again.plan.put(*again.plan.file.deliverables[:2])
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED


class Sync:
    """What is left of a sync when its sessions are taken away."""

    def __init__(self, bench: Bench) -> None:
        self.repository = StatusRepository(status_path(bench.folder))
        self.tracker = VerificationTracker()
        self.events = Recorder()
        self.take_over = TakeOver(
            bench.folder,
            deliverables=self.repository,
            control_plane=bench.plane,
            tracker=self.tracker,
            sink=self.events,
        )

    def finish(self) -> None:
        file = self.repository.load()
        assert file is not None
        self.tracker.start(d.id for d in file.active)
        self.take_over()


async def test_after_a_sync_the_run_works_by_the_new_plan(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    first.spec.write_text("# another\n", encoding="utf-8")
    sync = Sync(first)
    first.plan.put(*first.plan.file.deliverables, deliverable(3))
    sync.finish()
    again = Bench(tmp_path)
    result = await again.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert again.instructions() == ["coding D-002", "coding D-003", "review"]


async def test_what_a_sync_found_undone_is_done_again(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    sync = Sync(first)
    sync.repository.update(lambda file: set_status(file, "D-001", Status.PENDING))
    sync.finish()
    again = Bench(tmp_path)
    await again.execute()
    assert again.instructions()[0] == "coding D-001"


async def test_a_sync_that_changed_nothing_leaves_the_session_alone(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    before = first.ask("session", "status")["state_version"]
    Sync(first).finish()
    assert first.ask("session", "status")["state_version"] == before


async def test_a_sync_that_never_compared_the_plan_takes_nothing_over(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    first.spec.write_text("# another\n", encoding="utf-8")
    Sync(first).take_over()
    assert SpecText(first.folder).changed()


async def test_a_sync_without_a_session_needs_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    sync = Sync(bench)
    bench.plan.put(deliverable(1), deliverable(2))
    sync.finish()
    assert not [event for event in sync.events if isinstance(event, Notice)]


async def test_a_spec_text_without_a_note_is_the_one_that_was_planned(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text("x", encoding="utf-8")
    assert not SpecText(tmp_path).changed()


async def test_a_spec_that_is_gone_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"SPEC\.md"):
        SpecText(tmp_path).changed()


async def test_a_damaged_note_is_told_and_not_believed(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text("x", encoding="utf-8")
    note = tmp_path / ".runner" / "autonomy" / "spec-text.json"
    note.parent.mkdir(parents=True)
    note.write_text("[]", encoding="utf-8")
    with pytest.raises(StateError, match=r"spec-text\.json"):
        SpecText(tmp_path).changed()


async def test_a_deliverable_that_is_edited_away_in_mid_step_is_told(tmp_path: Path) -> None:
    class Removing(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                repository = StatusRepository(status_path(self.folder))
                repository.update(lambda f: replace(f, deliverables=f.deliverables[1:]))
                return COMPLETED
            return await super().work(session, marker)

    result = await Removing(tmp_path).execute()
    assert result.exit_reason is ExitReason.BLOCKED_RUNTIME


class Editing(Bench):
    """Its first coding session changes a file and leaves its deliverable pending.

    It goes on for `patience` seconds, or until people are told of the edit.
    """

    patience = 0.0
    told_in_session = 0

    def edit(self) -> None:
        self.spec.write_text("# another\n", encoding="utf-8")

    async def _wait(self) -> None:
        with anyio.move_on_after(self.patience):
            while not self.told_in_session:
                await anyio.sleep(0.01)
                texts = [e.message for e in self.events if isinstance(e, Notice)]
                self.told_in_session = sum("is being edited" in text for text in texts)

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.task and not (self.folder / "half").exists():
            (self.folder / "half").touch()
            self.edit()
            await self._wait()
            return COMPLETED
        return await super().work(session, marker)


class EditingThePlan(Editing):
    def edit(self) -> None:
        self.plan.put(deliverable(1), deliverable(2), deliverable(3))


@pytest.mark.parametrize("kind", [Editing, EditingThePlan])
async def test_an_edit_in_mid_step_is_noticed_before_another_session(
    tmp_path: Path, kind: type[Editing]
) -> None:
    bench = kind(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (
        ExitReason.BLOCKED_RUNTIME,
        ["coding D-001"],
    )
    assert "runner sync" in str(result.hint)


async def test_a_plan_that_was_edited_in_mid_step_is_told_with_what_changed(
    tmp_path: Path,
) -> None:
    bench = EditingThePlan(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    assert "D-003" in (await bench.execute()).message


async def test_a_text_that_was_edited_in_mid_step_names_the_way_on_for_programs(
    tmp_path: Path,
) -> None:
    bench = Editing(tmp_path)
    await bench.execute()
    assert [a["command"] for a in bench.details["recommended_actions"]] == ["runner sync"]


async def test_work_that_was_cut_off_by_an_edit_goes_on_after_a_sync(tmp_path: Path) -> None:
    first = EditingThePlan(tmp_path)
    first.plan.put(deliverable(1), deliverable(2))
    await first.execute()
    Sync(first).finish()
    again = Bench(tmp_path)
    assert (await again.execute()).exit_reason is ExitReason.ALL_PASSED
    assert again.instructions() == ["coding D-001", "coding D-002", "coding D-003", "review"]


async def test_a_plan_that_was_edited_between_runs_starts_no_agent(tmp_path: Path) -> None:
    first = await _begun(tmp_path)
    first.plan.put(*first.plan.file.deliverables, deliverable(3))
    again = Bench(tmp_path)
    await again.execute()
    assert again.instructions() == []


@pytest.mark.parametrize("kind", [Editing, EditingThePlan])
async def test_people_are_told_of_an_edit_while_the_session_still_runs(
    tmp_path: Path, kind: type[Editing]
) -> None:
    bench = kind(tmp_path, beat_seconds=0.01)
    bench.patience = 10.0
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    assert bench.told_in_session == 1


def test_an_edit_is_seen_without_writing_anything(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text("one", encoding="utf-8")
    spec = SpecText(tmp_path)
    assert (spec.seems_edited(), spec.is_noted) == (False, False)
    spec.note(spec.digest())
    (tmp_path / "SPEC.md").write_text("two", encoding="utf-8")
    assert spec.seems_edited()


def test_what_can_not_be_told_is_no_edit(tmp_path: Path) -> None:
    (tmp_path / "SPEC.md").write_text("one", encoding="utf-8")
    spec = SpecText(tmp_path)
    spec.note("of another text")
    (tmp_path / ".runner" / "autonomy" / "spec-text.json").write_text("[]", encoding="utf-8")
    assert not spec.seems_edited()
